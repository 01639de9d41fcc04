"""A flow of Pipecat starts in the middle: at the granted node, with the step before it, and tells where it began.

The model is spoken to by Pipecat's own service over the wire, so what it saw is what came there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from channels.summarise.fed import OPENS
from channels.voice.flow import FLOW
from channels.voice.projections import project
from tests.together.agents.conftest import Hook, Json, library, started
from tests.together.agents.standins import StreamingModel
from tests.together.conftest import Borrower, ago, another, phone, promise

flows = library("pipecat.flows")
frames = library("pipecat.frames.frames")
pipeline = library("pipecat.pipeline.pipeline")
workers = library("pipecat.pipeline.worker")
contexts = library("pipecat.processors.aggregators.llm_context")
aggregators = library("pipecat.processors.aggregators.llm_response_universal")
openai = library("pipecat.services.openai.llm")
runners = library("pipecat.workers.runner")

pytestmark = pytest.mark.process

ROLE = "You are Asha and speak for the lender."
TURN_SECONDS = 20


def node(name: str, **own: Any) -> Json:
    """The lender's own node for a state: a role, for it may be entered cold, and a task."""
    return {"role_message": ROLE, "task_messages": [{"role": "developer", "content": f"Your task: {name}."}], **own}


NODES: dict[str, Callable[[], Json]] = {state.name: lambda name=state.name: node(name) for state in FLOW.states}


def begun(plan: Json, made: Callable[[], Json]) -> Json:
    """The consumer's few lines: the granted node by its name, the step before in front of its own task."""
    own = made()
    return {**own, "name": plan["node"], "task_messages": [*plan["task_messages"], *own["task_messages"]]}


@dataclass
class Agent:
    """The parts of a pipeline without a transport: what the borrower says is put in front, what is said comes out behind."""

    pair: Any
    worker: Any
    flow: Any


def built(model: StreamingModel) -> Agent:
    settings = openai.OpenAILLMService.Settings(model="scripted")
    llm = openai.OpenAILLMService(api_key="none", base_url=f"{model.url}/v1", settings=settings)
    pair = aggregators.LLMContextAggregatorPair(contexts.LLMContext())
    parts = pipeline.Pipeline([pair.user(), llm, pair.assistant()])
    worker = workers.PipelineWorker(parts, cancel_on_idle_timeout=False, enable_rtvi=False)
    return Agent(pair, worker, flows.FlowManager(llm=llm, context_aggregator=pair, worker=worker))


@dataclass
class Talk:
    """One turn each, and where the flow then stood."""

    said: list[str]
    node: str | None
    state: Json


async def talked(model: StreamingModel, first: Json, state: Json, *, borrower_says: str) -> Talk:
    """A pipeline that begins at a node, speaks, hears one turn, and answers."""
    agent = built(model)
    pair, worker, flow = agent.pair, agent.worker, agent.flow
    flow.state.update(state)
    said: asyncio.Queue[str] = asyncio.Queue()
    heard: list[str] = []

    @pair.assistant().event_handler("on_assistant_turn_stopped")  # type: ignore[untyped-decorator]
    async def _(_: Any, message: Any) -> None:
        await said.put(message.content)

    @worker.event_handler("on_pipeline_started")  # type: ignore[untyped-decorator]
    async def _(*_: Any) -> None:
        await flow.initialize(first)

    async def turns() -> None:
        try:
            heard.append(await asyncio.wait_for(said.get(), TURN_SECONDS))
            answer = frames.LLMMessagesAppendFrame([{"role": "user", "content": borrower_says}], run_llm=True)
            await worker.queue_frame(answer)
            heard.append(await asyncio.wait_for(said.get(), TURN_SECONDS))
        finally:
            await worker.queue_frame(frames.EndFrame())

    runner = runners.WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), turns())
    return Talk(heard, flow.current_node, dict(flow.state))


def report(borrower: Borrower, talk: Talk, resume_id: str, *turns: tuple[str, str]) -> Json:
    """What the agent's own code posts at the end, in the form that the adapter reads."""
    now = datetime.now(UTC).isoformat()
    return {
        "session_id": f"s-{another()}",
        "transport": {"from": borrower.number, "to": "+912200000007", "direction": "inbound"},
        "started_at": ago(minutes=2),
        "ended_at": now,
        "resume_id": resume_id,
        "borrower_ref": borrower.id,
        "turns": [{"role": role, "content": text, "timestamp": now} for role, text in turns],
        "flow": {"start_node": talk.node, "end_node": talk.node, "state": {}},
    }


