"""Our own summariser: a model where there is one, within rules, and rules alone where there is none (DESIGN 11).

    1 memory that was fed into the conversation is taken out                                    (`channels.summarise.fed`)
    2 the rules alone make a draft; it is what stands when the model is not ready               (`.plain`)
    3 the model is shown the turns without what is true only when it is read                    (`.shown`, `.told`)
    4 its answer is judged; once it is told which rule it broke                                 (`.judged`)
    5 refused twice, its structure is taken without prose: rejected is not failed

A model that fails is told apart by its reason, for whoever wants to ask again later. Nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from channels.channel import Channel
from channels.chats import Said
from channels.summarise.draft import WORDS_MAX, Draft, promised_in
from channels.summarise.fed import without_memory
from channels.summarise.judged import INFERRED, Verdict, judged
from channels.summarise.plain import plain
from channels.summarise.shown import shown
from channels.summarise.told import Told, told
from service.models.asking import Message, Model, ModelFailed
from service.written import Written, rendered, written
from statemachine.volatility import Writer

SECONDS: Final = 20.0
"""For one answer of the model; a chat waits for nobody, so it may take its time."""
TOKENS: Final = 900
PROMPTS: Final = Path(__file__).resolve().parents[1] / "templates" / "prompts"

By = Literal["model", "structure", "rules"]


@dataclass(frozen=True, slots=True)
class Summarised:
    """What is to be told of a conversation, by whom it was made, and its turns as they may be kept beside it.

    `failed`: why the model that there is was not ready (`timeout unavailable unreadable`): it may be asked again.
    `refused`: the rule that its answers broke, twice.
    """

    draft: Draft
    turns: tuple[Said, ...]
    by: By
    failed: str | None = None
    refused: str | None = None


class Summariser:
    """Summarises conversations in writing; without a model by rules alone."""

    def __init__(self, model: Model | None) -> None:
        self._model = model
        self._prompt = _prompts()

    @property
    def has_model(self) -> bool:
        return self._model is not None

    async def summarise(
        self, said: Sequence[Said], channel: Channel, *, ended_at: datetime, zone: str, handed_out: Iterable[str] = ()
    ) -> Summarised:
        """`said` in its order; `handed_out`: what this memory tells of the borrower, which is no evidence. Never raises."""
        own = without_memory(said, handed_out)
        by_rules = plain(own, channel, ended_at, zone)
        seen = shown(own, promised_in(by_rules.commitment), zone)
        if self._model is None or not any(turn.speaker == "borrower" for turn in own):
            return Summarised(by_rules, seen, "rules")
        try:
            verdict = await self._asked(self._model, told(seen), own, channel)
        except ModelFailed as failed:
            return Summarised(by_rules, seen, "rules", failed=failed.reason)
        if verdict.rule is None and verdict.draft is not None:
            return Summarised(_completed(verdict.draft, by_rules), seen, "model")
        structure = _completed(verdict.draft, by_rules) if verdict.draft else by_rules
        return Summarised(replace(structure, summary=None), seen, "structure", refused=verdict.rule)

    async def _asked(self, model: Model, seen: Told, own: Sequence[Said], channel: Channel) -> Verdict:
        """The verdict on the first answer that keeps the rules, else on the second. Raises `ModelFailed`."""
        states = [state.name for state in channel.flow.states if not state.terminal]
        told_as = self._prompt
        earlier, lines = _lines(seen, own)
        messages = [
            Message(
                "system", rendered(Writer.SUMMARISE, told_as["instructions"], channel.name, states, INFERRED, WORDS_MAX)
            ),
            Message("user", rendered(Writer.SUMMARISE, told_as["conversation"], earlier, lines, seen.left_out)),
        ]
        content = await model.complete(messages, seconds=SECONDS, tokens=TOKENS)
        verdict = judged(content, seen.turns, own, channel)
        if verdict.rule is None:
            return verdict
        # What was refused is not said again: it may be the very value that must not be repeated.
        broken = written(Writer.REFUSED, verdict.broken or "")
        messages.append(Message("user", rendered(Writer.SUMMARISE, told_as["again"], broken)))
        content = await model.complete(messages, seconds=SECONDS, tokens=TOKENS)
        second = judged(content, seen.turns, own, channel)
        return second if second.draft is not None or verdict.draft is None else verdict


def _lines(seen: Told, own: Sequence[Said]) -> tuple[list[Written], list[Written]]:
    """The lines of the prompt, those before and those of now, each by its writer: what was said, or that it is withheld."""
    as_said = {id(turn) for turn in own}
    lines = [
        written(Writer.CONVERSATION if id(turn) in as_said else Writer.WITHHELD, line)
        for turn, line in zip(seen.turns, (*seen.earlier, *seen.lines), strict=True)
    ]
    return lines[: len(seen.earlier)], lines[len(seen.earlier) :]


def _completed(draft: Draft, by_rules: Draft) -> Draft:
    """What the rules found and the model did not name stands: an outright promise is not lost to a model's silence."""
    return replace(
        draft,
        commitment=draft.commitment or by_rules.commitment,
        promised_at=draft.promised_at if draft.commitment else by_rules.promised_at,
        payment_claim=draft.payment_claim or by_rules.payment_claim,
        callback=draft.callback or by_rules.callback,
        reached=draft.reached or by_rules.reached,
        disposition=by_rules.disposition,
    )


@cache
def _prompts() -> dict[str, Callable[..., str]]:
    environment = Environment(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return dict(vars(environment.get_template("summarise.txt.j2").module))
