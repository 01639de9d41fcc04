"""What a tombstone takes the words out of, and what it leaves (DESIGN 11)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from statemachine.elements import HoldSet, ProseTold
from statemachine.forgetting import cleaned, term_of
from statemachine.record import Tombstone
from tests.statemachine.histories import NOON, hasher

MOMENT = timedelta(microseconds=1)
OF_A_TERM = Tombstone(at=NOON, event_id="f-1", words=(term_of("Martha", hasher),))
OF_EVERYTHING = Tombstone(at=NOON, event_id="f-2", everything=True)


@pytest.mark.parametrize("tombstone", [OF_A_TERM, OF_EVERYTHING], ids=["a term", "everything"])
@pytest.mark.parametrize(("after", "goes"), [(-MOMENT, True), (timedelta(0), True), (MOMENT, False)])
def test_words_go_up_to_the_time_of_the_request_and_what_is_said_later_is_new(
    tombstone: Tombstone, after: timedelta, goes: bool
) -> None:
    prose = ProseTold(
        at=NOON + after, channel="voice", conversation_id="c", digest="d", event_id="e", text="Martha called."
    )
    left = cleaned(prose, (tombstone,), hasher)
    assert left.text == ("" if goes else prose.text)
    assert left.key == prose.key, "it keeps its place"


def test_a_hold_loses_its_reason_and_stands() -> None:
    hold = HoldSet(at=NOON, digest="d", event_id="e", hold="deceased", placed=True, reason="Martha says so")
    for tombstone in (OF_A_TERM, OF_EVERYTHING):
        assert cleaned(hold, (tombstone,), hasher) == hold.changed(reason=None)
    other = OF_A_TERM.changed(words=(term_of("Maria", hasher),))
    assert cleaned(hold, (other,), hasher) is hold