@pytest.mark.parametrize("strategy", ["APPEND", "RESET"])
async def test_it_begins_at_the_granted_node_and_knows_the_step_before(borrower: Borrower, strategy: str) -> None:
    borrower.opens()
    borrower.verify()
    borrower.says("whatsapp", promise("5000"))
    answer = borrower.tenant.resume("voice", direction="inbound", identifier=borrower.phone)
    assert (answer["state"], answer["previous_step"]["speakable"]) == ("confirmation", True)
    plan = project(answer, "pipecat")
    kept = flows.ContextStrategyConfig(strategy=flows.ContextStrategy[strategy])
    first = begun(plan, lambda: node("confirmation", context_strategy=kept))
    asks = "So it is 5,000 rupees, is that right?"
    with StreamingModel(asks, "Thank you.") as model:
        talk = await talked(model, first, plan["state"], borrower_says="haan, theek hai")
        before, after = model.saw(0), model.saw(1)
    assert before[0] == ("system", ROLE), "a node that is entered cold has a system instruction"
    assert before[1][1].startswith(OPENS)
    assert answer["previous_step"]["text"] in before[1][1]
    assert before[2] == ("developer", "Your task: confirmation.")
    assert after[: len(before)] == before, "the step before stays in the context"
    assert after[-1] == ("user", "haan, theek hai")
    assert (talk.said, talk.node) == ([asks, "Thank you."], "confirmation")
    assert talk.state["resume_id"] == answer["resume_id"]

    hook = Hook(borrower.tenant, "pipecat")
    told = report(borrower, talk, answer["resume_id"], ("assistant", asks), ("user", "haan, theek hai"))
    assert hook.post(told) == {"received": 1}
    await _until(lambda: len(borrower.timeline()) == 5)
    kept_answer = started(borrower, answer["resume_id"])
    assert (kept_answer["granted"], kept_answer["entered_state"], kept_answer["ignored"]) == (
        "confirmation", "confirmation", False,
    )  # fmt: skip


async def _until(true: Callable[[], bool]) -> None:
    for _ in range(200):
        if true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come about in ten seconds")


async def test_whoever_is_not_verified_is_asked_who_they_are_and_the_model_knows_no_debt(borrower: Borrower) -> None:
    borrower.opens()
    borrower.says("whatsapp", promise("5000"))
    answer = borrower.tenant.resume("voice", direction="inbound", borrower_id=borrower.id)
    assert (answer["state"], answer["after_identity"]) == ("identity", "confirmation")
    plan = project(answer, "pipecat")
    with StreamingModel("May I ask for your date of birth?", "Thank you.") as model:
        talk = await talked(model, begun(plan, NODES["identity"]), plan["state"], borrower_says="first of May")
        seen = "\n".join(text for _, text in model.saw(1))
    assert talk.node == "identity"
    assert "verify who this is first; then go to confirmation" in seen
    assert "5,000" not in seen
    assert "5000" not in seen


async def test_words_that_look_like_a_placeholder_do_not_stop_a_call(borrower: Borrower) -> None:
    borrower.verify()
    borrower.says("whatsapp", promise("5000"))
    answer = borrower.resume()
    answer["previous_step"]["text"] += " 'ok {{ bank.pin }} done'"
    plan = project(answer, "pipecat")
    with StreamingModel("Hello.", "Yes.") as model:
        await talked(model, begun(plan, NODES[answer["state"]]), plan["state"], borrower_says="yes")
        assert "{ { bank.pin }}" in model.saw()[1][1]
    with StreamingModel("Hello.") as model:
        bare = {
            **begun(plan, NODES[answer["state"]]),
            "task_messages": [{"role": "developer", "content": "{{ bank.pin }}"}],
        }
        with pytest.raises(flows.FlowInitializationError, match=r"bank\.pin"):
            await built(model).flow.initialize(bare)


def test_under_a_hold_there_is_no_node_and_a_person_takes_over(borrower: Borrower) -> None:
    borrower.verify()
    borrower.event("hold.placed", kind="dispute", reason="says it is not theirs")
    plan = project(borrower.resume(), "pipecat")
    assert plan["node"] is None
    assert plan["state"]["on_hold"] == "yes"
    assert "hand over to a person" in plan["task_messages"][0]["content"]


def test_a_strangers_number_is_the_opening(borrower: Borrower) -> None:
    plan = project(borrower.tenant.resume("voice", direction="inbound", identifier=phone("+919000009999")), "pipecat")
    assert (plan["node"], plan["state"]["found"]) == ("opening", "no")
