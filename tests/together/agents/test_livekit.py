"""An agent of LiveKit starts in the middle: its class by the state, its context seeded, and nothing seeded is learnt again.

The session is LiveKit's own, without a room: what the borrower says is given as text, the model is scripted, and the report is
the one that LiveKit makes.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import pytest

from channels.voice.flow import FLOW
from channels.voice.projections import project
from tests.together.agents.conftest import Hook, Json, library, started
from tests.together.conftest import Borrower, promise

agents = library("livekit.agents")
testing = library("livekit.agents.testing")

pytestmark = pytest.mark.process

MERGED_SECONDS = 10


class Scripted(agents.llm.LLM):  # type: ignore[misc]
    """A model that says one thing after the other and keeps every context that it was given."""

    def __init__(self, *says: str) -> None:
        super().__init__()
        self.says = says
        self.seen: list[list[tuple[str, str]]] = []

    def chat(self, *, chat_ctx: Any, tools: Any = None, conn_options: Any = None, **_: Any) -> Any:
        messages = [item for item in chat_ctx.items if item.type == "message"]
        self.seen.append([(item.role, item.text_content or "") for item in messages])
        return _Said(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)


class _Said(agents.llm.LLMStream):  # type: ignore[misc]
    async def _run(self) -> None:
        says = self._llm.says
        said = says[min(len(self._llm.seen), len(says)) - 1]
        delta = agents.llm.ChoiceDelta(role="assistant", content=said)
        self._event_ch.send_nowait(agents.llm.ChatChunk(id="c-1", delta=delta))


def _class_for(state: str) -> type:
    """The lender's own agent for a state, which speaks first."""

    class OfState(agents.Agent):  # type: ignore[misc]
        def __init__(self, chat_ctx: Any) -> None:
            super().__init__(id=state, instructions=f"You are Asha. Your task: {state}.", chat_ctx=chat_ctx)

        async def on_enter(self) -> None:
            self.session.generate_reply()

    return OfState


CLASSES = {state.name: _class_for(state.name) for state in FLOW.states}


@dataclass
class Talk:
    agent: str
    userdata: Json
    seen: list[list[tuple[str, str]]]
    """What the model was given at each of its turns."""
    report: Json
    context: Json
    """The agent's own context at the end: what a report is made of by whoever does not use the session's."""


async def talked(plan: Json, model: Scripted, *, borrower_says: str) -> Talk:
    """The agent of the plan speaks, hears one turn, and answers."""
    seeded = agents.ChatContext.from_dict(plan["chat_ctx"])
    with testing.fake_job_context(job_id=f"job-{time.time_ns()}") as job:
        async with agents.AgentSession(llm=model, userdata=plan["userdata"]) as session:
            await session.start(CLASSES[plan["agent"]](seeded))
            await session.run(user_input=borrower_says)
            current = session.current_agent
            context = current.chat_ctx.to_dict(exclude_timestamp=False)
            report = job.make_session_report(session).to_dict(include_events=False)
            return Talk(current.id, session.userdata, model.seen, report, context)


def own(borrower: Borrower, report: Json, **more: Any) -> Json:
    """What the agent's code adds to LiveKit's report before it posts it."""
    return {**report, "x_collections": {"borrower_ref": borrower.id, "direction": "inbound", **more}}


def turns_of(borrower: Borrower, conversation: str) -> list[Json]:
    """What the timeline has of a reported call; waits until it is merged."""
    end = time.monotonic() + MERGED_SECONDS
    while time.monotonic() < end:
        for item in borrower.timeline():
            if item["kind"] == "conversation" and item["entry"]["conversation_id"] == conversation:
                found: list[Json] = item["entry"]["turns"]
                return found
        time.sleep(0.05)
    raise AssertionError(f"{conversation} did not come about in {MERGED_SECONDS} s")


async def test_the_agent_of_the_state_knows_the_step_before_and_its_report_does_not_teach_it_back(
    borrower: Borrower,
) -> None:
    borrower.opens()
    borrower.verify()
    borrower.says("whatsapp", promise("5000"))
    answer = borrower.tenant.resume("voice", direction="inbound", identifier=borrower.phone)
    told_before = answer["previous_step"]["text"]
    plan = project(answer, "livekit")
    asks = "So it is 5,000 rupees, is that right?"
    talk = await talked(plan, Scripted(asks, "Thank you."), borrower_says="haan, theek hai")
    assert talk.agent == answer["state"] == "confirmation"
    assert talk.userdata["resume_id"] == answer["resume_id"]
    instructions, seeded = talk.seen[0][:2]
    assert instructions == ("system", "You are Asha. Your task: confirmation.")
    assert told_before in seeded[1]
    assert talk.seen[-1][:2] == [instructions, seeded]
    assert ("user", "haan, theek hai") in talk.seen[-1]

    assert told_before in json.dumps(talk.context, default=str), "it is there to come back"
    hook = Hook(borrower.tenant, "livekit")
    before = borrower.read()
    began = {"resume_id": talk.userdata["resume_id"], "entered_state": talk.agent}
    for report in (
        talk.report,
        {**talk.report, "job_id": f"{talk.report['job_id']}-own", "chat_history": talk.context},
    ):
        assert hook.post(own(borrower, report, **began)) == {"received": 1}
        turns = turns_of(borrower, report["job_id"])
        said = {(turn["speaker"], turn["text"]) for turn in turns}
        assert ("borrower", "haan, theek hai") in said
        assert not any("borrower-memory" in text or told_before in text for _, text in said)
        assert not any("Your task" in text for _, text in said), "instructions are no turn"
    after = borrower.read()
    assert after["history"] == before["history"], "nothing seeded became a promise"
    assert after["facts"] == before["facts"]
    kept = started(borrower, answer["resume_id"])
    assert (kept["granted"], kept["entered_state"], kept["ignored"]) == ("confirmation", "confirmation", False)


async def test_whoever_is_not_verified_is_asked_who_they_are_and_the_model_knows_no_debt(borrower: Borrower) -> None:
    borrower.opens()
    borrower.says("whatsapp", promise("5000"))
    answer = borrower.tenant.resume("voice", direction="inbound", borrower_id=borrower.id)
    talk = await talked(project(answer, "livekit"), Scripted("May I ask your date of birth?"), borrower_says="1 May")
    seen = "\n".join(text for turn in talk.seen for _, text in turn)
    assert talk.agent == "identity"
    assert "verify who this is first; then go to confirmation" in seen
    assert "5,000" not in seen
    assert "5000" not in seen


def test_a_start_elsewhere_is_seen_by_ops(borrower: Borrower) -> None:
    borrower.verify()
    borrower.says("whatsapp", promise("5000"))
    for entered, ignored in (("confirmation", False), ("opening", True)):
        answer = borrower.resume()
        userdata = project(answer, "livekit")["userdata"]
        borrower.says("voice", resume_id=userdata["resume_id"], entered_state=entered)
        kept = started(borrower, answer["resume_id"])
        assert (kept["granted"], kept["entered_state"], kept["ignored"]) == ("confirmation", entered, ignored)
