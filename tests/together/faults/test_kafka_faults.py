"""Faults of Kafka, rows 9 to 12, 18 and 19: away, slow, full of doubts, not the log that was left. Spans are scaled down."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.structs import TopicPartition

from tests.together import broker, checker
from tests.together.faults.conftest import SETTLED_SECONDS, Field, share
from tests.together.fleet import PARTITIONS, Fleet, WriterProcess, fleet
from tests.together.service import ago
from tests.together.stream import Ledger, Request

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

AWAY_SECONDS = 7.0
"""More than a request to Kafka may take (5 s), and more than an append waits (2 s)."""
SLOW_SECONDS = 3.5
"""More than an append waits, and less than a request may take."""
POST_SECONDS = 6.0


def test_9_a_coordinator_that_stops_and_comes_back_finds_its_group_again_and_nothing_is_stuck(field: Field) -> None:
    """The group's coordinator goes in order, is not there, loads what it knew: writers wait or are started anew."""
    with field.load(100):
        time.sleep(0.5)
        field.brokers.stop(1)
        time.sleep(2)
        field.brokers.start(1)
        _all_run(field)
    field.settle()
    field.proved()


def test_10_and_11_while_no_broker_leads_any_partition_posts_are_answered_in_time_and_drain_after(field: Field) -> None:
    """202 through the spool or 503, none hangs; the producer that was caught by it is thrown away and built anew."""
    before = field.metric("kafka_producers_thrown_away")
    slowest = 0.0
    with field.fleet.client() as client, field.load(100):
        field.brokers.kill(1)
        until = time.monotonic() + AWAY_SECONDS
        answers: Counter[int] = Counter()
        while time.monotonic() < until:
            began = time.monotonic()
            answers[post(field.ledger, client, f"away-{field.made}-{sum(answers.values())}").status_code] += 1
            slowest = max(slowest, time.monotonic() - began)
        field.brokers.start(1)
        _all_run(field)
    field.settle()
    field.proved(answers=dict(answers), slowest=round(slowest, 2))
    assert set(answers) <= {202, 503}
    assert answers[202] > 0
    assert slowest < POST_SECONDS
    assert field.metric("kafka_producers_thrown_away") > before


def test_12_what_was_given_up_and_arrived_all_the_same_is_in_the_log_twice_and_in_the_journal_once(
    field: Field,
) -> None:
    with field.load(100):
        for _ in range(2):
            time.sleep(0.3)
            field.brokers.pause(1)
            time.sleep(SLOW_SECONDS)
            field.brokers.resume(1)
            time.sleep(0.5)
    field.settle()
    tables = field.proved()
    twice = [id_ for id_, n in Counter(place.event_id for place in tables.log).items() if n > 1 and id_ in tables.by_id]
    assert twice, "nothing arrived twice"


def _all_run(field: Field) -> None:
    """Writers that ended by themselves are started anew, as whatever runs them would."""
    until = time.monotonic() + SETTLED_SECONDS
    while time.monotonic() < until:
        with_partitions = [writer for writer in field.writers if writer.partitions()]
        if len(with_partitions) >= 2:
            return
        if len(field.writers) < 2:
            field.another()
        time.sleep(0.2)


def post(ledger: Ledger, client: httpx.Client, conversation: str, borrower: str = "B-1") -> httpx.Response:
    """One promise, remembered as clients remember it."""
    terms = {"amount": "5000", "currency": "INR", "status": "proposed"}
    body = {"channel": "whatsapp", "conversation_id": conversation, "ended_at": ago(minutes=1), "outcome": "connected"}
    body |= {"borrower_id": borrower, "commitment": terms}
    request = Request("/v1/summaries", (body,))
    ledger.sending(request)
    answer = client.post(request.path, json=body)
    if answer.status_code == 503:
        ledger.broke_off(request, given_up=True)
    else:
        ledger.answered(request, answer.status_code, answer.json())
    return answer


