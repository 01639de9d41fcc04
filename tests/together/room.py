"""A service with a day behind it, for whoever looks at the operations room from outside: the story, what vendors brought, a mode
that was switched, decisions that changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx

from tests.service.pages.stage import Body, Stage
from tests.service.pages.traffic import CHANNELS, traffic
from tests.together.service import ALL_SCOPES, ALWAYS, Service
from tests.vendors import SECRET

READ_SECONDS = 60


@contextlib.contextmanager
def lived_in(folder: Path) -> Iterator[tuple[Service, str]]:
    """It runs; and a key of somebody who may do everything."""
    service = Service(folder, policy=ALWAYS + 'mode = "shadow"\n')
    made = service.command("keys", "create", "--tenant", "acme", "--scopes", ALL_SCOPES, "--name", "asha")
    key: str = json.loads(made.stdout)["key"]
    try:
        service.start()  # the tenant is there already, so its mode is noted
        asyncio.run(_looked_on(service, key))
        service.stop()
        (folder / "policy.toml").write_text(ALWAYS + 'mode = "enabled"\n')
        service.start()
        asyncio.run(_played(service, key, {vendor: _hook(service, vendor) for vendor in CHANNELS}))
        yield service, key
    finally:
        service.stop()


def _hook(service: Service, vendor: str) -> str:
    """The path of a new one."""
    words = ["hooks", "create", "--tenant", "acme", "--channel", CHANNELS[vendor], "--vendor", vendor]
    words += ["--verify-token", "t-1"] if vendor == "meta" else []
    done = subprocess.run(
        [sys.executable, "-m", "service", *words],
        env=service.env, cwd=service.folder, capture_output=True, text=True, timeout=60, check=True, input=SECRET + "\n",
    )  # fmt: skip
    path: str = json.loads(done.stdout)["path"]
    return path


def client_of(service: Service, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=service.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def stage_of(client: httpx.AsyncClient, name: str) -> Stage:
    async def post(path: str, body: Body) -> Body:
        answered: Body = (await client.post(path, json=body)).json()
        return answered

    return Stage(post, datetime.now(UTC), name)


async def _looked_on(service: Service, key: str) -> None:
    async with client_of(service, key) as client:
        await stage_of(client, "before").look_on()


async def _played(service: Service, key: str, hooks: dict[str, str]) -> None:
    async with client_of(service, key) as client, httpx.AsyncClient(base_url=service.url, timeout=60) as vendors:
        stage = stage_of(client, "e")
        await stage.play()
        await stage.decide()

        async def bring(vendor: str, body: bytes, headers: dict[str, str]) -> int:
            sent = headers | {"content-type": "application/json"}
            return (await vendors.post(hooks[vendor], content=body, headers=sent)).status_code

        await traffic(bring, datetime.now(UTC))
        async with asyncio.timeout(READ_SECONDS):
            while not await _is_settled(client):  # noqa: ASYNC110 (no event tells of another process)
                await asyncio.sleep(0.1)


async def _is_settled(client: httpx.AsyncClient) -> bool:
    """Whether everything that was accepted is read and merged."""
    stats = (await client.get("/v1/ops/stats")).json()
    gauges = (await client.get("/metrics")).text
    return stats["unmerged"] == 0 and "borrower_memory_hook_bodies_unread 0.0" in gauges
