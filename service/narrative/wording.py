"""The templates' words, as functions: `WORDS` of the briefing, `STEP` of the step just taken.

Plain text: nothing is escaped, and a name that a template uses and nobody gives is an error. It must not know records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from service.narrative.values import (
    clock_in_words,
    date_in_words,
    day_in_words,
    few,
    many,
    moment_in_words,
    name,
    quoted,
    read_at,
)
from statemachine.money import spoken

CACHED_AMOUNTS: Final = 2_048
TEMPLATES: Final = Path(__file__).resolve().parent.parent.parent / "templates"
"""Beside the packages, in a checkout as in an installed wheel."""


def templates() -> Environment:
    words = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words.filters |= {
        "date": date_in_words,
        "day": day_in_words,
        "clock": clock_in_words,
        "moment": moment_in_words,
        "read_at": read_at,
        "money": lru_cache(maxsize=CACHED_AMOUNTS)(spoken),
        "quoted": quoted,
        "name": name,
        "plain": lambda label: name(label).replace("_", " "),
        "few": few,
        "many": many,
        "ground": lambda fact: "stated" if fact.source == "stated" else fact.grounding,
        "channel": lambda promise_id: promise_id.partition(":")[0],
    }
    return words


_ENVIRONMENT = templates()
WORDS: dict[str, Callable[..., str]] = vars(_ENVIRONMENT.get_template("narrative.txt.j2").module)
STEP: dict[str, Callable[..., str]] = vars(_ENVIRONMENT.get_template("previous_step.txt.j2").module)
