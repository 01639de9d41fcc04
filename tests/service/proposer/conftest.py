"""A proposer over the embedded service, beside a model whose answers a test chooses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import select

from service.models.asking import ModelFailed
from service.proposer.proposer import Proposer
from service.proposer.rows import PROPOSAL, WANTED
from tests.limits import PATIENCE_SECONDS
from tests.service.api import Answer, Api, Body, api
from tests.service.embedded import SECRETS
from tests.service.scripted import Says

MODEL = Says.name


def says(state: str) -> str:
    return json.dumps({"state": state, "reason": "she said so", "confidence": 0.9})


DOWN, SILENT = ModelFailed("unavailable", "down"), ModelFailed("timeout", "silent")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path, model=MODEL) as opened:
        yield opened


def proposer(service: Api, model: Says | None) -> Proposer:
    parts = service.parts
    return Proposer(
        parts.database, parts.policies, SECRETS, parts.reader, service.behind.clock, parts.proposals, model,
        CollectorRegistry(),
    )  # fmt: skip


async def settled(service: Api, seconds: float = 1.0) -> None:
    """What is wanted is noted, and due."""
    await service.parts.proposals.flush()
    service.behind.now += timedelta(seconds=seconds)


async def proposed(service: Api, model: Says) -> int:
    await settled(service)
    return await proposer(service, model).propose()


async def promised(service: Api, **own: Any) -> tuple[str, Body]:
    """Somebody verified who has proposed to pay: stands at confirmation on voice, at reminder on WhatsApp."""
    borrower, phone = await service.known()
    await service.told(borrower, hours=3, commitment=service.promise(), **own)
    return borrower, phone


async def stored(service: Api, borrower: str) -> dict[str, dict[str, Any]]:
    """By channel, what is stored of somebody without a loan."""
    its = select(PROPOSAL).where(PROPOSAL.c.borrower_id == borrower, PROPOSAL.c.loan_id == "")
    found = await service.behind.database.read(lambda c: c.execute(its).mappings().all())
    return {row["channel"]: dict(row) for row in found}


async def wanted(service: Api) -> list[dict[str, Any]]:
    found = await service.behind.database.read(lambda c: c.execute(select(WANTED)).mappings().all())
    return [dict(row) for row in found]


async def holding(value: bool) -> bool:
    return value


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():  # noqa: ASYNC110 (no event tells of what a model or a store has by now)
            await asyncio.sleep(0.002)


def why(answer: Answer) -> tuple[Any, ...]:
    return (answer["state"], answer["source"], answer["proposed"], answer["proposed_by"], answer["fallback"])
