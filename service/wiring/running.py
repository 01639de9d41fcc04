"""What runs beside the routes and the writer, each within a block."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from service import modes
from service.chats.sweeper import Sweeper
from service.summariser import Summariser
from service.wiring import STOP_SECONDS, Parts, owner_name
from service.wiring.outside import model_of


@contextlib.asynccontextmanager
async def running(work: Coroutine[Any, Any, None], stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """It runs within the block. What it has in hand when its time to stop is over is let go: a row tells of it, and whoever
    comes next takes it up."""
    running = asyncio.create_task(work)
    try:
        yield
    finally:
        await stop()
        _, late = await asyncio.wait([running], timeout=STOP_SECONDS)
        for task in late:
            task.cancel()


@contextlib.asynccontextmanager
async def hooked(parts: Parts, *, alone: bool = False) -> AsyncIterator[None]:
    """The bodies of hooks are read within the block; `alone`: by no other process."""
    async with running(parts.hook_worker.run(alone=alone), parts.hook_worker.stop):
        yield


@contextlib.asynccontextmanager
async def corrected(parts: Parts) -> AsyncIterator[None]:
    """Corrections of decisions are kept at within the block."""
    corrections = parts.decisions.corrections
    try:
        async with running(corrections.run(), corrections.stop):
            yield
    finally:
        await parts.decisions.close()


@contextlib.asynccontextmanager
async def noted(parts: Parts) -> AsyncIterator[None]:
    """Switches of modes are noted within the block."""
    noting = asyncio.create_task(modes.keep_noting(parts.database, parts.policies, parts.clock))
    try:
        yield
    finally:
        noting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await noting


@contextlib.asynccontextmanager
async def swept(parts: Parts) -> AsyncIterator[Sweeper]:
    """A sweeper over these parts that runs within the block."""
    async with sweeper_of(parts) as sweeper:
        try:
            async with running(sweeper.run(), sweeper.stop):
                yield sweeper
        finally:
            await parts.chats.settle()


@contextlib.asynccontextmanager
async def sweeper_of(parts: Parts) -> AsyncIterator[Sweeper]:
    """A sweeper that is to be run, with the model of the settings."""
    model = model_of(parts.settings, parts.models.of("summariser"))
    try:
        yield Sweeper(parts, Summariser(model), f"{owner_name()}:{uuid.uuid4().hex[:8]}")
    finally:
        if model is not None:
            await model.close()
