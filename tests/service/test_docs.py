"""The page of the calls works where nothing outside can be reached, and its policy allows it nothing outside."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from tests.service.api import api


@pytest.fixture
async def anybody(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Without a key."""
    async with api(tmp_path) as service:
        del service.client.headers["Authorization"]
        yield service.client


def policy_of(answer: httpx.Response) -> dict[str, list[str]]:
    return {
        words[0]: words[1:] for part in answer.headers["Content-Security-Policy"].split(";") if (words := part.split())
    }


async def test_the_page_and_all_it_loads_come_from_here(anybody: httpx.AsyncClient) -> None:
    page = await anybody.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    loaded = re.findall(r'(?:src|href|data-document)="([^"]+)"', page.text)
    assert len(loaded) >= 5
    for link in loaded:
        assert not re.match(r"[a-z]+:|//", link), "a part of the page is outside"
        part = await anybody.get(urljoin("/docs", link))
        assert (part.status_code, len(part.content) > 0) == (200, True), link
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page.text, re.DOTALL)
    assert scripts
    assert all("src=" in attributes and not body for attributes, body in scripts)
    assert "style=" not in page.text
    assert "<style" not in page.text


async def test_the_policy_of_the_page_lets_nothing_in_from_outside_or_inline(anybody: httpx.AsyncClient) -> None:
    policy = policy_of(await anybody.get("/docs"))
    assert policy["default-src"] == ["'none'"]
    assert {source for name, sources in policy.items() if name.endswith("-src") for source in sources} <= {
        "'none'",
        "'self'",
        "data:",
    }
    assert "data:" not in policy["script-src"]
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == ["'none'"]


async def test_nothing_tells_the_page_to_have_its_document_judged_elsewhere(anybody: httpx.AsyncClient) -> None:
    start = (await anybody.get("/docs/start.js")).text
    assert "validatorUrl: null" in start
    assert "http" not in start


async def test_the_bare_address_leads_to_the_page(anybody: httpx.AsyncClient) -> None:
    bare = await anybody.get("/")
    assert (bare.status_code, urljoin("/", bare.headers["location"])) == (307, "/docs")
    assert (await anybody.get("/docs/nothing.js")).status_code == 404


async def test_every_call_that_needs_a_key_says_so_and_how_it_is_given(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        document = (await service.get("/openapi.json")).document
        schemes = document["components"]["securitySchemes"]
        assert schemes == {"bearer": {"type": "http", "scheme": "bearer"}}
        for path, calls in document["paths"].items():
            for call in calls.values():
                assert ("security" in call) == path.startswith("/v1/"), path
                assert all(set(needed) <= set(schemes) for needed in call.get("security", []))
        assert not any(path.startswith("/docs") or path == "/" for path in document["paths"])
