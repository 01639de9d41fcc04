"""What a tombstone takes the words out of, and what it leaves (DESIGN 11)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from statemachine.elements import HoldSet, ProseTold
from statemachine.forgetting import cleaned, term_of
from statemachine.merge import merge
from statemachine.record import Tombstone
from statemachine.stamps import MemoryForgotten
from tests.statemachine.histories import NOON, empty, hasher, stamped

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


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_of_the_ends_of_prose_the_latest_is_kept_and_every_request_of_a_person(order: tuple[int, ...]) -> None:
    """A job ends the retention of prose daily: a record would hold a tombstone for each day that anybody was told of."""
    asked = Tombstone(at=NOON, event_id="f-1", words=(term_of("Martha", hasher),))
    ended = {days: Tombstone(at=NOON + timedelta(days=days), event_id=f"r-{days}", prose=True) for days in order}
    record = empty()
    for tombstone in (ended[order[0]], asked, *(ended[days] for days in order[1:])):
        body = MemoryForgotten(event_id=tombstone.event_id, tombstone=tombstone, type="memory.forgotten")
        record = merge(record, stamped(body, tombstone.at), hasher)
    assert record.tombstones == (asked, ended[3])
