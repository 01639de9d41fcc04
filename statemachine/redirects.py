"""Whose the evidence of a provisional record is: computed from every link and unlink of its identifier known (DESIGN 7).

    a link                 from then on it is that borrower's, if nobody else's as well
    an unlink              what took effect up to then stays with whoever had it
    `wrong_borrower`       that borrower never had it: their links before it count for nothing
    linked to several      proves nothing: it is nobody's while that lasts, and what took effect meanwhile stays nobody's

The first to have it also has what was told before; so has the right one, after a wrong one is undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from statemachine.elements import Key, Redirected, key_of


class Whose(NamedTuple):
    """The borrower to whom a provisional record belongs, if any; evidence up to `after` does not come with it."""

    to: str | None
    after: datetime | None


NOBODYS = Whose(None, None)


def whose(redirects: Iterable[Redirected]) -> Whose:
    """By what is known now, in whatever order it arrived."""
    told = sorted(redirects, key=key_of)
    never: dict[str, Key] = {}
    for mark in told:
        if mark.wrong and mark.ended is not None:
            never[mark.ended] = mark.key
    linked: set[str] = set()
    after: datetime | None = None
    for mark in told:
        if mark.to is None and mark.ended is None:  # of a version that did not say whose link ended: everybody's
            linked, after = set(), mark.at
        elif mark.ended in linked:
            linked.discard(mark.ended)
            after = mark.at
        if mark.to is not None and mark.to not in linked and not _is_void(mark, never):
            if linked:
                after = mark.at
            linked.add(mark.to)
    return Whose(next(iter(linked)) if len(linked) == 1 else None, after)


def _is_void(link: Redirected, never: dict[str, Key]) -> bool:
    return link.to in never and link.key < never[link.to]
