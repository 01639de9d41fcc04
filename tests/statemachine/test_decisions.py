"""Which decisions may be used, what replaces what, and that nothing ever leads back to active (DESIGN 12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.decisions import (
    LIFECYCLE,
    MOVES,
    STATUSES,
    Decision,
    Seen,
    after,
    correction_key,
    judged,
    newest,
    supersedes,
    takes_over,
)
from tests.examples import often

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def seen(version: str, observed: float, reported: float = 100) -> Seen:
    return Seen(version, at(observed), at(reported))


def decision(decision_id: str = "D-1", version: str = "v12", decided: float = 0, **own: Any) -> Decision:
    told = {"borrower_id": "B-1", "kind": "waiver", "entity": None, "source": "offers"} | own
    return Decision(decision_id, version=version, decided_at=at(decided), **told)


# -- the lifecycle -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "trigger", "becomes"),
    [
        ("active", "moved", "stale"),
        ("stale", "replaced", "superseded"),
        ("active", "replaced", None),
        ("stale", "moved", None),
        ("superseded", "moved", None),
        ("superseded", "replaced", None),
        ("gone", "moved", None),
    ],
)
def test_the_lifecycle(status: str, trigger: Any, becomes: str | None) -> None:
    assert after(status, trigger) == becomes


def test_the_machine_is_what_the_table_says_and_nothing_leads_to_active() -> None:
    assert set(LIFECYCLE.states) == set(STATUSES)
    assert {trigger for trigger, *_ in MOVES} == set(LIFECYCLE.events)
    assert all(becomes != "active" for _, _, becomes in MOVES)


@given(st.lists(st.sampled_from(["moved", "replaced"]), max_size=8))
@settings(max_examples=often(200))
def test_whatever_happens_a_decision_only_goes_on(triggers: list[Any]) -> None:
    status = "active"
    for trigger in triggers:
        becomes = after(status, trigger)
        if becomes is not None:
            assert STATUSES.index(becomes) == STATUSES.index(status) + 1  # type: ignore[arg-type]
            status = becomes


# -- versions ----------------------------------------------------------------------------------------------------------


def test_the_newest_is_the_one_observed_last_whatever_its_text_and_order_of_arrival() -> None:
    for told in permutations([seen("v9", 1), seen("v14", 3), seen("v2", 2)]):
        assert newest(told) == seen("v14", 3)
    assert newest([]) is None


def test_of_two_observed_at_one_instant_the_later_report_counts() -> None:
    assert newest([seen("v1", 1, 10), seen("v2", 1, 9)]) == seen("v1", 1, 10)
    assert takes_over(seen("v1", 1, 10), seen("v2", 1, 9))
    assert not takes_over(seen("v2", 1, 9), seen("v1", 1, 10))
    assert takes_over(seen("v2", 1, 9), seen("v1", 1, 9)), "of two reports at one instant the one that came last"


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), min_size=1, max_size=12))
@settings(max_examples=often(300))
def test_keeping_one_row_is_keeping_all_of_them(told: list[tuple[str, int]]) -> None:
    """What each report is asked, whether it takes over, comes to the newest of all."""
    every = [seen(version, observed, 100 + n) for n, (version, observed) in enumerate(told)]
    kept: Seen | None = None
    for one in every:
        kept = one if takes_over(one, kept) else kept
    assert kept == newest(every)


@pytest.mark.parametrize(
    ("status", "version", "known", "usable", "reason"),
    [
        ("active", "v12", None, True, None),
        ("active", "v12", seen("v12", 1), True, None),
        ("active", "v12", seen("v13", 1), False, "source_moved"),
        ("active", "v13", seen("v12", 1), False, "source_moved"),
        ("stale", "v12", seen("v12", 1), False, "stale"),
        ("stale", "v12", None, False, "stale"),
        ("superseded", "v12", None, False, "superseded"),
    ],
)
def test_the_rule_of_use(status: str, version: str, known: Seen | None, usable: bool, reason: str | None) -> None:
    verdict = judged(status, version, known)
    assert (verdict.usable, verdict.reason) == (usable, reason)


# -- what replaces what ------------------------------------------------------------------------------------------------

OLD = decision("D-1", "v12", status="stale")


@pytest.mark.parametrize(
    ("new", "known", "does"),
    [
        (decision("D-2", "v14"), seen("v14", 1), True),
        (decision("D-2", "v14"), None, True),
        (decision("D-2", "v14", decided=-1), None, False),
        (decision("D-2", "v14", decided=-1), seen("v14", 1), True),
        (decision("D-2", "v13"), seen("v14", 1), False),
        (decision("D-2", "v12"), seen("v12", 1), False),
        (decision("D-2", "v14", status="stale"), seen("v14", 1), False),
        (decision("D-1", "v14"), seen("v14", 1), False),
        (decision("D-2", "v14", kind="plan"), seen("v14", 1), False),
        (decision("D-2", "v14", entity="LN-1"), seen("v14", 1), False),
        (decision("D-2", "v14", source="rates"), seen("v14", 1), False),
        (decision("D-2", "v14", kind="plan", replaces=("D-1",)), seen("v14", 1), True),
        (decision("D-2", "v14", kind="plan", replaces=("D-9",)), seen("v14", 1), False),
        (decision("D-2", "v14", entity="LN-1", replaces=("D-1",)), seen("v14", 1), True),
        (decision("D-2", "r14", source="rates", replaces=("D-1",)), seen("r14", 1), False),
        (decision("D-2", "v14", borrower_id="B-2", replaces=("D-1",)), seen("v14", 1), False),
    ],
)
def test_what_supersedes(new: Decision, known: Seen | None, does: bool) -> None:
    assert supersedes(new, OLD, known) is does


@given(
    st.sampled_from(["v1", "v2", "v3"]), st.sampled_from(["v1", "v2", "v3"]), st.integers(0, 3), st.integers(0, 3),
    st.one_of(st.none(), st.sampled_from(["v1", "v2", "v3"])),
)  # fmt: skip
@settings(max_examples=often(300))
def test_two_decisions_never_replace_each_other_but_at_one_instant(
    a: str, b: str, a_at: int, b_at: int, known: str | None
) -> None:
    one, other = decision("D-1", a, a_at), decision("D-2", b, b_at)
    told = seen(known, 1) if known else None
    if supersedes(one, other, told) and supersedes(other, one, told):
        assert known is None
        assert a_at == b_at
    if known is not None and supersedes(one, other, told):
        assert one.version == known


@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=6), st.text(max_size=6))
@settings(max_examples=often(300))
def test_a_key_is_of_one_decision_and_version(a: str, b: str, c: str, d: str) -> None:
    if (a, b) != (c, d):
        assert correction_key(a, b) != correction_key(c, d)
    assert correction_key("D-1", "v13") == "D-1:v13"
    assert len({correction_key("a:b", "c"), correction_key("a%3Ab", "c"), correction_key("a", "b:c")}) == 3
