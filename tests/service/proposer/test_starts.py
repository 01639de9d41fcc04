"""Whatever happened and whatever a model answers, no conversation starts where it may not; judged by an oracle of its own.

The same over HTTP, with a model behind an endpoint and many more histories: `tests/together/test_proposals.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from service.models.asking import Message
from service.proposer.proposer import Proposer
from statemachine import floor
from statemachine.flow import Flow
from statemachine.journey import Standing
from tests import starts
from tests.examples import often
from tests.service.api import Api, api
from tests.service.embedded import SECRETS

HISTORIES = often(60)


class Unreliable:
    """A model that answers anything."""

    name = "unreliable"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        return starts.answers(self._chance, "\n".join(message.content for message in messages))

    async def close(self) -> None:
        """Nothing to close."""


async def granted(service: Api, chance: random.Random, count: int) -> tuple[list[str], Counter[str]]:
    """The illegal starts of so many histories, and what the answers came from."""
    model, found, came_from = Unreliable(chance), [], Counter[str]()
    parts = service.parts
    proposer = Proposer(
        parts.database, parts.policies, SECRETS, parts.reader, service.behind.clock, parts.proposals, model,
        CollectorRegistry(),
    )  # fmt: skip
    for _ in range(count):
        borrower, phone = service.name("B"), service.phone()["value"]
        what = starts.history(chance)
        for path, body in starts.posts(what, borrower, phone, service.now):
            assert (answer := await service.post(path, body)).status == 200, answer.document
        await parts.proposals.flush()
        service.behind.now += timedelta(seconds=1)
        await proposer.propose()
        oracle = starts.heard(what)
        for channel in starts.FLOWS:
            for direction in ("inbound", "outbound"):
                asked = starts.asked(borrower, phone, channel=channel, direction=direction)
                start = await service.post("/v1/resume", asked)
                assert start["found"] is True
                came_from[start["fallback"] or (start["source"] if start["proposed_by"] == "model" else "rules")] += 1
                if why := oracle.illegal(start["state"], channel, direction):
                    found.append(f"{what}: {start['state']} on {channel} {direction} {why}")
    return found, came_from


async def test_no_start_is_illegal_whatever_a_model_answers(tmp_path: Path) -> None:
    async with api(tmp_path, model=Unreliable.name) as service:
        illegal, came_from = await granted(service, random.Random(7), HISTORIES)
    assert illegal == []
    assert came_from["classifier"] > HISTORIES / 15, "models are used"
    assert came_from["position"] > HISTORIES / 15, "and refused"
    assert came_from["unreadable"] > 0


async def test_the_oracle_sees_what_the_floor_prevents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_floor(flow: Flow, standing: Standing, proposal: str | None) -> floor.Grant:
        state = flow.state(proposal) if proposal is not None else None
        step = None if state is None else state.step
        return floor.Grant(None if state is None else state.name, step, "opening", None, state is not None, ())

    monkeypatch.setattr("service.resuming.start.judge", open_floor)
    monkeypatch.setattr("service.resuming.start._by_proposal", unkept)
    async with api(tmp_path, model=Unreliable.name) as service:
        illegal, _ = await granted(service, random.Random(5), 16)
    kinds = {kind for kind in KINDS for line in illegal if line.endswith(kind)}
    assert len(kinds) > 1, illegal


KINDS = (
    "no state to start in", "nobody may be spoken to", "nobody knows who it is", "is done", "skips more than a step",
    "asks for money that is not owed any more",
)  # fmt: skip


def unkept(channel: str, standing: Standing, state: str, by: Any) -> Any:
    """As the service makes it, without what was kept before the floor was opened."""
    from service.resuming import start

    return start._start(start.judge(start.CHANNELS[channel].flow, standing, state), state, by, None)


def test_every_reason_of_the_oracle_is_there() -> None:
    verified, done = starts.heard(["verified"]), starts.heard(["verified", "told of the dues", "confirmed", "reminded"])
    assert starts.Oracle().illegal("dues", "voice", "inbound") == "nobody knows who it is"
    assert starts.Oracle().illegal("identity", "voice", "inbound") is None
    assert verified.illegal("negotiation", "voice", "inbound") is None, "one step"
    assert verified.illegal("confirmation", "voice", "inbound") == "skips more than a step"
    assert done.illegal("reminder", "voice", "inbound") == "is done"
    assert done.illegal("negotiation", "voice", "inbound") is None, "it may be repeated"
    assert verified.illegal("closed", "voice", "inbound") == "no state to start in"
    assert (
        starts.heard(["verified", "paid all"]).illegal("dues", "voice", "inbound")
        == "asks for money that is not owed any more"
    )
    assert starts.heard(["stopped voice"]).illegal("opening", "voice", "outbound") == "nobody may be spoken to"
    assert starts.heard(["stopped voice"]).illegal("opening", "voice", "inbound") is None
    assert starts.heard(["held"]).illegal("opening", "voice", "inbound") == "nobody may be spoken to"
