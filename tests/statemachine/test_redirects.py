"""Whose a provisional record is, of every link and unlink of its identifier, in whatever order they are known (DESIGN 7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from statemachine.elements import Redirected
from statemachine.redirects import Whose, whose

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def hour(n: int) -> datetime:
    return NOON + timedelta(hours=n)


def _mark(at: int, **told: Any) -> Redirected:
    return Redirected(at=hour(at), digest="", event_id=f"e-{at}", **told)


def link(at: int, to: str) -> Redirected:
    return _mark(at, to=to)


def end(at: int, whose_link: str) -> Redirected:
    return _mark(at, ended=whose_link)


def wrong(at: int, whose_link: str) -> Redirected:
    return _mark(at, ended=whose_link, wrong=True)


def taken_back(at: int) -> Redirected:
    """Of a version that did not say whose link it was."""
    return _mark(at)


@pytest.mark.parametrize(
    ("told", "to", "after"),
    [
        ([], None, None),
        ([link(1, "A")], "A", None),
        ([link(1, "A"), link(2, "A")], "A", None),
        ([link(1, "A"), end(2, "A")], None, 2),
        ([link(1, "A"), end(2, "A"), link(3, "B")], "B", 2),
        ([link(1, "A"), end(2, "A"), link(3, "A")], "A", 2),
        ([link(1, "A"), taken_back(2)], None, 2),
        ([link(1, "A"), taken_back(2), link(3, "B")], "B", 2),
        # A wrong link is as if it had never been.
        ([link(1, "A"), wrong(2, "A")], None, None),
        ([link(1, "A"), wrong(2, "A"), link(3, "B")], "B", None),
        ([link(1, "B"), link(2, "A"), wrong(3, "A")], "B", None),
        ([link(1, "A"), link(2, "B"), wrong(3, "A")], "B", None),
        ([link(1, "A"), end(2, "A"), link(3, "B"), wrong(4, "A")], "B", None),
        ([link(1, "A"), link(2, "A"), wrong(3, "A"), link(4, "A")], "A", None),
        ([link(1, "C"), end(2, "C"), link(3, "A"), wrong(4, "A"), link(5, "B")], "B", 2),
        ([wrong(2, "A"), link(3, "A")], "A", None),
        # What two share is nobody's while they do, and stays so.
        ([link(1, "A"), link(2, "B")], None, 2),
        ([link(1, "A"), link(2, "B"), link(3, "C")], None, 3),
        ([link(1, "A"), link(2, "B"), end(3, "A")], "B", 3),
        ([link(1, "A"), link(2, "B"), end(3, "B")], "A", 3),
        ([link(1, "A"), link(2, "B"), end(3, "A"), end(4, "B")], None, 4),
        ([link(1, "A"), link(2, "B"), link(3, "C"), wrong(4, "B"), end(5, "C")], "A", 5),
    ],
)
def test_whose_it_is_and_from_when(told: list[Redirected], to: str | None, after: int | None) -> None:
    expected = Whose(to, None if after is None else hour(after))
    assert all(whose(order) == expected for order in permutations(told))
    assert whose([*told, *told]) == expected
