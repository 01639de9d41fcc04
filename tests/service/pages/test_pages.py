"""What the pages say of the story that was told, and that they say it safely."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape

import pytest

from service.pages.drawing import hide, mask, money
from service.pages.tables import cell
from tests.service.api import Api
from tests.service.hooks.posting import Posting
from tests.service.pages.conftest import Browser, Enter
from tests.service.pages.test_signing import PLACES
from tests.service.pages.traffic import CHANNELS, traffic


def words_of(page: str) -> str:
    """The page as it is read."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


async def test_the_morning_is_asked_in_its_order(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = await browser.get("/ops")
    asked = re.findall(r'<span class="count">(\d+)</span><span class="what">([^<]+)', page)
    assert asked == [
        ("1", "Promises due today, unpaid"),
        ("1", "Broken or overdue since yesterday"),
        ("1", "Callbacks asked for, today"),
        ("1", "Calls without a report"),
        ("1", "Resumes ignored today"),
        ("1", "Set aside"),
    ]


async def rows_behind(browser: Browser, path: str) -> int:
    """How many rows the list at this address has."""
    return (await browser.get(path)).partition("<tbody>")[2].count("<tr")


async def test_five_deliveries_are_one_conversation(house: Api, enter: Enter) -> None:
    """AC-73."""
    told = {"channel": "voice", "conversation_id": "k-1", "ended_at": house.ago(hours=1), "borrower_id": "B-1"}
    for _ in range(5):
        await house.post("/v1/summaries", told)
    happened = {
        "event_id": "e-1", "type": "reminder.sent", "occurred_at": house.ago(hours=1), "borrower_id": "B-1",
        "channel": "voice", "message_id": "m-1", "outcome": "sent",
    }  # fmt: skip
    for _ in range(3):
        await house.post("/v1/events", happened)
    async with enter() as browser:
        page = words_of(await browser.get("/ops"))
        assert "1 conversation, 1 event" in page.replace(" ,", ",")
        assert "8 deliveries, 6 repeats" in page.replace(" ,", ",")
        page = words_of(await browser.get("/ops/deliveries"))
        came = "8 came in: 2 merged, 6 that were here already, 0 in conflict with what was, 0 set aside"
        assert came in page.replace(" ,", ",")
        assert await rows_behind(browser, "/ops/deliveries?show=merged") == 2
        assert await rows_behind(browser, "/ops/deliveries?show=events") == 1
        assert await rows_behind(browser, "/ops/deliveries?show=repeats") == 6
        assert await rows_behind(browser, "/ops/conversations") == 1


async def test_fallbacks_and_refusals_are_counted_and_lead_to_their_cases(staged: Api, enter: Enter) -> None:
    """AC-74."""
    async with enter() as browser:
        page = await browser.get("/ops")
        bar = r'href="(/ops/resumes\?[^"]+)"><span class="bar-name">.*?<span class="bar-count">(\d+)'
        links = re.findall(bar, page, re.DOTALL)
        assert ("/ops/resumes?today=true&amp;rule=unknown_state", "1") in links
        links += re.findall(r'href="(/ops/resumes\?today=true[^"]+)">(?:<b[^>]*>)?(\d+)', page)
        assert {"as_proposed", "crossed"} <= {link.rpartition("=true")[0].rpartition("amp;")[2] for link, _ in links}
        for link, count in links:
            assert await rows_behind(browser, unescape(link)) == int(count), link


async def test_an_ignored_start_is_listed_with_its_channel_and_agent(staged: Api, enter: Enter) -> None:
    """AC-76."""
    async with enter() as browser:
        page = words_of(await browser.get("/ops/resumes?ignored=true"))
        assert "B-102 WhatsApp outbound negotiation" in page
        assert "wa-agent 3.1" in page
        assert "wa-agent 3.1 1 1" in words_of(await browser.get("/ops/shadow"))


async def test_a_call_without_a_report_is_listed_with_its_age(staged: Api, enter: Enter) -> None:
    """AC-22."""
    async with enter() as browser:
        assert "call-33 B-103 Voice" in words_of(await browser.get("/ops/missing-reports"))
        assert "1 day" in words_of(browser.last.text)
        assert "Reports missing" in await browser.get("/ops/borrowers/B-103")


async def test_one_borrower_tells_the_whole_story(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = words_of(await browser.get("/ops/borrowers/B-101"))
    for told in (
        "INR 12,500 outstanding", "confirmed INR 12,500", "Asked to be called", "call me at six", "reminded : yes",
        "payment link shared : no", "may be contacted now", "payment method UPI from her own account stated",
        "preferred contact time after six in the evening inferred", "cycle opened", "identity verified",
        "started in confirmation", "wa-agent 3.2",
    ):  # fmt: skip
        assert told in page, told
    assert "balance" in page.partition("Withheld")[2].partition("Time line")[0], "what was withheld, and by which rule"


async def test_each_rule_of_the_floor_says_its_verdict(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        held = words_of(await browser.get("/ops/borrowers/B-103"))
        assert "nowhere" in held
        assert "on hold a hold is in force" in held
        ahead = words_of(await browser.get("/ops/borrowers/B-102"))
        assert "too far ahead" in ahead


async def test_nothing_that_was_told_runs_as_a_script(staged: Api, enter: Enter) -> None:
    async with enter(name="<b onclick=x>") as browser:
        for path in (*PLACES, "/ops/audit?borrower_id=B-105", "/ops/borrowers/B-105"):
            page = await browser.get(path)
            assert "<script>" not in page
            assert "<b onclick" not in page
        assert "49" not in page.partition("She wrote")[2][:120], "what is written is no template"
        assert page.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") >= 6


async def test_numbers_are_masked_until_somebody_asks_which_is_kept(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = await browser.get("/ops/borrowers/B-101")
        assert "9000000101" not in page.replace(" ", "")
        assert "+91••••••01" in page
        shown = await browser.post("/ops/borrowers/B-101/reveal", token=browser.token())
        assert "+919000000101" in shown
        assert "data-refresh" not in shown, "what answered a form is not asked for again by itself"
        audit = words_of(await browser.get("/ops/audit?borrower_id=B-101"))
        assert "asha numbers revealed B-101 phone" in audit


async def test_no_page_shows_a_number_that_was_not_asked_for(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        for path in PLACES:
            page = re.sub(r"[\s().-]", "", await browser.get(path))
            assert "90000001" not in page, path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("call +91 90000 00101 now", "call +91••••••01 now"),
        ("09000000101", "••••••01"),
        ("she pays 12,500 by 2026-12-05", "she pays 12,500 by 2026-12-05"),
        ("INR 1250000", "INR 1250000"),
        ("asha@example.com said", "a•••@example.com said"),
        ("1,25,00,000 rupees", "1,25,00,000 rupees"),
    ],
)
def test_numbers_in_texts_are_masked_and_amounts_are_not(text: str, shown: str) -> None:
    assert hide(text) == shown


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [("+919000000101", "phone", "+91••••••01"), ("12", "crm", "••••••"), ("a@b.example", "email", "a•••@b.example")],
)
def test_identifiers_are_masked_by_kind(value: str, kind: str, shown: str) -> None:
    assert mask(value, kind) == shown


@pytest.mark.parametrize(
    ("amount", "currency", "written"),
    [("12500.00", "INR", "INR 12,500"), ("1250000.50", "INR", "INR 12,50,000.50"), ("1250000", "EUR", "EUR 1,250,000"),
     ("100", None, "100"), (None, "INR", "–")],
)  # fmt: skip
def test_money_is_written_as_where_it_is(amount: str | None, currency: str | None, written: str) -> None:
    assert money(amount, currency) == written


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2", "@sum", "\t=1", "\r=1", " =1", "＝1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert cell(text).startswith("'")


FILES = (
    "borrowers", "promises", "callbacks", "conversations", "resumes", "set-aside", "missing-reports", "chats", "shadow",
    "corrections", "audit",
)  # fmt: skip


async def test_every_list_is_a_file_too(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        for name in FILES:
            text = await browser.get(f"/ops/{name}?form=csv")
            assert browser.last.headers["content-type"].startswith("text/csv")
            rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
            assert len({len(row) for row in rows}) == 1
            assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row)
            if name == "borrowers":
                assert [row[0] for row in rows[1:]][:5] == ["B-101", "B-102", "B-103", "B-104", "B-105"]


async def test_a_roll_out_is_measured_as_the_api_measures_it(staged: Api, enter: Enter) -> None:
    told = (await staged.get("/v1/ops/rollout"))["channels"][0]
    async with enter() as browser:
        page = words_of(await browser.get("/ops/rollout"))
        now = told["now"]
        merged = f"{now['with_summary']} ({100 * now['with_summary_share']:.0f} %)"
        assert f"Conversations with the borrower {now['connected']} of which a summary is merged {merged} " in page
        assert (await browser.get("/ops/rollout?form=csv")).startswith("channel,")


async def test_lists_go_on_by_key(house: Api, enter: Enter) -> None:
    for n in range(60):
        await house.told(f"B-{n:03d}", commitment=house.promise())
    async with enter() as browser:
        seen: list[str] = []
        path = "/ops/borrowers?stage=committed&rung=proposed&last_channel=voice"
        for _ in range(2):
            page = await browser.get(path)
            seen += re.findall(r'href="/ops/borrowers/(B-\d+)"', page)
            path = "/ops/borrowers" + (re.findall(r'class="button" href="([^"]*cursor=[^"]+)"', page) or [""])[
                0
            ].replace("&amp;", "&")
        assert seen == [f"B-{n:03d}" for n in range(60)]


async def test_what_an_address_asks_wrongly_is_named(house: Api, enter: Enter) -> None:
    async with enter() as browser:
        for path in [
            "/ops/borrowers?stage=nowhere",
            "/ops/borrowers?cursor=x",
            "/ops/promises?show=all",
            "/ops/resumes?cursor=e30",
            "/ops/audit?colour=red",
            "/ops/set-aside?status=lost",
            "/ops/callbacks?cursor=WyIxIiwyXQ",
            "/ops/borrowers?form=xls",
        ]:
            page = await browser.get(path, 422)
            assert re.search(r"<li>(stage|cursor|show|colour|status|form): ", page)


async def test_one_borrower_is_found_by_id_loan_or_number(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        for asked, path in [
            ("B-101", "/ops/borrowers/B-101"),
            ("LN-2", "/ops/borrowers/B-102"),
            ("090000 00103", "/ops/borrowers/B-103"),
        ]:
            await browser.get("/ops")
            await browser.post("/ops/search", q=asked, token=browser.token())
            assert browser.last.url.path == path
        await browser.get("/ops")
        assert "Nobody is known" in await browser.post("/ops/search", 404, q="0000 11", token=browser.token())


async def test_an_outage_never_looks_like_an_empty_list(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        await browser.get("/ops")
        await staged.behind.stop_writing()
        await staged.behind.database.close()
        for path in ("/ops", "/ops/borrowers", "/ops/set-aside"):
            page = await browser.get(path, 503)
            assert "not an empty list" in page
            assert browser.last.headers["retry-after"]


async def test_a_day_of_vendors_is_told_in_numbers_that_lead_to_bodies(house: Api, enter: Enter) -> None:
    posting = Posting(house)
    made = {vendor: await posting.hook(channel, vendor) for vendor, channel in CHANNELS.items()}

    async def bring(vendor: str, body: bytes, headers: dict[str, str]) -> int:
        return (await posting.raw(made[vendor], body, headers=headers)).status

    await traffic(bring, house.now)
    async with enter() as browser:
        page = await browser.get("/ops/hooks")
        voice, chat = [words_of(row) for row in page.partition("<tbody>")[2].split("</tr>")[:2]]
        assert " 7 3 4 0 0 7 invalid 1 unreadable 1 " in voice
        assert " 4 2 2 0 0 – – " in chat
        aside = re.search(r'href="(/ops/set-aside[^"]+)"', page)
        assert aside is not None
        assert await rows_behind(browser, unescape(aside[1])) == 1
        row = re.search(r'href="(/ops/hooks/\w+)"', page)
        assert row is not None
        refused = words_of(await browser.get(row[1]))
        assert "7 refused for the signature" in refused
        assert "missing 3" in refused


async def test_what_came_through_a_hook_is_listed_and_a_refused_signature_is_shown(house: Api, enter: Enter) -> None:
    posting = Posting(house)
    hook = await posting.hook("voice", "vapi")
    report = {"message": {"type": "status-update", "status": "ended"}}
    body = json.dumps(report).encode()
    assert (await posting.raw(hook, body)).status == 200
    for _ in range(3):
        refused = await posting.raw(hook, body, headers={"x-vapi-signature": "forged"})
        assert refused.status == 401
    async with enter() as browser:
        page = await browser.get("/ops/hooks")
        assert hook.hook_id not in page, "whoever reads it could post"
        row = re.search(r'href="(/ops/hooks/\w+)"', page)
        assert row is not None
        assert await rows_behind(browser, row[1]) == 1
        page = words_of(browser.last.text)
        assert "3 refused for the signature" in page
        assert "nothing new" in page
        assert await rows_behind(browser, f"{row[1]}?show=told") == 0
        assert await rows_behind(browser, f"{row[1]}?show=repeats") == 1
        await browser.get("/ops/hooks/nothing", 404)
        async with enter(tenant="globex") as other:
            await other.get(row[1], 404)
