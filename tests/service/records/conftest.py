"""An embedded service to look at, and a list read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from service.intake import envelope
from service.records import Page
from tests.service.conftest import Where
from tests.service.embedded import (
    PHONE,
    SECRETS,
    Embedded,
    embedded,
)

PROVISIONAL = envelope.provisional_id(SECRETS, "phone", PHONE)
BY_PHONE = {"identifier": {"kind": "phone", "value": PHONE}}


@pytest.fixture
async def service(where: Where) -> AsyncIterator[Embedded]:
    async with embedded(where()) as opened_:
        yield opened_


async def pages(service: Embedded, function: Any, *before: Any, limit: int) -> list[dict[str, Any]]:
    """All items, page by page."""
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        page: Page = await service.look(function, *before, limit, cursor)
        assert len(page.items) <= limit
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items
