"""The service as it runs on many machines: an API, writers and a migrated PostgreSQL over a real Kafka, as processes.

What the checker looks at comes from PostgreSQL and the topic, read by their own clients and not through the service.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from tests.together.checker import Announced, Place, Tables
from tests.together.service import START_SECONDS, Service

SESSION_SECONDS = 3
PARTITIONS = 4
KEYS = base64.urlsafe_b64encode(b"k" * 32).decode()
READ_SECONDS = 60


class WriterProcess:
    """One `writer` process."""

    def __init__(self, fleet: Fleet, name: str, *, env: Mapping[str, str], program: Sequence[str]) -> None:
        self.path = fleet.folder / f"{name}.log"
        self.env = fleet.env | dict(env)
        self.folder = fleet.folder
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> WriterProcess:
        seen = self.path.stat().st_size if self.path.exists() else 0
        with self.path.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, "writer"], env=self.env, cwd=self.folder, stdout=out, stderr=out
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            told = self.log()[seen:]
            if found := re.search(r"listening on (http://\S+)", told):
                self.url = found[1]
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the writer did not start: {self.log()[-3000:]}")

    def log(self) -> str:
        return self.path.read_text(errors="replace")

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def partitions(self) -> set[int]:
        """Those that it says it has."""
        return set(httpx.get(f"{self.url}/healthz", timeout=10).json()["partitions"])

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(40)


class Fleet(Service):
    """An API whose writers are processes of their own."""

    def __init__(self, folder: Path, kafka: str, dsn: str, prefix: str = "bm") -> None:
        super().__init__(
            folder,
            env={
                "BORROWER_MEMORY_DATABASE_URL": dsn,
                "BORROWER_MEMORY_KAFKA_BOOTSTRAP_SERVERS": kafka,
                "BORROWER_MEMORY_KAFKA_TOPIC_PREFIX": prefix,
                "BORROWER_MEMORY_KAFKA_PARTITIONS": str(PARTITIONS),
                "BORROWER_MEMORY_KAFKA_SESSION_SECONDS": str(SESSION_SECONDS),
                "BORROWER_MEMORY_SECRET_KEYS": KEYS,
                "BORROWER_MEMORY_METRICS_PORT": "0",
            },
        )
        self.kafka, self.dsn, self.topic, self.changes = kafka, dsn, f"{prefix}.intake", f"{prefix}.changes"
        self.writers: list[WriterProcess] = []

    def migrate(self) -> str:
        made = self.command("migrate")
        assert made.returncode == 0, made.stderr
        return made.stdout

    def write(
        self, *, env: Mapping[str, str] | None = None, program: Sequence[str] = ("-m", "service")
    ) -> WriterProcess:
        """One more writer; with another environment, or run by another program that is given the same arguments."""
        writer = WriterProcess(self, f"writer-{len(self.writers) + 1}", env=env or {}, program=program)
        self.writers.append(writer)
        return writer.start()

    def close(self) -> None:
        for writer in self.writers:
            if writer.running():
                writer.send(signal.SIGCONT)
                writer.stop(signal.SIGKILL)
        self.kill()

    def merged_to_the_end(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self.client() as client:
            while True:
                answer = client.get("/v1/ops/stats").raise_for_status().json()
                if not answer["unmerged"] and not self.rows("SELECT 1 FROM outbox LIMIT 1"):
                    return
                assert time.monotonic() < end, f"what was accepted is still not merged: {answer}"
                time.sleep(0.1)

    def rows(self, statement: str) -> list[Any]:
        return asyncio.run(_rows(self.dsn, statement))

    def entries(self, topic: str | None = None) -> list[Any]:
        """All that stands in a topic, in the order of each partition."""
        return asyncio.run(_entries(self.kafka, topic or self.topic))

    def tables(self) -> Tables:
        return _tables(self)


@contextlib.contextmanager
def fleet(folder: Path, kafka: str, dsn: str, prefix: str = "bm", writers: int = 1) -> Iterator[Fleet]:
    """Migrated and started; all of it is ended with the block."""
    one = Fleet(folder, kafka, dsn, prefix)
    try:
        one.migrate()
        for _ in range(writers):
            one.write()
        one.start()
        yield one
    finally:
        one.close()


def _tables(fleet: Fleet) -> Tables:
    """All rows that matter, as the checker knows them, from PostgreSQL and the topics."""

    def rows(table: str) -> list[dict[str, Any]]:
        return [{k: _text(v) for k, v in row.items()} for row in fleet.rows(f"SELECT * FROM {table}")]

    log, ends = [], dict.fromkeys(range(PARTITIONS), 0)
    for entry in fleet.entries():
        told = dict(entry.headers).get("event_id", b"").decode()
        log.append(Place(entry.partition, entry.offset, told or f"{fleet.topic}/{entry.partition}/{entry.offset}"))
        ends[entry.partition] = max(ends[entry.partition], entry.offset + 1)
    announced = []
    for entry in fleet.entries(fleet.changes):
        change = json.loads(entry.value)
        data = change["data"]
        tenant = change["source"].rpartition("/")[2]
        announced.append(Announced(tenant, data["borrower_id"], data["record_version"], data["rung"]))
    return Tables(rows, log, ends, announced)


def _text(value: Any) -> Any:
    """Times as the checker compares them: texts of one form."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime) else value


async def _rows(dsn: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(statement))
    finally:
        await connection.close()


async def _entries(kafka: str, topic: str) -> list[Any]:
    async with AIOKafkaConsumer(bootstrap_servers=kafka, auto_offset_reset="none") as consumer:
        await consumer._client.force_metadata_update()
        places = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        consumer.assign(places)
        for place in places:
            consumer.seek(place, 0)
        ends = await consumer.end_offsets(places)
        found: list[Any] = []
        end = time.monotonic() + READ_SECONDS
        while len(found) < sum(ends.values()):
            assert time.monotonic() < end, "the topic could not be read"
            for records in (await consumer.getmany(timeout_ms=500)).values():
                found += records
        return found
