"""The operations room in a real browser: by mouse, by keyboard, on a phone and without a script.

The browser is the machine's Chromium. Where there is none the tests are skipped and say so, but in CI that is a failure.
With `SCREENSHOTS_TO` set to a folder, every page is pictured there in light and dark (`docs/screenshots` is made so).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.service.pages.stage import Stage
from tests.together.room import client_of, lived_in, stage_of
from tests.together.service import Service

pytestmark = pytest.mark.process

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PLACES = {
    "overview": "/ops",
    "borrowers": "/ops/borrowers",
    "borrower": "/ops/borrowers/B-101",
    "borrower-on-hold": "/ops/borrowers/B-103",
    "promises": "/ops/promises?show=broken",
    "callbacks": "/ops/callbacks",
    "conversations": "/ops/conversations",
    "deliveries": "/ops/deliveries?show=repeats",
    "resumes": "/ops/resumes",
    "set-aside": "/ops/set-aside",
    "missing-reports": "/ops/missing-reports",
    "chats": "/ops/chats",
    "shadow": "/ops/shadow",
    "rollout": "/ops/rollout",
    "corrections": "/ops/corrections",
    "rollout-cases": "/ops/rollout/cases?channel=voice&period=0&measure=connected",
    "hooks": "/ops/hooks",
    "not-merged": "/ops/system/waiting",
    "answers": "/ops/system/answers",
    "system": "/ops/system",
    "audit": "/ops/audit",
    "asking": "/ops/borrowers/B-103/do/lift-hold?kind=dispute",
    "forgetting": "/ops/borrowers/B-101/forget",
    "withholding": "/ops/borrowers/B-101/withhold?event_id=whatsapp:wa-7:1",
    "judging": "/ops/borrowers/B-101/judge?event_id=whatsapp:wa-7:1",
}
PHONED = ("overview", "borrower", "promises", "hooks")
NASTY_PLACE = "/ops/borrowers/B-105"
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PICTURED_SCALE, PICTURED_PIXELS = 0.8, 2_000
"""A page that is longer is pictured from its top."""


@dataclass
class Room:
    """A service with the story told, a browser, and the key of somebody who may do everything."""

    service: Service
    browser: Browser
    key: str

    async def told(self, what: Callable[[Stage], Awaitable[None]]) -> None:
        """More of the story."""
        async with client_of(self.service, self.key) as client:
            await what(stage_of(client, "more"))

    def enter(self, **how: Any) -> tuple[BrowserContext, Page, list[str]]:
        """Somebody signed in by the door; what their browser complained of is gathered."""
        context = self.browser.new_context(base_url=self.service.url, **{"viewport": DESK, **how})
        page = context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda fault: wrong.append(str(fault)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(self.service.url) else wrong.append(asked.url))
        page.goto("/ops")
        page.get_by_label("Your key").fill(self.key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        return context, page, wrong


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium on this machine, and CI installs it")
        pytest.skip("there is no Chromium on this machine (its package is called chromium)")
    with lived_in(tmp_path_factory.mktemp("room")) as (service, key), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Room(service, browser, key)
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_by_everybody(room: Room, scheme: str) -> None:
    """axe: labels, landmarks, contrast, names of what can be pressed, in both palettes."""
    folder = Path(os.environ["SCREENSHOTS_TO"]) if "SCREENSHOTS_TO" in os.environ else None
    context, page, wrong = room.enter(color_scheme=scheme, device_scale_factor=1 if folder is None else PICTURED_SCALE)
    for name, path in PLACES.items():
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        found = Axe().run(page)
        told = [(v["id"], [node["html"][:160] for node in v["nodes"]]) for v in found.response["violations"]]
        assert told == [], (name, scheme)
        if folder is not None:
            page.goto(path)
            height = min(page.evaluate("document.documentElement.scrollHeight"), PICTURED_PIXELS)
            page.set_viewport_size({"width": DESK["width"], "height": max(height, 600)})
            page.screenshot(path=folder / f"{name}-{scheme}.png")
            page.set_viewport_size(DESK)  # type: ignore[arg-type]
    assert wrong == []
    context.close()


def test_every_page_fits_a_phone(room: Room) -> None:
    context, page, wrong = room.enter(viewport=PHONE, has_touch=True)
    for name, path in PLACES.items():
        page.goto(path)
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0, (name, over)
    if "SCREENSHOTS_TO" in os.environ:
        for name in PHONED:
            page.goto(PLACES[name])
            page.screenshot(path=Path(os.environ["SCREENSHOTS_TO"]) / f"{name}-phone.png")
    assert wrong == []
    context.close()


def test_whoever_follows_the_readme_gets_in(room: Room) -> None:
    """With the key that it makes, and with one that only reads."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    found = re.search(r"^borrower-memory (keys create .*--scopes ops.*)$", readme, re.MULTILINE)
    assert found is not None
    for scopes, acts in ((None, True), ("ops", False)):
        words = found[1].split()
        if scopes is not None:
            words[words.index("--scopes") + 1] = scopes
        made = room.service.command(*words)
        assert made.returncode == 0, made.stderr
        context, page, wrong = Room(room.service, room.browser, json.loads(made.stdout)["key"]).enter()
        page.goto("/ops/borrowers/B-102")
        expect(page.get_by_role("link", name="Link an identifier")).to_have_count(int(acts))
        expect(page.get_by_text("read only")).to_have_count(int(not acts))
        expect(page.get_by_role("link", name="Forget")).to_have_count(0)
        assert wrong == []
        context.close()


