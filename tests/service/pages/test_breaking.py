"""Whoever tries to break the room: every address with what does not belong there, every list with another's place, every form
from elsewhere. Which addresses there are is asked of the application, so that a new one is tried too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute

from service.pages.room import ROUTERS
from tests.service.api import Api
from tests.service.pages.conftest import Browser, Enter
from tests.service.pages.stage import NASTY
from tests.service.pages.test_actions import READING
from tests.service.pages.test_numbers import busy

__all__ = ["busy"]

PARTS = {"borrower_id": "B-101", "action": "link", "id": "1", "name": "0" * 16}
"""Of an address, what stands for something that there is."""
AT_THE_DOOR = ("/ops/sign-in", "/ops/ops.css", "/ops/ops.js", "/ops/mark.svg")
STRANGE = (
    "..", "%00", "%2e%2e%2f", "~", "~phone:0", "B-101%0a", "a" * 3_000, quote(NASTY, safe=""), quote("बी-101"), "%ff",
    "'%20OR%201=1--", "B-101%20",
)  # fmt: skip
VALUES = ("", "x", "-1", "0", "9" * 40, "true", "2026-02-30", "0000-00-00", "=1+1", "\0", "é" * 300, NASTY, "z" * 4_000)
FILTERS = (
    "stage", "rung", "promise_due_from", "promise_due_to", "overdue", "reminded", "hold", "last_channel", "show", "day",
    "today", "since", "until", "crossed", "borrower_id", "channel", "agent", "as_proposed", "degraded", "rule", "fallback",
    "ignored", "entered", "unnamed", "shadow", "differs", "granted", "status", "vendor", "reason", "delivery", "action",
    "period", "measure", "model", "failure", "partition", "loan_id", "cursor", "form", "limit",
)  # fmt: skip


def routes(method: str) -> Iterator[str]:
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute) and method in (route.methods or ()) and route.path not in AT_THE_DOOR:
                yield route.path


def filled(path: str, **parts: str) -> str:
    return re.sub(r"{(\w+)}", lambda found: (PARTS | parts)[found[1]], path)


async def tried(browser: Browser, path: str) -> int:
    """Asked for; nothing may fail, run as a script, or be told without an explanation."""
    browser.last = await browser.client.get(path)
    status = browser.last.status_code
    assert status in (200, 404, 409, 422), (path, status, browser.last.text[-300:])
    if browser.last.headers.get("content-type", "").startswith("text/html"):
        assert "<script>" not in browser.last.text
        assert browser.last.headers["content-security-policy"].startswith("default-src 'none'")
    return status


LISTS = [path for path in routes("GET") if "{" not in path]


async def test_nobody_gets_past_the_door_by_any_address(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        browser.client.cookies.clear()
        for method in ("GET", "POST"):
            for path in routes(method):
                answer = await browser.client.request(method, filled(path), follow_redirects=False)
                assert answer.status_code == 303, path
                assert answer.headers["location"].startswith("/ops/sign-in")
                assert answer.text == ""


async def test_every_form_needs_the_sessions_own_word(staged: Api, enter: Enter) -> None:
    async with enter() as browser, enter(name="ravi") as other:
        await other.get("/ops")
        for path in routes("POST"):
            for form in ({}, {"token": ""}, {"token": "é"}, {"token": other.token()}, {"token": "a" * 5_000}):
                answer = await browser.client.post(filled(path), data=form)
                assert answer.status_code == 403, (path, form)
                assert "not one of ours" in answer.text


async def test_who_only_reads_can_do_nothing_by_any_form(staged: Api, enter: Enter) -> None:
    async with enter(READING) as browser:
        await browser.get("/ops")
        for path in routes("POST"):
            if path in ("/ops/search", "/ops/sign-out") or path.endswith("/reveal"):
                continue
            answer = await browser.client.post(filled(path), data={"token": browser.token()})
            assert answer.status_code == 403, path
            assert "Your key may not do this" in answer.text


async def test_what_is_another_tenants_is_not_there_at_any_address(staged: Api, enter: Enter) -> None:
    async with enter(tenant="globex") as browser:
        await browser.get("/ops")
        token = browser.token()
        for method in ("GET", "POST"):
            for path in routes(method):
                if "{" in path:
                    answer = await browser.client.request(
                        method, filled(path), data={"token": token} if method == "POST" else None
                    )
                    assert answer.status_code in (404, 405, 409), (method, path, answer.status_code)
                    assert "12,500" not in answer.text
        for path in LISTS:
            for asked in ("?borrower_id=B-101", "?form=csv", ""):
                await browser.client.get(path + asked)
                assert "call-3" not in browser.last.text


@pytest.mark.parametrize("path", [path for path in routes("GET") if "{" in path])
async def test_what_can_be_no_id_is_not_found(staged: Api, enter: Enter, path: str) -> None:
    async with enter() as browser:
        for name in re.findall(r"{(\w+)}", path):
            for strange in STRANGE:
                await tried(browser, filled(path, **{name: strange}))


@pytest.mark.thorough
@pytest.mark.parametrize("turn", range(2))
async def test_a_list_names_what_is_asked_of_it_wrongly(busy: Api, enter: Enter, turn: int) -> None:
    """Each filter of every list with one strange value after the other, which are others for each list."""
    async with enter() as browser:
        for place, path in enumerate(LISTS):
            for number, name in enumerate(FILTERS):
                if number % 2 == turn:
                    value = VALUES[(place + number) % len(VALUES)]
                    assert await tried(browser, f"{path}?{name}={quote(value, safe='')}") in (200, 422)
                    if browser.last.status_code == 422:
                        assert re.search(r"<li>\w+: ", browser.last.text)
            assert await tried(browser, f"{path}?colour=red") == 422, f"{path}: a filter that there is not is none"


async def test_a_place_in_one_list_fails_no_other(house: Api, enter: Enter) -> None:
    for n in range(60):
        await house.told(f"B-{n:03d}", commitment=house.promise(days=0))
    async with enter() as browser:
        cursors = set()
        for path in (
            *LISTS,
            "/ops/promises?show=today",
            "/ops/rollout/cases?channel=voice&period=0&measure=cold",
            "/ops/borrowers/B-001",
        ):
            await browser.client.get(path)
            cursors |= set(re.findall(r"cursor=([\w-]+)", (await browser.client.get(path)).text))
        assert len(cursors) >= 4
        for path in LISTS:
            for cursor in cursors:
                for form in ("", "&form=csv"):
                    await tried(browser, f"{path}?cursor={cursor}{form}")
