"""A worker as a process of its own: what its end looks like from outside."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry

from service import settings
from service.settings import PREFIX, Settings
from service.working import work_until_stopped


class Around:
    def __init__(self, given: Settings) -> None:
        self.settings = given
        self.registry = CollectorRegistry()

    async def checks(self) -> dict[str, str]:
        return {"database": "ok"}


class Works:
    """Until told; `seconds` is what it has in hand then, and `fault` what ends it by itself."""

    def __init__(self, seconds: float = 0, fault: Exception | None = None) -> None:
        self.told = asyncio.Event()
        self.seconds = seconds
        self.fault = fault
        self.finished = False

    async def run(self) -> None:
        if self.fault is not None:
            raise self.fault
        await self.told.wait()
        await asyncio.sleep(self.seconds)
        self.finished = True

    async def stop(self) -> None:
        self.told.set()

    def health(self) -> str:
        return "ok"


@pytest.fixture
def around(tmp_path: Path) -> Around:
    return Around(settings.load({f"{PREFIX}METRICS_PORT": "0"}, directory=tmp_path))


async def test_a_workers_own_fault_ends_the_process_with_it(around: Around) -> None:
    with pytest.raises(RuntimeError, match="a fault"):
        await work_until_stopped("worker", Works(fault=RuntimeError("a fault")), around, lambda url: None)


@pytest.mark.parametrize(
    ("stop_seconds", "finished"), [(None, True), (0.05, False), (5.0, True)], ids=["no limit", "too short", "enough"]
)
async def test_what_is_in_hand_is_finished_within_the_limit_or_let_go(
    around: Around, stop_seconds: float | None, finished: bool
) -> None:
    worker = Works(seconds=0.3)
    loop = asyncio.get_running_loop()

    def listening(url: str) -> None:
        loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)

    await work_until_stopped("worker", worker, around, listening, stop_seconds=stop_seconds)
    assert worker.finished is finished


async def test_it_tells_how_it_is_and_what_it_holds(around: Around) -> None:
    worker, urls = Works(), asyncio.Queue[str]()
    running = asyncio.create_task(
        work_until_stopped("worker", worker, around, urls.put_nowait, holds=lambda: {"partitions": [1, 2]})
    )
    url = await urls.get()
    async with httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok", "partitions": [1, 2]}
        assert (await client.get("/readyz")).json()["checks"] == {"database": "ok", "worker": "ok"}
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert worker.finished
