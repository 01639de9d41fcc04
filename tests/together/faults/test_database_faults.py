"""Faults of the database, rows 14, 15 and 20: away, slow, locked by others, full, opened twice. Spans are scaled down."""

from __future__ import annotations

import asyncio
import random
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import FIGURES
from tests.together import checker
from tests.together.faults.conftest import Field
from tests.together.fleet import WriterProcess
from tests.together.service import Service, running
from tests.together.stream import Clients, Ledger, requests

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

DOWN_SECONDS = 4.0
SLOW_SECONDS = 0.15
"""Before each message to the database; a save is some dozen."""
LOCKED_SECONDS = 6.0
"""Longer than a writer waits for a lock (4 s)."""
LARGEST_MIB = 400
FULL_SECONDS = 3.0


@pytest.mark.parametrize("way", ["in order", "by a crash"])
def test_14_a_database_that_was_away_leaves_no_poison_and_its_writers_go_on_by_themselves(
    field: Field, way: str
) -> None:
    writers = field.writers
    with field.load(100):
        time.sleep(0.3)
        field.server.stop() if way == "in order" else field.server.kill()
        time.sleep(DOWN_SECONDS)
        field.server.start()
    field.proved()
    assert all(writer.running() for writer in writers)


def test_14_backends_that_are_terminated_under_load_are_replaced(field: Field) -> None:
    with field.load(120):
        for _ in range(4):
            time.sleep(0.4)
            field.server.sql(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'borrower-memory'"
            )
    field.proved()
    assert all(writer.running() for writer in field.writers)


def test_15_a_slow_database_holds_the_writers_back_and_their_memory_stays_bounded(field: Field) -> None:
    with field.load(250):
        for writer in field.writers:
            field.ways[writer].delay_seconds = SLOW_SECONDS
        time.sleep(4)
        largest = max(map(_mib, field.writers))
        for writer in field.writers:
            field.ways[writer].delay_seconds = 0.0
    field.proved(largest_mib=largest)
    assert largest < LARGEST_MIB


def _mib(writer: WriterProcess) -> int:
    assert writer.process is not None
    status = Path(f"/proc/{writer.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) // 1024


def test_15_a_lock_that_somebody_else_holds_is_waited_for_and_tried_again(field: Field) -> None:
    waits = field.logged("writer_waits")
    held = threading.Thread(target=lambda: asyncio.run(_hold(field.fleet.dsn)))
    with field.load(80):
        held.start()
        held.join()
    field.proved(waited=field.logged("writer_waits") - waits)
    assert field.logged("writer_waits") > waits


async def _hold(dsn: str) -> None:
    """Every partition's row, as a foreign session that forgot to end its transaction."""
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            await connection.fetch("SELECT * FROM writer_partition FOR UPDATE")
            await asyncio.sleep(LOCKED_SECONDS)
    finally:
        await connection.close()


# -- the embedded one --------------------------------------------------------------------------------------------------


def test_20_on_a_full_disk_nothing_is_answered_2xx_that_is_not_durable_and_with_room_again_all_goes_on(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The process may not make any file longer than the database's log is now: every write fails as on a full disk."""
    ledger = Ledger()
    with running(tmp_path) as service:
        clients = _clients(service, ledger, 300)
        clients.start()
        while clients.taken < 100:
            time.sleep(0.01)
        assert service.process is not None
        pid = service.process.pid
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, most))
        time.sleep(FULL_SECONDS)
        refused = clients.taken
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        clients.join()
        _until_merged(service)
        assert service.stop() == 0
    tables = checker.of_file(tmp_path / "memory.db")
    record_property(FIGURES, {"taken when full": refused} | checker.figures(tables, ledger))
    assert refused < 300
    assert checker.faults(tables, ledger) == []


def _clients(service: Service, ledger: Ledger, posts: int) -> Clients:
    return Clients(requests(posts, random.Random(5)), lambda: service.url, service.key(), ledger, 4, 5)


def _until_merged(service: Service) -> None:
    until = time.monotonic() + 30
    with service.client() as client:
        while client.get("/v1/ops/stats").raise_for_status().json()["unmerged"]:
            assert time.monotonic() < until, "what was accepted is still not merged"
            time.sleep(0.05)


def test_20_a_second_process_on_the_embedded_database_refuses_to_start(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        told = service.command("serve")
        assert told.returncode == 1
        assert "only one serve at a time" in told.stderr