def test_by_keyboard_alone_one_comes_to_the_page_and_to_what_it_lists(room: Room) -> None:
    context, page, _ = room.enter()
    page.goto("/ops")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Promises due today, unpaid")).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "where one is can be seen"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Promises", exact=True)).to_be_visible()
    context.close()


def test_nothing_that_was_told_runs(room: Room) -> None:
    context, page, wrong = room.enter()
    for path in (NASTY_PLACE, "/ops/borrowers", "/ops/resumes", "/ops/conversations"):
        page.goto(path)
    page.goto(NASTY_PLACE)
    expect(page.get_by_text("<script>alert('x')</script>").first).to_be_visible()
    assert page.evaluate("document.querySelectorAll('main script').length") == 0
    assert wrong == []
    context.close()


def test_the_page_is_fresh_by_itself_and_leaves_alone_who_is_typing(room: Room) -> None:
    context, page, wrong = room.enter()
    page.clock.install()
    page.goto("/ops/borrowers/B-102")
    page.get_by_text("Each state, and what the floor says of it").first.click()
    headers = {"Authorization": f"Bearer {room.key}"}
    told = {"event_id": "fresh-1", "type": "hold.placed", "occurred_at": datetime.now(UTC).isoformat(), "borrower_id": "B-102",
            "kind": "represented", "reason": "a lawyer wrote"}  # fmt: skip
    assert httpx.post(f"{room.service.url}/v1/events", json=told, headers=headers, timeout=30).status_code == 200
    expect(page.get_by_text("On hold: represented.")).to_have_count(0)
    page.clock.run_for(31_000)
    expect(page.get_by_text("On hold: represented.")).to_be_visible()
    assert page.locator("details").evaluate_all("all => all.filter(one => one.open).length") == 1, (
        "what is open stays open"
    )
    assert wrong == []

    def refuse(route: Any) -> None:
        route.abort()

    page.route("**/ops/borrowers/B-102", refuse)
    page.clock.run_for(31_000)
    expect(page.get_by_text("This page is old")).to_be_visible()
    context.close()


def test_without_a_script_everything_can_be_done(room: Room) -> None:
    context, page, _ = room.enter(java_script_enabled=False)
    page.goto("/ops/borrowers/B-104")
    page.get_by_role("link", name="Link an identifier").click()
    page.get_by_label("Identifier").fill("kabir@example.com")
    page.get_by_label("Kind").select_option("email")
    page.get_by_role("button", name="Link it").click()
    expect(page.get_by_role("region", name="What happened").get_by_text("k•••@example.com")).to_be_visible()
    assert 'http-equiv="refresh"' in page.content()
    context.close()


def test_a_team_lead_walks_from_the_morning_to_one_borrower_and_lifts_a_hold(room: Room) -> None:
    context, page, wrong = room.enter()
    page.get_by_role("link", name="Calls without a report").click()
    page.get_by_role("link", name="B-103").click()
    expect(page.get_by_text("On hold: dispute.")).to_be_visible()
    page.get_by_role("link", name="Lift").click()
    page.get_by_label("Reason").fill("the bank corrected the instalment")
    page.get_by_role("button", name="Lift the hold").click()
    expect(page.get_by_role("heading", name="B-103")).to_be_visible()
    expect(page.get_by_text("On hold: dispute.")).to_have_count(0)
    expect(page.get_by_role("region", name="Done here by people").get_by_text("hold lifted")).to_be_visible()
    page.get_by_label("Find one borrower").fill("+91 90000 00101")
    page.get_by_role("button", name="Find").click()
    expect(page).to_have_url(f"{room.service.url}/ops/borrowers/B-101")
    expect(page.get_by_text("+91••••••01").first).to_be_visible()
    page.get_by_role("button", name="Show the numbers").click()
    expect(page.get_by_text("+919000000101")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your key")).to_be_visible()
    assert wrong == []
    context.close()


def test_a_sentence_is_withheld_and_struck_out_with_who_and_why(room: Room) -> None:
    context, page, wrong = room.enter()
    page.goto("/ops/borrowers/B-102")
    page.get_by_role("link", name="Withhold a sentence").first.click()
    page.get_by_label("Sentence").select_option(
        label="1: He says he paid on Thursday and will send the receipt. (shown)"
    )
    page.get_by_label("Reason").fill("he never said so")
    page.get_by_role("button", name="Withhold it").click()
    expect(page.get_by_role("region", name="What an agent reads").get_by_text("he never said so")).to_be_visible()
    expect(page.locator("s", has_text="He says he paid on Thursday")).to_be_visible()
    told = httpx.get(
        f"{room.service.url}/v1/borrowers/B-102/briefing", headers={"Authorization": f"Bearer {room.key}"}, timeout=30
    )
    assert "paid on Thursday and will send" not in told.json()["text"]
    page.get_by_role("link", name="Show it again").click()
    page.get_by_label("Reason").fill("the recording has it")
    page.get_by_role("button", name="Show it again").click()
    expect(page.locator("s")).to_have_count(0)
    assert wrong == []
    context.close()


def test_what_is_as_long_as_it_may_be_breaks_no_page(room: Room) -> None:
    """Told last, so that no picture has it."""
    with ThreadPoolExecutor(1) as beside:  # the browser has the loop of this thread
        beside.submit(asyncio.run, room.told(Stage.exhaust)).result()
    for how in ({"viewport": PHONE, "has_touch": True}, {}):
        context, page, wrong = room.enter(**how)
        for path in (f"/ops/borrowers/{'L' * 128}", *PLACES.values()):
            page.goto(path)
            over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert over <= 0, (path, over)
        assert wrong == []
        context.close()
