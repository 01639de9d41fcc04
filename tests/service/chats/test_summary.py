"""What a chat's lines and a channel's own summary say of the summary of ours, with clocks that differ."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from service.chats.claims import Stored
from service.chats.revising import OVERLAP, is_told_already
from service.chats.summary import Look
from tests.service.embedded import NOON, TENANT

MOMENT = timedelta(microseconds=1)


def look(**own: object) -> Look:
    chat = Stored(
        id=1, tenant=TENANT, channel="whatsapp", conversation_id="c-1", borrower_id="B-1", named="{}", last_at=NOON,
        ended_at=None, changes=1, summarised=0, revision=0, tries=0, prepared=None, prepared_changes=None, lines=(),
    )  # fmt: skip
    given = {"chat": chat, "zone": "UTC", "memory": None, "revision": 0, "covered_until": None, "lines": ()}
    return Look(**{**given, **own})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("until", "covered"),
    [(None, False), (NOON - OVERLAP - MOMENT, False), (NOON - OVERLAP, True), (NOON, True), (NOON + OVERLAP, True)],
)
def test_a_channels_summary_covers_the_lines_that_were_said_a_moment_after_it_ended(
    until: object, covered: bool
) -> None:
    assert look(covered_until=until).is_covered is covered


@pytest.mark.parametrize("minutes", [-5, 0, 5])
def test_a_chat_ended_with_its_last_line_or_later(minutes: int) -> None:
    ended = replace(look().chat, ended_at=NOON + timedelta(minutes=minutes))
    assert look(chat=ended).ended_at == NOON + timedelta(minutes=max(0, minutes))
    assert look().ended_at == NOON


@pytest.mark.parametrize(("after", "is_told"), [(OVERLAP, True), (OVERLAP + MOMENT, False)])
def test_a_channels_own_promise_may_rest_on_what_was_said_a_moment_after_it_ended(
    after: timedelta, is_told: bool
) -> None:
    theirs = {"commitment": {"amount_said": "5000"}, "ended_at": NOON.isoformat()}
    assert is_told_already(NOON + after, [("e-1", theirs)], frozenset(), alive=True) is is_told
