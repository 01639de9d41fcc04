"""Where each writer of `statemachine.volatility.Writer` stands: the table that says who may write into a text for a model.

`python -m service.writers` writes `docs/writers.md`, with file and line as they are now, and a test compares the two. A name
without a place, or a place without a name, fails at import: a new text for a model is registered, or it is none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from channels.summarise import judged, shown, told
from channels.voice import starting
from service.context import answering, bodies, standing, turns
from service.mcp import tool
from service.narrative import TEMPLATES, narrative, previous_step, structure_in_words
from service.proposer import prompts, proposer
from service.resuming import gist, start
from statemachine.volatility import WRITERS, Writer

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "writers.md"
ABOVE: Final = """\
# Who writes into a text for a model

Every text that reaches a model is made of pieces, and every piece has a registered writer: the context answer, what a classifier
and the summariser are asked, the briefing, the step just taken, `vars`, and what tools answer (DESIGN 10). A model's request is
made of such pieces or of nothing (`service/written.py`). The volatility is the worst that a writer may write; a fact, a turn and
a block have their own. `make format` writes this page from the code (`python -m service.writers`), and a test compares the two.

"""


@dataclass(frozen=True, slots=True)
class Macro:
    """A template's macro: words of ours, not code."""

    template: str
    name: str


Place = Callable[..., Any] | Macro


@dataclass(frozen=True, slots=True)
class Registered:
    """What a writer writes, into which texts, and the code or the words that do so."""

    writes: str
    into: tuple[str, ...]
    places: tuple[Place, ...]


CONTEXT, CLASSIFIER, SUMMARISER = "context", "classifier", "summariser"
BRIEFING, STEP, VARS, MCP = "briefing", "previous step", "vars", "MCP"
TEXTS: Final = (CONTEXT, CLASSIFIER, SUMMARISER, BRIEFING, STEP, VARS, MCP)
"""Every text that reaches a model."""

PLACES: Final[dict[Writer, Registered]] = {
    Writer.INSTRUCTION: Registered("what the caller's agent is told to do", (CONTEXT,), (bodies.Instruction,)),
    Writer.RECORD: Registered(
        "stops, promises, payments and messages, as they happened", (CONTEXT,), (structure_in_words,)
    ),
    Writer.FACT: Registered("facts, stated and inferred, with date and ground", (CONTEXT,), (standing.standing,)),
    Writer.REPORT: Registered("conversations, screened", (CONTEXT,), (standing.standing,)),
    Writer.DECISION: Registered("decisions that are current", (CONTEXT,), (answering.answer,)),
    Writer.CONVERSATION: Registered("what was said", (CONTEXT, SUMMARISER), (turns.seen, told.told)),
    Writer.WITHHELD: Registered(
        "that the agent said something live, and when it was read", (CONTEXT, SUMMARISER), (shown.placeholder,)
    ),
    Writer.READING: Registered("what was read in this turn", (CONTEXT,), (bodies.Reading,)),
    Writer.QUESTION: Registered("what this turn asks", (CONTEXT,), (bodies.ContextAsked,)),
    Writer.FRAME: Registered(
        "the words around the parts",
        (CONTEXT,),
        tuple(Macro("context.txt.j2", name) for name in ("memory", "conversation", "readings")),
    ),
    Writer.BRIEFING: Registered("the narrative", (BRIEFING, CLASSIFIER, MCP), (narrative,)),
    Writer.PREVIOUS_STEP: Registered("the step just taken", (STEP, VARS, MCP), (previous_step, starting.previous_step)),
    Writer.VARS: Registered("variables of a voice platform", (VARS, MCP), (gist.gist_of, start.worded)),
    Writer.MCP: Registered("names and words of tools; answers are those of the calls", (MCP,), (tool.Tool,)),
    Writer.PROPOSE: Registered(
        "what a classifier is asked",
        (CLASSIFIER,),
        (
            prompts.messages,
            Macro("prompts/propose.txt.j2", "answer"),
            Macro("prompts/propose.txt.j2", "briefing"),
            Macro("prompts/propose_voice.txt.j2", "instructions"),
            Macro("prompts/propose_whatsapp.txt.j2", "instructions"),
        ),
    ),
    Writer.POSITION: Registered("where the memory itself stands", (CLASSIFIER,), (proposer.Look,)),
    Writer.SUMMARISE: Registered(
        "what the summariser's model is asked",
        (SUMMARISER,),
        tuple(Macro("prompts/summarise.txt.j2", name) for name in ("instructions", "conversation", "again")),
    ),
    Writer.REFUSED: Registered("which rule an answer broke", (SUMMARISER,), (judged.judged,)),
}


def page() -> str:
    """The page, with file and line of each place."""
    lines = [
        "| writer | volatility | writes | into | where |",
        "|---|---|---|---|---|",
        *(
            f"| `{name}` | {WRITERS[name]} | {its.writes} | {', '.join(its.into)} | {'<br>'.join(map(_where, its.places))} |"
            for name, its in PLACES.items()
        ),
    ]
    return ABOVE + "\n".join(lines) + "\n"


def _where(place: Place) -> str:
    if isinstance(place, Macro):
        file = TEMPLATES / place.template
        found = re.search(rf"^{{% macro {place.name}\(", file.read_text(), re.MULTILINE)
        if found is None:
            raise LookupError(f"{place.template} has no macro {place.name}")
        return _told(file, file.read_text()[: found.start()].count("\n") + 1, place.name)
    target = inspect.unwrap(place)
    file_name = inspect.getsourcefile(target)
    assert file_name is not None, "written in Python"
    return _told(Path(file_name), inspect.getsourcelines(target)[1], place.__name__)


def _told(file: Path, line: int, name: str) -> str:
    return f"`{file.resolve().relative_to(ROOT).as_posix()}:{line}` {name}"


def _check() -> None:
    if missing := set(Writer) ^ set(PLACES):
        raise RuntimeError(f"writers without a place, or places without a writer: {sorted(missing)}")


_check()

if __name__ == "__main__":
    PAGE.write_text(page())
