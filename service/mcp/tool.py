"""A tool: one operation of the API, and the words by which a model knows when to use it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """`operation` is the operation id of the call, and the tool's name.

    Its arguments are what the call has in its path, its query and its body, side by side; a body that is not one object with
    fields of its own (it is one of several kinds) is given whole, under the name `whole`.
    """

    operation: str
    title: str
    description: str
    reads: bool
    """Whether it changes nothing: then a client may call it without asking a person first."""
    whole: str | None = None
