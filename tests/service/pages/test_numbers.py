"""Every number on every page leads to its cases, and there are as many of them; what is no count is on a short list with why."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from service import audit, modes
from service.live import ACTION, WHO
from service.proposer.rows import PROPOSAL
from tests.service.api import Api
from tests.service.embedded import TENANT
from tests.service.hooks.posting import Posting
from tests.service.pages.conftest import Browser, Enter
from tests.service.pages.test_signing import PLACES
from tests.service.watching.test_rollout import under

VOID = {"meta", "link", "br", "input", "img", "rect", "hr"}
NO_COUNTS = {
    "time": "a time",
    ".day": "a day",
    ".id": "a name: of a loan, of a conversation, of a model",
    ".name": "who, and of which version",
    ".detail": "what was done, in the words of whoever did it",
    ".span": "how long, and not how many",
    ".row": "of this row's case alone, which is linked in it",
    ".sum": "the sum of the lists that are named with it",
    ".refused": "of what was refused nothing is kept, so there is no case to show",
    "h1": "the day, or a conversation's name",
}
"""What may bear a digit outside of a link, and why."""
SHOWN_AS = {
    r"[A-Z]{3} -?[\d,.]+": "money of one borrower, who is linked in its row",
    r"0( \(.*\))?|\?": "none: there is no case",
}
FIELDS = ("textarea", "select", "input", "option", "script")
LISTS = (
    "/ops/promises?show=broken", "/ops/promises?show=ledger", "/ops/promises?show=week", "/ops/promises?show=overdue",
    "/ops/deliveries?show=repeats", "/ops/deliveries?show=conflicts", "/ops/resumes?today=true", "/ops/system/waiting",
    "/ops/system/answers", "/ops/hooks/unread", "/ops/resumes?ignored=true", "/ops/set-aside?status=open",
)  # fmt: skip
"""Besides the pages that have a place of their own. A borrower's own page is the case itself."""
NOT_ROWS = {
    r"/ops/borrowers/": "one borrower",
    r"/ops/deliveries$": "the sum of the lists that are on it",
    r"/ops/set-aside/\d+/retry": "a name: of what is tried again",
    r"/ops/hooks/\w+\?show=told": "things that were told: a body may tell several",
    r"/ops/promises.show=broken": "two lists on one page",
    r"/ops/audit.action": "of any day and channel: to be none at all",
    r"/ops/system/waiting": "of all lenders: the list has this one's",
    r".*next_elsewhere$": "days as well as cases",
}
"""Links whose number is not that of the rows they lead to, by a pattern of where they lead."""


@dataclass
class Link:
    """A link and what is read in it."""

    to: str
    text: str = ""


@dataclass
class Read(HTMLParser):
    """What a page says: its links, and what bears a digit outside of one."""

    stack: list[tuple[str, str]] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    loose: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self.links.append(Link(given.get("href") or ""))
        if tag not in VOID:
            self.stack.append((tag, given.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self.stack]
        if "main" not in tags or set(tags) & set(FIELDS):
            return
        if "a" in tags:
            self.links[-1].text += data
        elif re.search(r"\d", data) and not self._is_named(data):
            self.loose.append((" > ".join(f"{tag}.{names}" for tag, names in self.stack[-3:]), " ".join(data.split())))

    def _is_named(self, data: str) -> bool:
        marks = {mark for tag, names in self.stack for mark in (tag, *(f".{name}" for name in names.split()))}
        return bool(marks & NO_COUNTS.keys()) or any(re.fullmatch(shape, data.strip()) for shape in SHOWN_AS)


def read(page: str) -> Read:
    found = Read()
    found.feed(page)
    return found


async def rows(browser: Browser, path: str) -> int:
    """Of the list at this address, over all its pages."""
    count, here = 0, path
    while here:
        page = (await browser.get(here)).partition("<main")[2]
        count += page.rpartition('role="region"')[2].partition("<tbody>")[2].count("<tr")
        on = re.search(r'class="button" href="(\?[^"]*cursor=[^"]+)"', page)
        here = path.partition("?")[0] + on[1].replace("&amp;", "&") if on else ""
    return count


@pytest.fixture
async def busy(staged: Api) -> Api:
    """With something behind each number that the story leaves at none."""
    posting = Posting(staged)
    hook = await posting.hook("voice", "vapi")
    assert (
        await posting.raw(hook, json.dumps({"message": {"type": "status-update", "status": "ended"}}).encode())
    ).status == 200
    assert (await posting.raw(hook, b"{", headers={"x-vapi-signature": "forged"})).status == 401
    now = staged.now

    def put(conn):  # type: ignore[no-untyped-def]
        for place, (failure, model) in enumerate([(None, "m-1"), (None, "m-1"), ("timeout", "m-1"), (None, "m-2")]):
            conn.execute(
                PROPOSAL.insert().values(
                    tenant=TENANT, borrower_id=f"B-10{place + 1}", channel="voice", loan_id="LN-1", record_version=1,
                    flow_version="1", prompt_hash="x", model=model, proposed=None if failure else "dues", failure=failure,
                    why=None, asked_at=now - timedelta(minutes=place), latency_ms=40, raw=None,
                    expires_at=now + timedelta(days=7),
                )
            )  # fmt: skip
        audit.add(conn, audit.Line(TENANT, now, WHO, ACTION, "B-101", "voice context 2"))

    await staged.behind.database.write(put)
    for days, mode in ((30, "shadow"), (2, "enabled")):
        await modes.note(staged.behind.database, under(mode=mode), now - timedelta(days=days))
    return staged


async def test_every_number_is_in_a_link_or_on_the_list_of_those_that_count_nothing(busy: Api, enter: Enter) -> None:
    async with enter() as browser:
        loose = {
            (path, *found)
            for path in (*PLACES, *LISTS)
            if not path.startswith("/ops/borrowers/")
            for found in read(await browser.get(path)).loose
        }
    assert loose == set()


async def test_a_number_is_that_of_the_cases_it_leads_to(busy: Api, enter: Enter) -> None:
    async with enter() as browser:
        asked: dict[str, set[int]] = {}
        for path in (*PLACES, *LISTS):
            for link in read(await browser.get(path)).links:
                to = link.to if link.to.startswith("/") else path.partition("?")[0] + link.to
                told = re.match(r"\D*?(\d[\d,]*)(?![\d.,]*\w)", " ".join(link.text.split()))
                if told and "cursor=" not in to and not any(re.match(pattern, to) for pattern in NOT_ROWS):
                    asked.setdefault(to, set()).add(int(told[1].replace(",", "")))
        assert len(asked) > 40
        wrong = {to: (told, found) for to, told in asked.items() if told != {found := await rows(browser, to)}}
    assert wrong == {}
