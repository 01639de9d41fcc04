"""Metrics count what happened, as the ops calls count it; one that throws loses its count and nothing else."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry

from service import settings
from service.database import DatabaseUnavailable
from service.intake.log import Behind, LogUnavailable, Pending
from service.live import without_live
from service.metrics import Counter, Gauge, Histogram
from service.metrics.standing import GAUGES
from service.models.asking import ModelFailed
from service.models.guarded import Guarded
from service.models.measured import Measures
from service.policy import Policies
from service.rebuild import rebuild
from service.wiring.embedded import embedded
from statemachine.volatility import Volatility
from tests.service.api import Api, api
from tests.service.conftest import Where
from tests.service.embedded import SECRETS, TENANT, open_store
from tests.service.hooks.posting import posting

STATS = (
    "deliveries",
    "repeats",
    "conflicts",
    "conversations",
    "events",
    "set_aside",
    "missing_reports",
    "summaries_waiting",
)


def value(service: Api, name: str, **labels: str) -> float:
    """0 for what has not been counted yet."""
    return service.parts.registry.get_sample_value(f"borrower_memory_{name}", labels) or 0.0


def total(service: Api, name: str, **labels: str) -> float:
    """Over all other labels."""
    return sum(
        sample.value
        for family in service.parts.registry.collect()
        for sample in family.samples
        if sample.name == f"borrower_memory_{name}" and labels.items() <= sample.labels.items()
    )


async def scraped(service: Api) -> str:
    service.parts.standing._until = 0.0
    answer = await service.client.get("/metrics")
    assert answer.status_code == 200
    return answer.text


async def day(service: Api) -> None:
    """Something of everything that is counted: repeats, a conflict, things set aside, a start that was ignored."""
    summary = {"channel": "voice", "conversation_id": "c-1", "ended_at": service.ago(hours=1), "borrower_id": "B-1"}
    for _ in range(5):
        await service.post("/v1/summaries", summary | {"outcome": "connected"})
    event = {"type": "hold.lifted", "event_id": "h-1", "occurred_at": service.ago(hours=1), "borrower_id": "B-1"}
    for _ in range(3):
        await service.post("/v1/events", event | {"kind": "dispute", "reason": "x"})
    await service.post("/v1/events", event | {"kind": "other", "reason": "x"})
    poison = Pending(TENANT, "B-1", "p-1", b"no entry of ours")
    await service.behind.told(await service.behind.log.append([poison]))
    await service.event("conversation.started", "B-1", 30, channel="voice", conversation_id="lost")
    await service.event(
        "conversation.message", "B-2", 2, channel="whatsapp", conversation_id="w-1", message_id="m-1", speaker="borrower",
        text="haan",
    )  # fmt: skip
    await service.told("B-2", channel="whatsapp")
    granted = await service.resume("B-2")
    told = {"resume_id": granted["resume_id"], "entered_state": "negotiation", "agent": "bot 7"}
    await service.told("B-2", hours=0.1, **told)
    await service.resume("B-nobody")
    await service.parts.resumes.flush()


# -- the same numbers --------------------------------------------------------------------------------------------------------


async def test_five_deliveries_and_three_are_one_conversation_and_one_event(tmp_path: Path) -> None:
    """AC-73."""
    async with api(tmp_path) as service:
        summary = {"channel": "voice", "conversation_id": "c-1", "ended_at": service.ago(hours=1), "borrower_id": "B-1"}
        event = {"type": "hold.placed", "event_id": "h-1", "occurred_at": service.ago(hours=1), "borrower_id": "B-1"}
        await asyncio.gather(
            *(service.post("/v1/summaries", summary | {"outcome": "connected"}) for _ in range(5)),
            *(service.post("/v1/events", event | {"kind": "other", "reason": "x"}) for _ in range(3)),
        )
        stats = await service.get("/v1/ops/stats")
        assert [stats[name] for name in ("conversations", "events", "deliveries", "repeats")] == [1, 1, 8, 6]
        assert total(service, "entries_total") == total(service, "deliveries_total", became="merged") == 2
        assert (total(service, "deliveries_total"), total(service, "deliveries_total", became="repeat")) == (8, 6)


async def test_what_ops_reads_and_what_is_counted_agree(tmp_path: Path, where: Where) -> None:
    async with api(tmp_path, where=where()) as service:
        await day(service)
        stats = await service.get("/v1/ops/stats")
        service.behind.now += timedelta(seconds=100)
        await scraped(service)
        assert total(service, "deliveries_total") == stats["deliveries"] == 14
        assert value(service, "deliveries_total", became="repeat") == stats["repeats"] == 6
        assert value(service, "deliveries_total", became="conflict") == stats["conflicts"] == 1
        assert total(service, "set_aside_open") == total(service, "set_aside_total") == stats["set_aside"] == 2
        assert value(service, "missing_reports") == stats["missing_reports"] == 1
        assert value(service, "chats_waiting") == stats["summaries_waiting"] == 1
        assert value(service, "chats_waiting_seconds") == 100
        assert total(service, "lag_entries") == stats["unmerged"] == 0
        assert total(service, "resumes_total") == stats["resumes"]["total"] == 2
        assert total(service, "starts_total", used="no") == stats["resumes_ignored"] == 1
        assert value(service, "starts_total", channel="voice", agent="bot 7", used="no") == 1
        assert total(service, "resumes_crossed_total") == value(service, "resumes_crossed_total", channel="voice") == 1
        assert value(service, "store_readable") == value(service, "log_readable") == 1
        assert value(service, "partition_owners") == 1


async def test_after_a_rebuild_every_number_is_the_live_one(tmp_path: Path, where: Where) -> None:
    place = where()
    async with api(tmp_path, where=place) as service:
        await day(service)
        now = service.now
        stats = (await service.get("/v1/ops/stats")).document
        measured = (await service.get("/v1/ops/rollout")).document
    store = await open_store(place, serving=isinstance(place, Path))
    try:
        assert (await rebuild(store, SECRETS, Policies(), lambda: now, lambda done, of: None)).changed == 0
    finally:
        await store.close()
    async with api(tmp_path, where=place) as service:
        assert (await service.get("/v1/ops/stats")).document == stats
        assert (await service.get("/v1/ops/rollout")).document == measured
        await scraped(service)
        assert [total(service, name) for name in ("set_aside_open", "missing_reports", "chats_waiting")] == [2, 1, 1]


async def test_what_is_tried_again_is_no_other_delivery(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await day(service)
        before = total(service, "deliveries_total")
        items = (await service.get("/v1/ops/set-aside?status=open"))["items"]
        for item in items:
            assert (await service.post(f"/v1/ops/set-aside/{item['id']}/retry", {})).status == 200
        assert total(service, "deliveries_total") == before
        assert (await service.get("/v1/ops/stats"))["deliveries"] == before


async def test_permits_are_counted_by_what_was_answered(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await service.told("B-1")
        for holder in ("one", "one", "two"):
            asked = {"action": "reminder", "channel": "whatsapp", "holder": holder}
            await service.post("/v1/borrowers/B-1/permits", asked)
        outcomes = ("granted", "again", "held_by_other")
        assert [value(service, "permits_total", action="reminder", outcome=o) for o in outcomes] == [1, 1, 1]


async def test_vendors_are_counted_by_what_their_requests_and_items_became(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        service = vendor.api
        hook = await vendor.hook("voice", "vapi")
        for headers in ({}, {"authorization": "Bearer another"}):
            answer = await service.client.post(hook.path, content=b"{}", headers={"authorization": "", **headers})
            assert answer.status_code == 401
        refused = total(service, "hook_requests_total", vendor="vapi")
        assert refused == 2 == sum(total(service, "hook_requests_total", answer=why) for why in ("missing", "wrong"))


# -- models ------------------------------------------------------------------------------------------------------------------


class Failing:
    name = "a model"

    def __init__(self) -> None:
        self.fails = False

    async def complete(self, messages: Any, *, seconds: float, tokens: int) -> str:
        if self.fails:
            raise ModelFailed("timeout", "nothing came")
        return "{}"

    async def close(self) -> None:
        """Nothing is held."""


async def test_a_models_calls_are_counted_by_how_they_ended_and_a_rest_is_told() -> None:
    registry, model = CollectorRegistry(), Failing()
    guarded = Guarded(model, failures=2, in_an_hour=4, measures=Measures(registry).of("proposer"))

    async def ask() -> None:
        with pytest.raises(ModelFailed):
            await guarded.complete([], seconds=1, tokens=1)

    def counted(outcome: str) -> float | None:
        return registry.get_sample_value("borrower_memory_model_calls_total", {"asker": "proposer", "outcome": outcome})

    def rests() -> float | None:
        return registry.get_sample_value("borrower_memory_model_resting", {"asker": "proposer"})

    await guarded.complete([], seconds=1, tokens=1)
    assert (counted("answered"), rests()) == (1, 0)
    model.fails = True
    for _ in range(3):
        await ask()
    assert (counted("timeout"), counted("resting"), rests()) == (2, 1, 1)
    assert registry.get_sample_value("borrower_memory_model_seconds_count", {"asker": "proposer"}) == 3


# -- a live value is taken out -------------------------------------------------------------------------------------------------


async def test_a_live_value_among_what_holds_is_withheld_counted_and_audited(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        items = [Volatility.STABLE, Volatility.LIVE, "live", Volatility.EVENT]
        kept = await without_live(service.parts, TENANT, "B-1", "facts", items, lambda item: item)
        assert kept == [Volatility.STABLE, Volatility.EVENT]
        assert value(service, "live_values_withheld_total", read="facts") == 2
        (voice, _) = (await service.get("/v1/ops/rollout"))["channels"]
        assert voice["now"]["live_values"] == 2


# -- what cannot be read has no value --------------------------------------------------------------------------------------------


def told(registry: CollectorRegistry) -> dict[str, float]:
    return {s.name: s.value for family in registry.collect() for s in family.samples if s.name in GAUGES}


async def test_an_outage_never_looks_like_an_empty_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with api(tmp_path) as service:
        await day(service)
        await scraped(service)
        assert told(service.parts.registry)["borrower_memory_missing_reports"] == 1

        async def away(job: object) -> None:
            raise DatabaseUnavailable("away")

        monkeypatch.setattr(service.behind.database, "read_slow", away)
        await scraped(service)
        assert told(service.parts.registry) == {
            "borrower_memory_store_readable": 0, "borrower_memory_log_readable": 0, "borrower_memory_policy_problems": 0,
        }  # fmt: skip


async def test_a_log_that_cannot_be_asked_leaves_what_the_store_tells(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        intake: Any = service.parts.intake

        async def away(now: object) -> None:
            raise LogUnavailable("away")

        intake.lag = away
        await scraped(service)
        now = told(service.parts.registry)
        assert (now["borrower_memory_store_readable"], now["borrower_memory_log_readable"]) == (1, 0)
        assert "borrower_memory_lag_entries" not in now

        async def behind(now: object) -> dict[int, Behind]:
            return {3: Behind(7, 21.5)}

        intake.lag = behind
        await scraped(service)
        assert value(service, "lag_entries", partition="3") == 7
        assert value(service, "oldest_unmerged_seconds", partition="3") == 21.5


async def test_what_is_appended_and_not_merged_lags_with_its_age(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await service.behind.stop_writing()
        await service.behind.log.append([Pending(TENANT, f"B-{n}", f"e-{n}", b"x") for n in range(5)])
        service.behind.now += timedelta(seconds=90)
        await scraped(service)
        assert total(service, "lag_entries") == 5
        assert total(service, "oldest_unmerged_seconds") > 0


# -- a metric that throws ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["labels", "change"])
async def test_a_metric_that_throws_fails_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def throw(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    async with api(tmp_path) as service:
        if broken == "labels":
            monkeypatch.setattr(prometheus_client.metrics.MetricWrapperBase, "labels", throw)
        else:
            monkeypatch.setattr(prometheus_client.Counter, "inc", throw)
            monkeypatch.setattr(prometheus_client.Gauge, "set", throw)
            monkeypatch.setattr(prometheus_client.Histogram, "observe", throw)
        await day(service)
        asked = {"action": "reminder", "channel": "whatsapp", "holder": "one"}
        assert (await service.post("/v1/borrowers/B-1/permits", asked)).status in (201, 409)
        stats = await service.get("/v1/ops/stats")
        assert (stats.status, stats["deliveries"], stats["repeats"], stats["resumes"]["total"]) == (200, 14, 6, 2)
        assert stats["resumes_ignored"] == 1


def test_what_throws_is_said_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CollectorRegistry()
    counter = Counter("a", "of a test", ["x"], registry=registry)
    gauge = Gauge("b", "of a test", ["x"], registry=registry)
    histogram = Histogram("c", "of a test", ["x"], registry=registry)
    for metric in (counter, gauge, histogram):
        wrong = metric.labels("1", "2")
        for name in ("inc", "set", "observe"):
            getattr(wrong, name)(1)
    counter.labels("1").inc(-1)
    counter.labels("1").inc()
    gauge.labels("1").set(2)
    histogram.labels("1").observe(3)
    found = [registry.get_sample_value(name, {"x": "1"}) for name in ("a_total", "b", "c_sum")]
    assert found == [1, 2, 3]


async def test_the_writer_of_a_process_of_its_own_counts_what_it_merges(tmp_path: Path) -> None:
    """As `serve` is wired, without HTTP."""
    async with embedded(settings.load({}, directory=tmp_path), Policies()) as parts:
        pending = Pending(TENANT, "B-1", "e-1", b"no entry of ours")
        (wait,) = await parts.append_pending([pending])
        assert (await asyncio.wait_for(wait, 30)).status == "set_aside"
        assert parts.registry.get_sample_value("borrower_memory_set_aside_total", {"reason": "unreadable"}) == 1
