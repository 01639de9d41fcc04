"""Poison, rows 16 and 17: of every kind one by one, and a flood of it that a broken release makes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from service.intake.log import partition_of
from tests.service.embedded import event, pending, stamped
from tests.together import broker, checker
from tests.together.faults.conftest import SETTLED_SECONDS, Field, altered
from tests.together.fleet import PARTITIONS, fleet
from tests.together.service import ago
from tests.together.stream import Ledger, Request

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

OWN = partition_of("acme", "B-1", PARTITIONS)
FLOOD = 120
"""More than the entries of a partition that a writer looks back on (100)."""


def _entry(event_id: str, text: str = "x", borrower: str = "B-1") -> bytes:
    """One that this service might have stamped: the fleet's key is that of the embedded tests."""
    body = event("fact.stated", event_id, borrower_id=borrower, kind="goal", text=text)
    return pending(stamped(body, borrower, datetime.now(UTC))).value


def _with(event_id: str, change: Callable[[dict[str, object]], None]) -> bytes:
    document = json.loads(_entry(event_id))
    change(document)
    return json.dumps(document).encode()


def _kinds() -> dict[str, tuple[bytes, bytes | None, int, str | None]]:
    """By name: key, value, partition, and under which id it has to be set aside (None: under its coordinates)."""
    key, elsewhere = b"acme|B-1", (OWN + 1) % PARTITIONS

    def body(document: dict[str, object], **fields: object) -> None:
        document["data"]["body"].update(fields)  # type: ignore[index]

    return {
        "nothing": (key, b"", OWN, None),
        "no value": (key, None, OWN, None),
        "not JSON": (key, b"not JSON", OWN, None),
        "bytes": (key, b"\x00\xff" * 40, OWN, None),
        "deep": (key, b"[" * 100_000, OWN, None),
        "1 MB": (key, b'"' + b"x" * 1_000_000 + b'"', OWN, None),
        "no event": (key, b'{"specversion": "1.0"}', OWN, None),
        "unknown version": (key, _with("p-v", lambda d: d["data"].update(v=99)), OWN, None),  # type: ignore[attr-defined]
        "unknown type": (key, _with("p-t", lambda d: d.update(type="borrower-memory.nonsense")), OWN, None),
        "wrong schema": (key, _with("p-s", lambda d: body(d, kind=7)), OWN, None),
        "a huge number": (key, _entry("p-n").replace(b'"x"', b"1" + b"0" * 400), OWN, None),
        "a surrogate": (key, _entry("p-u").replace(b'"x"', b'"\\ud800"'), OWN, None),
        "forged": (key, _with("p-f", lambda d: body(d, text="y")), OWN, "p-f"),
        "another tenant's key": (b"zeta|B-1", _entry("p-k"), OWN, "p-k"),
        "another's partition": (key, _entry("p-p"), elsewhere, "p-p"),
    }


def test_16_poison_of_every_kind_is_set_aside_once_and_holds_nobody_up(field: Field) -> None:
    with field.load(60):
        planted = asyncio.run(_plant(field))
    field.ledger.planted |= set(planted)
    began = time.monotonic()
    tables = field.proved(kinds=len(planted))
    assert time.monotonic() - began < SETTLED_SECONDS / 3
    aside = {row["event_id"]: row["detail"] for row in tables.aside if row["event_id"] in planted}
    assert len(aside) == len(_kinds())
    assert len(set(aside.values())) >= 5, "and each is told by its own reason"


async def _plant(field: Field) -> list[str]:
    async with AIOKafkaProducer(
        bootstrap_servers=field.fleet.kafka, max_request_size=4 << 20
    ) as producer:  # fmt: skip
        found = []
        for key, value, partition, event_id in _kinds().values():
            headers = [("event_id", event_id.encode())] if event_id else []
            at = await producer.send_and_wait(field.fleet.topic, value, key=key, partition=partition, headers=headers)
            found.append(event_id or f"{field.fleet.topic}/{at.partition}/{at.offset}")
        return found


def test_17_a_release_that_can_merge_nothing_stops_instead_of_setting_a_whole_topic_aside(
    tmp_path: Path, brokers: broker.Brokers, dsn: str, prefix: str
) -> None:
    """After one that can: it goes on from there, what was set aside is retried, and nothing is lost."""
    ledger = Ledger()
    with fleet(tmp_path, brokers.bootstrap, dsn, prefix, writers=0) as running, running.client() as client:
        broken = running.write(program=altered("refusing"))
        bodies = [
            {"event_id": f"e-{n}", "type": "fact.stated", "borrower_id": "B-1", "occurred_at": ago(minutes=n + 1),
             "kind": "goal", "text": f"goal {n}"}
            for n in range(FLOOD * 2)
        ]  # fmt: skip
        for n in range(0, len(bodies), 20):
            request = Request("/v1/events/batch", tuple(bodies[n : n + 20]))
            ledger.sending(request)
            answer = client.post(request.path, json=request.document)
            ledger.answered(request, answer.status_code, answer.json())
        until = time.monotonic() + SETTLED_SECONDS
        while "version that is broken" not in (told := httpx.get(f"{broken.url}/readyz", timeout=10).text):
            assert time.monotonic() < until, told
            time.sleep(0.1)
        aside = len(running.rows("SELECT 1 FROM set_aside"))
        assert 0 < aside < FLOOD * 2, "the rest was left in the log"
        broken.stop()
        running.write()
        running.merged_to_the_end(SETTLED_SECONDS)
        for row in running.rows("SELECT id FROM set_aside WHERE status = 'open'"):
            retried = client.post(f"/v1/ops/set-aside/{row['id']}/retry")
            assert retried.status_code in (200, 202), retried.text
        running.merged_to_the_end(SETTLED_SECONDS)
        assert not running.rows("SELECT 1 FROM set_aside WHERE status = 'open'")
        tables = running.tables()
        ledger.planted |= tables.kept_aside  # they were, before they could be merged
        assert len(tables.by_id) == FLOOD * 2
        # Of so many of one kind the record keeps the newest 64, so evidence of the others is let go (DESIGN 3).
        assert [fault for fault in checker.faults(tables, ledger) if not fault.startswith("evidence")] == []
