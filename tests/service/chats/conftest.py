"""Chats of the embedded service, a sweeper of them, and what is told of its borrower then."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from service.chats.sweeper import Sweeper
from service.models.asking import Model
from service.summariser import Summariser
from tests.service.api import Api, Body, api

TERMS = ("promise_id", "amount", "currency", "due_date", "at", "status", "outcome", "replaced_by")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as opened:
        yield opened


def sweeper(service: Api, owner: str = "one", model: Model | None = None) -> Sweeper:
    service.parts.registry = CollectorRegistry()
    return Sweeper(service.parts, Summariser(model), owner)


def answer(summary: str, **fields: Any) -> str:
    return json.dumps({"summary": summary, **fields})


async def line(
    service: Api, borrower: str | None, text: str, minutes: float = 60, speaker: str = "borrower", **own: Any
) -> None:
    told = {"channel": "whatsapp", "conversation_id": "c-1", "message_id": service.name("m"), "speaker": speaker}
    posted = await service.event("conversation.message", borrower, hours=minutes / 60, **{**told, "text": text, **own})
    assert posted.status == 200, posted.document


async def settled(service: Api) -> None:
    """What was just told is waited for a moment."""
    service.behind.now += timedelta(seconds=5)


async def told(service: Api, borrower: str) -> list[dict[str, Any]]:
    items = (await service.get(f"/v1/borrowers/{borrower}/timeline")).document["items"]
    return [item for item in items if item["kind"] == "conversation"]


async def swept(service: Api) -> None:
    await settled(service)
    await sweeper(service).sweep()


async def revoked(service: Api, message: str = "m-1", text: str = "-") -> None:
    await line(service, "B-1", text, minutes=20, message_id=message, deleted=True)
    await swept(service)


async def promises(service: Api) -> list[Body]:
    """Every promise there is of the borrower, in every loan: the one in force, those beside it, those that ended."""
    found = []
    for loan in ("", "?loan_id=LN-1"):
        answer = await service.get(f"/v1/borrowers/B-1{loan}")
        if answer.status == 200:
            current = answer["commitment"]
            every = [*([current] if current else []), *answer["counter_proposals"], *answer["history"]]
            found += [{name: one.get(name) for name in TERMS} for one in every]
    return found
