"""What a channel's classifier is asked: instructions that are the same for everybody, and one borrower's briefing as quoted
material.

The briefing is what agents read (`service.narrative`): its prose is screened, what people said and models wrote stands in
quotation marks on one line, and nothing of it is true only when it is read. Turns are not shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from channels import CHANNELS
from service.models.asking import Message
from service.narrative import TEMPLATES
from service.written import rendered, written, written_by
from statemachine.volatility import Writer

PROMPTS: Final = TEMPLATES / "prompts"
TOKENS: Final = 200
"""Of an answer: an object of three members."""
HASH_DIGITS: Final = 16
_WORDED_BY: Final = ("narrative.txt.j2", "prompts/propose.txt.j2")
"""Beside the channel's own prompt."""

Macro = Callable[..., str]


def messages(channel: str, position: str, briefing: str) -> Sequence[Message]:
    """`position`: where the memory itself stands once it is known who it is; `briefing`: the narrative."""
    prompt = _prompt(channel)
    stands_at = written(Writer.POSITION, position)
    lines = written_by(Writer.BRIEFING, briefing.splitlines())
    return (
        Message("system", rendered(Writer.PROPOSE, prompt["instructions"], _states(channel))),
        Message("user", rendered(Writer.PROPOSE, prompt["briefing"], stands_at, lines)),
    )


@lru_cache
def hash_of(channel: str, model: str) -> str:
    """By which a proposal is known to be an answer to what would be asked now, of the same model."""
    seen = hashlib.sha256()
    for file in (*_WORDED_BY, f"prompts/{_file(channel)}"):
        seen.update((TEMPLATES / file).read_bytes() + b"\0")
    for own in (Path(__file__).read_bytes(), model.encode(), ",".join(_states(channel)).encode()):
        seen.update(own + b"\0")
    return seen.hexdigest()[:HASH_DIGITS]


def _states(channel: str) -> list[str]:
    """Those where a conversation can start."""
    return [state.name for state in CHANNELS[channel].flow.states if not state.terminal]


def _file(channel: str) -> str:
    return f"propose_{channel}.txt.j2"


@lru_cache
def _prompt(channel: str) -> dict[str, Macro]:
    # Plain text: nothing is escaped, and a name that a template uses and nobody gives is an error.
    environment = Environment(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return dict(vars(environment.get_template(_file(channel)).module))
