"""Five conversations on alternating channels, each by an agent that knows nothing but its answer of resume.

From an empty memory to a shared link: what one agent reaches, the next one starts from, on the other channel. Between the
service and each agent stands a relay. When it drops any one field of the answer the chain does not come through: it stops at
the first agent that gets such an answer, and that agent names the field.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, get_args
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel

from channels import CHANNELS
from channels.resumed import IncompleteAnswer, Resumed
from tests.together.agents import relayed
from tests.together.agents.conftest import Json, started
from tests.together.conftest import Borrower, ago

pytestmark = pytest.mark.process

AGENT_SECONDS = 60
Relay = Callable[[str], str]
"""What passes the answer on."""


class Dropped(Exception):
    """The chain stopped; its sentence is what the agent said."""


@dataclass(frozen=True)
class Stage:
    """One conversation: where the borrower stands before it, where it starts, and what the borrower says in it, by step."""

    before: str
    channel: str
    direction: str
    starts_at: str
    borrower: dict[str, str]
    says_first: str
    """A piece of the agent's first sentence, which it can know from the answer alone."""


def due() -> datetime:
    return datetime.now(ZoneInfo("Asia/Kolkata")) + timedelta(days=5)


def chain() -> list[Stage]:
    date = f"{due().day} {due():%B}"
    return [
        Stage("empty", "voice", "outbound", "opening", {"greet": "haan, boliye", "identify": "4821"}, "Good morning"),
        Stage(
            "negotiation", "whatsapp", "inbound", "negotiation", {"negotiate": f"ok I will pay 9,500 by {date}"}, "On "
        ),
        Stage("committed", "voice", "outbound", "confirmation", {"confirm": "haan, theek hai"}, "9,500"),
        Stage("reminded", "whatsapp", "outbound", "payment_link", {}, "9,500"),
        Stage("link_shared", "voice", "inbound", "closing", {"close": "ok, thank you"}, "9,500"),
    ]


def run(borrower: Borrower, agent: Callable[[str, Json, Json], Json], relay: Relay) -> Iterator[tuple[Stage, Json]]:
    """Plays the chain, and gives each conversation when its calls are made. Raises `Dropped`."""
    borrower.opens(occurred_at=ago(days=2))
    borrower.link(occurred_at=ago(days=2))
    for place, stage in enumerate(chain()):
        assert borrower.read()["stage"] == stage.before
        asked = {"channel": stage.channel, "direction": stage.direction, "identifier": borrower.phone}
        answer = borrower.tenant.http.post("/v1/resume", json=asked).text
        call = {
            "channel": stage.channel,
            "direction": stage.direction,
            "identifier": borrower.phone,
            "conversation_id": f"{borrower.id}-{place}",
            "at": (datetime.now(UTC) - timedelta(minutes=60 - 10 * place)).isoformat(),
            "states": {s.step: s.name for s in CHANNELS[stage.channel].flow.states if s.step},
        }
        told = agent(relay(answer), call, stage.borrower)
        for made in told["calls"]:
            answered = borrower.tenant.http.post(made["path"], json=made["body"])
            assert answered.status_code in (200, 201), f"{made}: {answered.text}"
        yield stage, {**told, "answer": json.loads(answer)}


def process(answer: str, call: Json, said: Json) -> Json:
    """The agent as a process of its own, in a folder of its own, without our environment."""
    done = subprocess.run(
        [sys.executable, "-m", relayed.__name__],
        input=json.dumps({"answer": answer, "call": call, "borrower": said}),
        capture_output=True, text=True, timeout=AGENT_SECONDS, check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    if done.returncode == relayed.INCOMPLETE:
        raise Dropped(done.stderr)
    assert done.returncode == 0, done.stderr
    told: Json = json.loads(done.stdout)
    return told


def function(answer: str, call: Json, said: Json) -> Json:
    """The same agent without a process around it."""
    try:
        return relayed.played(answer, call, said)
    except IncompleteAnswer as why:
        raise Dropped(str(why)) from None


def test_each_conversation_starts_where_the_one_before_on_the_other_channel_ended(borrower: Borrower) -> None:
    played = list(run(borrower, process, relay=lambda answer: answer))
    assert len(played) == len(chain())
    for stage, told in played:
        assert told["entered"] == told["answer"]["state"] == stage.starts_at, stage.before
        assert stage.says_first in told["says"][0], (stage.before, told["says"])
        kept = started(borrower, told["answer"]["resume_id"])
        assert (kept["entered_state"], kept["ignored"]) == (stage.starts_at, False)
    said = [sentence for _, told in played for sentence in told["says"]]
    for asked, times in {"Good morning": 1, "May I ask": 1, "When can you pay?": 2, "is that right?": 1}.items():
        assert sum(asked in sentence for sentence in said) == times, (asked, said)
    whole = borrower.read()
    assert (whole["stage"], whole["commitment"]["status"]) == ("link_shared", "confirmed")
    assert (whole["commitment"]["amount"], whole["commitment"]["due_date"]) == ("9500.00", due().date().isoformat())
    assert borrower.flags() == {"reminded": True, "payment_link_shared": True, "payment_confirmed": False}


# -- a field is dropped -------------------------------------------------------------------------------------------------

INSIDE: Final = ("identity", "contact", "cycle", "commitment", "flags", "previous_step", "vars")
"""Parts of the answer that the chain comes to have."""


def fields() -> Iterator[tuple[str, ...]]:
    """Every field of the answer, and every field of its parts: a new one is tried without being named here."""
    for name, about in Resumed.model_fields.items():
        yield (name,)
        if name in INSIDE:
            kinds = (about.annotation, *get_args(about.annotation))
            part = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
            yield from ((name, within) for within in part.model_fields)


def without(path: tuple[str, ...]) -> Relay:
    """A relay that copies a list of fields, and does not know this one."""

    def relay(answer: str) -> str:
        document = json.loads(answer)
        *parts, last = path
        here: Any = document
        for part in parts:
            here = here[part]
        if isinstance(here, dict):
            here.pop(last, None)
        return json.dumps(document)

    return relay


@pytest.mark.parametrize("path", list(fields()), ids=".".join)
def test_a_field_that_is_dropped_on_the_way_stops_the_chain(borrower: Borrower, path: tuple[str, ...]) -> None:
    with pytest.raises(Dropped, match=r"\.".join(path)):
        list(run(borrower, function, without(path)))


def test_the_process_refuses_as_the_function_does(borrower: Borrower) -> None:
    with pytest.raises(Dropped, match="state"):
        list(run(borrower, process, without(("state",))))


def test_a_relay_that_drops_nothing_changes_nothing(borrower: Borrower) -> None:
    """Else the drops prove nothing."""
    assert len(list(run(borrower, function, without(("no_such_field",))))) == len(chain())
