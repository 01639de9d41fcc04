"""Whether a quote stands in one of the borrower's own turns, nothing that denies it left out."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from statemachine import words as w
from statemachine.grounding.denials import Denial, before, behind, denials_of, reaches_ahead, reaches_back
from statemachine.grounding.heard import BORROWER, Heard, Spoken, heard_of, joined

QUOTE_CHARACTERS = 4_000
QUOTE_PIECES = 8

Standing = Literal["stands", "agent", "not_found"]


def quote_stands(quote: str, turns: Sequence[Spoken]) -> Standing:
    """Whether `quote` stands in one of the borrower's own turns (DESIGN 11, 4.2).

    "agent": it stands in somebody else's words only. An elision ("...", "…") joins pieces in their order within one turn.
    """
    pieces = pieces_of(quote)
    if not pieces:
        return "not_found"
    if place_of(pieces, turns) is not None:
        return "stands"
    if any(turn.speaker != BORROWER and _found(pieces, heard_of(turn.text), strictly=False) for turn in turns):
        return "agent"
    return "not_found"


_ELISION = re.compile(r"\.{2,}")


def pieces_of(quote: str) -> tuple[str, ...]:
    """The quote's pieces between elisions, joined as `Heard.joined` is; none if it cannot be a quote."""
    if len(quote) > QUOTE_CHARACTERS:
        return ()
    return _pieces_cached(quote) if len(quote) <= w.CACHED_CHARACTERS else _cut(quote)


def _cut(quote: str) -> tuple[str, ...]:
    spoken = (w.words_of(piece) for piece in _ELISION.split(unicodedata.normalize("NFKC", quote)))
    pieces = tuple(joined(words)[0] for words in spoken if words)
    return pieces if len(pieces) <= QUOTE_PIECES else ()


_pieces_cached = lru_cache(maxsize=w.CACHED_TEXTS)(_cut)


def place_of(pieces: tuple[str, ...], turns: Sequence[Spoken]) -> tuple[int, int, int] | None:
    """The first of the borrower's turns in which the pieces stand: its index, the first word and the one after the last."""
    return next(places_of(pieces, turns), None)


def places_of(pieces: tuple[str, ...], turns: Sequence[Spoken]) -> Iterator[tuple[int, int, int]]:
    for index, turn in enumerate(turns):
        if turn.speaker == BORROWER:
            span = _found(pieces, heard_of(turn.text), strictly=True)
            if span is not None:
                yield index, *span


def _found(pieces: tuple[str, ...], heard: Heard, *, strictly: bool) -> tuple[int, int] | None:
    """The first and the last-but-one word of the pieces in their order; strictly: with no denial left out."""
    if pieces[0] not in heard.joined:
        return None
    reached = list(_occurrences(pieces[0], heard))
    denials: tuple[Denial, ...] = ()
    hidden: tuple[int, ...] = ()
    if strictly and heard.denying:
        denials = denials_of(heard)
        hidden = tuple(accumulate((index in heard.denying for index in range(len(heard.words))), initial=0))
        reached = [
            (start, end)
            for start, end in reached
            if not any(reaches_ahead(denial, start, heard) for denial in before(start, denials))
        ]
    for piece in pieces[1:]:
        # The nearest earlier place hides the least, so it is the only one worth trying.
        further: list[tuple[int, int]] = []
        nearest = -1
        for start, end in _occurrences(piece, heard):
            while nearest + 1 < len(reached) and reached[nearest + 1][1] <= start:
                nearest += 1
            if nearest >= 0 and not (hidden and hidden[start] > hidden[reached[nearest][1]]):
                further.append((reached[nearest][0], end))
        reached = further
    for start, end in reached:
        if not any(reaches_back(denial, start, end, heard) for denial in behind(end, denials)):
            return start, end
    return None


def _occurrences(piece: str, heard: Heard) -> Iterator[tuple[int, int]]:
    offset = heard.joined.find(piece)
    while offset >= 0:
        start, end = heard.starts.get(offset), heard.ends.get(offset + len(piece))
        if start is not None and end is not None:
            yield start, end
        offset = heard.joined.find(piece, offset + 1)
