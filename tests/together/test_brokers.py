"""The real broker and the real PostgreSQL that other tests stand on: they come up, break as told, keep what they granted."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.together import broker, postgres

# The first start on a machine also fetches the broker's artefacts.
pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

# Kafka counts a silent node as gone after its session of 9 s.
NOTICED_SECONDS = 90
MESSAGES = 30
ANSWER_SECONDS = 60


@pytest.fixture(scope="class")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Brokers]:
    with broker.running(tmp_path_factory.mktemp("kafka"), ours=True) as brokers:
        yield brokers


@pytest.fixture(scope="class")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Brokers]:
    with broker.running(tmp_path_factory.mktemp("kafka"), nodes=3, ours=True) as brokers:
        yield brokers


@pytest.fixture(scope="class")
def server() -> Iterator[postgres.Postgres]:
    with postgres.running(ours=True) as running:
        yield running


class TestOneBroker:
    def test_it_answers_and_counts_itself(self, one: broker.Brokers) -> None:
        assert one.members() == {1}

    def test_a_paused_broker_keeps_its_port_and_says_nothing(self, one: broker.Brokers) -> None:
        one.pause(1)
        with pytest.raises(TimeoutError):
            one.members()
        one.resume(1)
        assert one.members() == {1}

    def test_one_named_in_the_environment_is_taken_but_not_to_be_broken(
        self, one: broker.Brokers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv(broker.NAMED, one.bootstrap)
        found, way = broker.started(tmp_path)
        assert found is not None
        assert found.bootstrap == one.bootstrap
        assert way == "named in TEST_KAFKA"
        found.close()
        assert one.members() == {1}, "closing ends only what is ours"

        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        assert broker.started(tmp_path, ours=True) == (
            None,
            "the broker of TEST_KAFKA is not ours to break; no docker on the PATH; no Java 17 or newer on the PATH",
        )

    async def test_what_was_acknowledged_outlives_a_crash(self, one: broker.Brokers) -> None:
        await topic(one, "crash", partitions=1, copies=1)
        async with AIOKafkaProducer(bootstrap_servers=one.bootstrap, acks="all", enable_idempotence=True) as producer:
            for number in range(MESSAGES):
                await producer.send_and_wait("crash", str(number).encode())
        await asyncio.to_thread(one.kill, 1)
        with pytest.raises(OSError):
            one.members()
        await asyncio.to_thread(one.start, 1)
        assert await everything(one, "crash", MESSAGES) == [str(number).encode() for number in range(MESSAGES)]

    async def test_two_members_of_a_group_share_the_partitions(self, one: broker.Brokers) -> None:
        await topic(one, "shared", partitions=4, copies=1)
        how = {
            "bootstrap_servers": one.bootstrap,
            "group_id": "g",
            "session_timeout_ms": 6000,
            "auto_offset_reset": "none",
        }
        async with AIOKafkaConsumer("shared", **how) as first, AIOKafkaConsumer("shared", **how) as second:
            end = time.monotonic() + ANSWER_SECONDS
            while {len(first.assignment()), len(second.assignment())} != {2}:
                assert time.monotonic() < end
                await asyncio.sleep(0.1)
            assert len(first.assignment() | second.assignment()) == 4


class TestThreeBrokers:
    def test_a_killed_node_is_missed_and_comes_back(self, three: broker.Brokers) -> None:
        assert three.members() == {1, 2, 3}
        three.kill(1)
        end = time.monotonic() + NOTICED_SECONDS
        while three.members() != {2, 3}:
            assert time.monotonic() < end
            time.sleep(0.2)
        three.start(1)
        assert three.members() == {1, 2, 3}

    async def test_what_was_acknowledged_outlives_the_leader(self, three: broker.Brokers) -> None:
        await topic(three, "failover", partitions=1, copies=3)
        async with AIOKafkaProducer(bootstrap_servers=three.bootstrap, acks="all", enable_idempotence=True) as producer:
            for number in range(MESSAGES):
                await producer.send_and_wait("failover", str(number).encode())
                if number == MESSAGES // 2:
                    leader = await leader_of(three, "failover")
                    await asyncio.to_thread(three.kill, leader)
            assert await leader_of(three, "failover") != leader
        assert await everything(three, "failover", MESSAGES) == [str(number).encode() for number in range(MESSAGES)]
        await asyncio.to_thread(three.start, leader)
        assert three.members() == {1, 2, 3}


class TestPostgres:
    def test_databases_are_empty_and_apart(self, server: postgres.Postgres) -> None:
        with server.database() as one, server.database() as other:
            server.sql("create table told (words text)", one)
            assert server.sql("select count(*) from pg_tables where schemaname = 'public'", other) == "0"
            assert server.sql("show server_encoding", one) == "UTF8"
            assert server.sql("show fsync") == "on"
        assert server.sql("select count(*) from pg_database where datname like 'test_%'") == "0"

    def test_what_was_committed_outlives_a_crash(self, server: postgres.Postgres) -> None:
        with server.database() as url:
            server.sql("create table told (words text); insert into told values ('I will pay')", url)
            server.kill()
            assert not server.answers()
            server.start()
            assert server.sql("select words from told", url) == "I will pay"
            assert server.process is not None
            assert "was not properly shut down" in server.process.log()

    def test_nobody_enters_without_the_password(self, server: postgres.Postgres) -> None:
        with pytest.raises(AssertionError, match="password"):
            server.sql("select 1", f"postgresql://postgres:wrong@127.0.0.1:{server.url.rsplit(':', 1)[1]}")

    def test_one_named_in_the_environment_is_taken_but_not_to_be_broken(
        self, server: postgres.Postgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(postgres.NAMED, server.url)
        found, way = postgres.started()
        assert found is not None
        assert way == "named in TEST_POSTGRES"
        found.close()
        assert server.answers(), "closing ends only what is ours"
        with pytest.raises(AssertionError, match="not ours to break"):
            found.kill()


class TestWithout:
    """On a machine that has nothing installed."""

    @pytest.fixture(autouse=True)
    def _bare(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        for name in ("JAVA_HOME", broker.NAMED, postgres.NAMED, "CI"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(postgres, "INSTALLED", ())

    def test_what_needs_a_broker_is_skipped_and_fails_in_ci(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(pytest.skip.Exception, match="no Java 17 or newer"), broker.running(tmp_path):
            pass
        monkeypatch.setenv("CI", "true")
        for wire in (False, True):
            with (
                pytest.raises(pytest.fail.Exception, match="CI requires a real Kafka broker"),
                broker.running(tmp_path, wire=wire),
            ):
                pass

    async def test_the_wire_is_tried_on_a_stand_in_that_says_what_it_is(self, tmp_path: Path) -> None:
        with broker.running(tmp_path, ours=True, wire=True) as brokers:
            assert brokers.members() == {1}
            assert brokers.make is not None
            await asyncio.to_thread(brokers.make, "told", 2)
            async with AIOKafkaProducer(bootstrap_servers=brokers.bootstrap, acks="all") as producer:
                for number in range(MESSAGES):
                    await producer.send_and_wait("told", str(number).encode(), partition=0)
            assert await everything(brokers, "told", MESSAGES) == [str(number).encode() for number in range(MESSAGES)]
            with pytest.raises(pytest.skip.Exception, match="librdkafka's stand-in has no three nodes"):
                broker.needs_real(brokers, "three nodes")
            brokers.pause(1)
            with pytest.raises(TimeoutError):
                brokers.members()
            brokers.resume(1)
            assert brokers.members() == {1}
        assert not brokers.nodes[1].running()

    def test_without_the_wheel_there_is_no_stand_in_either(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with (
            pytest.raises(pytest.skip.Exception, match="confluent-kafka is not installed"),
            broker.running(tmp_path, wire=True),
        ):
            pass

    def test_postgres_comes_out_of_the_wheel(self) -> None:
        with postgres.running() as server, server.database() as url:
            assert server.way == "wheel"
            server.sql("create table told (words text); insert into told values ('I will pay')", url)
            server.kill()
            server.start()
            assert server.sql("select words from told", url) == "I will pay"

    def test_what_needs_postgres_is_skipped_and_fails_in_ci(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(postgres, "WHEEL", "no_such_wheel")
        with pytest.raises(pytest.skip.Exception, match="the wheel no-such-wheel is not installed"), postgres.running():
            pass
        monkeypatch.setenv("CI", "true")
        with pytest.raises(pytest.fail.Exception, match="CI requires a real PostgreSQL"), postgres.running():
            pass


@contextlib.asynccontextmanager
async def asked(brokers: broker.Brokers) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=brokers.bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def topic(brokers: broker.Brokers, name: str, *, partitions: int, copies: int) -> None:
    async with asked(brokers) as admin:
        made = await admin.create_topics([NewTopic(name, partitions, copies)])
        assert [error for _, error, *_ in made.topic_errors] == [0], made


async def leader_of(brokers: broker.Brokers, name: str) -> int:
    async with asked(brokers) as admin:
        (told,) = await admin.describe_topics([name])
        return int(told["partitions"][0]["leader"])


async def everything(brokers: broker.Brokers, name: str, count: int) -> list[bytes]:
    """The values of a topic of one partition from its beginning, when so many have come."""
    at = TopicPartition(name, 0)
    async with AIOKafkaConsumer(bootstrap_servers=brokers.bootstrap, auto_offset_reset="none") as consumer:
        consumer.assign([at])
        await consumer.seek_to_beginning(at)
        values: list[bytes] = []
        end = time.monotonic() + ANSWER_SECONDS
        while len(values) < count:
            assert time.monotonic() < end, f"{len(values)} of {count} came"
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                values += [record.value for record in records]
        return values
