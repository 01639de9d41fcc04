"""A model whose answers a test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.models.asking import Message, ModelFailed


class Says:
    """A model that says or fails as it is told, in turn, and then always as last; while `gate` is closed it is silent."""

    name = "scripted"

    def __init__(self, *said: str | ModelFailed) -> None:
        self.said = list(said)
        self.asked: list[str] = []
        self.there = self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        self.asked.append("\n".join(message.content for message in messages))
        self.there += 1
        self.most = max(self.most, self.there)
        try:
            await self.gate.wait()
        finally:
            self.there -= 1
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, ModelFailed):
            raise said
        return said

    async def close(self) -> None:
        self.gate.set()
