"""Text that knows who wrote it: every byte of a prompt belongs to a registered writer (DESIGN 10).

A prompt is put together of pieces, each by a writer of `statemachine.volatility.Writer`; a template is one writer's, and what is
put into it stays with its own. `Message` of a model's request takes nothing else, so no text reaches a model that nobody answers
for. Where each writer stands in the code says `service.writers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from statemachine.volatility import Writer

_MARK: Final = "\ufdd1"
"""A noncharacter: what is put into a template is marked by it while the template is rendered."""
_MARKED: Final = re.compile(f"{_MARK}([0-9]+){_MARK}")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text and its writer."""

    writer: Writer
    text: str


class Written(str):
    """A text as the pieces it is made of; to everybody else a plain text."""

    pieces: tuple[Piece, ...]

    def __new__(cls, pieces: Iterable[Piece]) -> Written:
        kept = tuple(piece for piece in pieces if piece.text)
        text = super().__new__(cls, "".join(piece.text for piece in kept))
        text.pieces = kept
        return text


def written(writer: Writer, text: str) -> Written:
    """A text of one writer."""
    return Written([Piece(writer, text)])


def written_by(writer: Writer, texts: Iterable[str]) -> list[Written]:
    """Each of these texts as one of this writer's."""
    return [written(writer, text) for text in texts]


def rendered(writer: Writer, macro: Callable[..., str], *arguments: Any) -> Written:
    """What a template's macro makes of its arguments: `writer`'s, but for arguments that are `Written`, alone or in a list."""
    inserted: list[Written] = []

    def marked(argument: Any) -> Any:
        if isinstance(argument, Written):
            inserted.append(argument)
            return f"{_MARK}{len(inserted) - 1}{_MARK}"
        if isinstance(argument, list | tuple):
            return [marked(each) for each in argument]
        return argument

    text = macro(*[marked(argument) for argument in arguments])
    pieces: list[Piece] = []
    for place, part in enumerate(_MARKED.split(text)):
        pieces.extend(inserted[int(part)].pieces if place % 2 else [Piece(writer, part)])
    return Written(pieces)