def ask(brokers: broker.Brokers, work: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        admin = AIOKafkaAdminClient(bootstrap_servers=brokers.bootstrap)
        await admin.start()
        try:
            return await work(admin)
        finally:
            await admin.close()

    return asyncio.run(run())


# -- a log that is not the one that was left ---------------------------------------------------------------------------


@pytest.fixture
def merged(tmp_path: Path, brokers: broker.Brokers, dsn: str, prefix: str) -> Any:
    """A fleet of its own with one writer, to which five posts were merged; and what was answered."""
    with fleet(tmp_path, brokers.bootstrap, dsn, prefix, writers=1) as running:
        share(running.writers)
        ledger = Ledger()
        with running.client() as client:
            for n in range(5):
                assert post(ledger, client, f"before-{n}").status_code in (200, 202)
        running.merged_to_the_end(SETTLED_SECONDS)
        yield running, ledger


def _why(writer: WriterProcess) -> str:
    """Why it does not go on, by its own word."""
    until = time.monotonic() + SETTLED_SECONDS
    while time.monotonic() < until:
        if not writer.running():
            return writer.log()
        told = httpx.get(f"{writer.url}/readyz", timeout=10)
        if told.status_code == 503 and "stopped" in told.text:
            return told.text
        time.sleep(0.1)
    raise AssertionError(f"it goes on: {writer.log()[-2000:]}")


def _positions(running: Fleet) -> list[Any]:
    return sorted(map(tuple, running.rows("SELECT partition, next_offset FROM writer_partition")))


def test_18_a_log_that_has_let_go_of_what_is_not_merged_stops_its_partition_and_says_so(
    merged: tuple[Fleet, Ledger], brokers: broker.Brokers
) -> None:
    running, ledger = merged
    running.writers[0].stop()
    before = _positions(running)
    with running.client() as client:
        for n in range(3):
            assert post(ledger, client, f"gone-{n}").status_code == 202
    [partition] = {entry.partition for entry in running.entries()}
    gone = {TopicPartition(running.topic, partition): RecordsToDelete(7)}
    ask(brokers, lambda admin: admin.delete_records(gone))
    told = _why(running.write())
    assert "the log begins at offset 7 now" in told
    assert "Begin under another KAFKA_TOPIC_PREFIX" in told
    assert _positions(running) == before, "and nothing was passed over"


def test_18_a_topic_that_was_made_anew_under_the_same_name_stops_its_partition_and_says_so(
    merged: tuple[Fleet, Ledger], brokers: broker.Brokers
) -> None:
    running, _ = merged
    running.writers[0].stop()
    before = _positions(running)
    ask(brokers, lambda admin: admin.delete_topics([running.topic]))
    until = time.monotonic() + SETTLED_SECONDS
    while running.topic in ask(brokers, lambda admin: admin.list_topics()):
        assert time.monotonic() < until
        time.sleep(0.2)
    running.migrate()
    told = _why(running.write())
    assert "the log ends before offset" in told
    assert "Begin under another KAFKA_TOPIC_PREFIX" in told
    assert _positions(running) == before
    rebuilt = running.command("rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert len(running.rows("SELECT 1 FROM journal")) == 5, "all that was merged is still known"


def test_19_partitions_that_were_added_stop_every_writer_loudly_and_no_record_is_written_twice(
    merged: tuple[Fleet, Ledger], brokers: broker.Brokers
) -> None:
    running, ledger = merged
    writer = running.writers[0]
    ask(brokers, lambda admin: admin.create_partitions({running.topic: NewPartitions(PARTITIONS + 1)}))
    with running.client() as client:
        for n in range(3):
            assert post(ledger, client, f"more-{n}").status_code in (200, 202), "what is durable is answered for"
    other = running.command("writer")
    assert other.returncode == 1
    assert "a count is never changed" in other.stderr
    writer.stop()
    tables = running.tables()
    assert [fault for fault in checker.faults(tables, ledger) if not fault.startswith(("lost", "position"))] == []


def test_19_under_another_prefix_begins_another_log_and_what_was_merged_before_stays(
    merged: tuple[Fleet, Ledger], tmp_path_factory: pytest.TempPathFactory, brokers: broker.Brokers
) -> None:
    """What is told to do where a topic has got more partitions."""
    running, ledger = merged
    prefix = f"{running.topic.removesuffix('.intake')}-2"
    with fleet(tmp_path_factory.mktemp("anew"), brokers.bootstrap, running.dsn, prefix, writers=1) as anew:
        share(anew.writers)
        with anew.client() as client:
            for n in range(5):
                answer = post(ledger, client, f"after-{n}").json()
            assert client.get("/v1/borrowers/B-1", params={"after": answer["event_id"]}).status_code == 200
            assert post(ledger, client, "before-0").status_code in (200, 202, 409)
        anew.merged_to_the_end(SETTLED_SECONDS)
    assert [row["version"] for row in running.rows("SELECT version FROM borrower")] == [10]
