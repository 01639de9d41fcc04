"""How the pages write what others said and named: other scripts, long numbers, one and several, and what cannot be shown."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import pytest

from service.pages.drawing import hidden, hide, hide_in_id, noun, sentence
from tests.service.api import Api
from tests.service.pages.conftest import Enter
from tests.service.pages.test_pages import words_of
from tests.service.pages.test_signing import PLACES

VOID = {"meta", "link", "input", "img", "br", "rect"}
RIGHT_TO_LEFT = re.compile("[\u0600-\u06ff]")
CUSTOMER, LOAN = "100023456789", "8000345678"
"""Numbers as lenders give them; the loan's could be somebody's number, were it one."""


class Directions(HTMLParser):
    """Gathers the texts from right to left whose line is not told that they are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[bool] = []
        self.loose: list[str] = []
        self.seen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag in ("bdi", "title", "option") or ("dir", "auto") in attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if RIGHT_TO_LEFT.search(data):
            self.seen += 1
            if not any(self.open):
                self.loose.append(data.strip())


async def _urdu(house: Api) -> str:
    """Somebody all of whose words and names are written from right to left."""
    who, loan, said = "صارف-7", "قرض-7", "میں 5000 دے دوں گا، نمبر +91 90000 00107"
    for n, (type_, own) in enumerate(
        [
            ("cycle.opened", {"cycle_id": "نومبر", "loan_id": loan, "due_date": "2026-12-05", "amount_due": "5000",
                              "currency": "INR"}),
            ("identifier.linked", {"identifier": {"kind": "phone", "value": "+919000000107"}}),
            ("hold.placed", {"kind": "dispute", "reason": said}),
            ("fact.stated", {"kind": "household", "text": said}),
            ("payment.confirmed", {"payment_ref": "ادائیگی-1", "amount": "10", "currency": "INR", "loan_id": loan}),
            ("conversation.started", {"channel": "voice", "conversation_id": "کال-9"}),
        ]
    ):  # fmt: skip
        at = house.ago(hours=30 - n)
        body = {"event_id": f"واقعہ-{n}", "type": type_, "occurred_at": at, "borrower_id": who} | own
        assert (await house.post("/v1/events", body)).status == 200
    began = await house.resume(borrower_id=who, proposal={"state": "حالت"})
    await house.post(
        "/v1/summaries",
        {"channel": "whatsapp", "conversation_id": "بات-1", "borrower_id": who, "ended_at": house.ago(hours=2),
         "outcome": "connected",
         "disposition": said, "agent": "ایجنٹ", "summary": f"{said}. {said}!", "loan_id": loan, "resume_id": began["resume_id"],
         "entered_state": "opening", "turns": [{"speaker": "borrower", "text": said}],
         "commitment": {"amount": "5000", "due_date": "2026-12-03", "status": "proposed", "quote": said},
         "payment_claim": {"quote": said}, "callback": {"at": house.ago(hours=-2), "quote": said}},
    )  # fmt: skip
    return who


async def test_words_from_right_to_left_turn_no_line_of_ours_round(house: Api, staged: Api, enter: Enter) -> None:
    who = await _urdu(house)
    seen = 0
    async with enter(name="آشا") as browser:
        for path in (*PLACES, f"/ops/borrowers/{who}", "/ops/audit", "/ops/promises?show=week"):
            reads = Directions()
            reads.feed(await browser.get(path))
            assert reads.loose == [], path
            seen += reads.seen
    assert seen > 40


def test_a_masked_number_among_them_is_read_from_its_beginning() -> None:
    assert hidden("نمبر +91 90000 00107") == 'نمبر <bdi dir="ltr">+91••••••07</bdi>'
    assert hidden("<b>09000000107") == '&lt;b&gt;<bdi dir="ltr">••••••07</bdi>'


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (CUSTOMER, CUSTOMER), ("1714556677123", "1714556677123"), ("LN-000000000011", "LN-000000000011"),
        ("9000000101", "••••••01"), ("919000000101", "••••••01"), ("+919000000101", "+91••••••01"),
        ("call-9000000101-7", "call-••••••17"), ("asha@example.com", "a•••@example.com"), ("B-101", "B-101"),
        ("1764500000", "1764500000"), ("447911123456", "447911123456"), ("+447911123456", "+44••••••56"),
    ],
)  # fmt: skip
def test_an_id_is_masked_where_it_can_be_called_and_shown_where_it_cannot(name: str, shown: str) -> None:
    assert hide_in_id(name, "IN") == shown


def test_an_id_that_a_vendor_makes_of_a_foreign_number_is_masked() -> None:
    assert hide_in_id("status:447911123456:read", "IN", abroad=True) == "status:••••••56:read"
    assert hide_in_id(CUSTOMER, "IN", abroad=True) == CUSTOMER


@pytest.mark.parametrize("amount", ["100000.00", "1234567890.50", "999999999.99"])
def test_an_amount_of_any_length_is_no_number_of_a_person(amount: str) -> None:
    assert hide(f"pays {amount} today") == f"pays {amount} today"


async def test_customers_who_are_numbered_can_be_told_apart(house: Api, enter: Enter) -> None:
    month = {
        "cycle_id": "202611",
        "loan_id": LOAN,
        "due_date": "2026-12-05",
        "amount_due": "12345678.50",
        "currency": "INR",
    }
    happened = {"event_id": "e-1", "type": "cycle.opened", "occurred_at": house.ago(days=2), "borrower_id": CUSTOMER}
    held = {"event_id": "e-2", "type": "hold.placed", "occurred_at": house.ago(days=1), "borrower_id": CUSTOMER}
    assert (await house.post("/v1/events", happened | month)).status == 200
    assert (await house.post("/v1/events", held | {"kind": "other", "reason": "call 09000000101"})).status == 200
    async with enter() as browser:
        for path in ("/ops/borrowers", f"/ops/borrowers/{CUSTOMER}"):
            page = words_of(await browser.get(path))
            assert CUSTOMER in page.partition("Borrowers")[2]
            assert LOAN in page
            assert "INR 1,23,45,678.50" in page
        told = (await browser.get("/ops/borrowers?form=csv")).removeprefix("\ufeff")
        [row] = csv.DictReader(io.StringIO(told))
        assert (row["borrower_id"], row["loan_id"], row["outstanding"]) == (CUSTOMER, LOAN, "12345678.50")
        assert row["holds"] == "other"


def test_one_is_one_and_several_are_several() -> None:
    assert [f"{n} {noun(n, 'reply', 'replies')}" for n in (0, 1, 2)] == ["0 replies", "1 reply", "2 replies"]
    assert [noun(n, "event") for n in (0, 1, 2)] == ["events", "event", "events"]


async def test_no_page_says_one_of_several(staged: Api, enter: Enter) -> None:
    """The story has one of nearly everything that is counted."""
    async with enter() as browser:
        for path in (*PLACES, "/ops/borrowers/B-101", "/ops/borrowers/B-102"):
            found = re.findall(r"(?<![\w.,:•-])1 (?!as|is|days until)[a-z]+s\b", words_of(await browser.get(path)))
            assert found == [], path


def test_a_sentence_begins_large_and_ends() -> None:
    assert [sentence(text) for text in ("it is so", "It is so.", "")] == ["It is so.", "It is so.", "."]


async def test_a_page_that_asks_wrongly_says_so_in_words_and_leads_back(house: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = words_of(await browser.get("/ops/borrowers?stage=red&colour=blue", 422))
        assert "This cannot be shown or done 2 fields are wrong." in page
        assert "stage: is none of the values there are" in page
        assert "colour: is not asked here" in page
        assert 'href="/ops/borrowers">The same page with nothing chosen' in browser.last.text
        page = await browser.get("/ops/borrowers/B-404", 404)
        assert "Unknown borrower" in page
        assert "nothing chosen" not in page


async def test_an_address_at_which_there_is_nothing_is_a_page(house: Api, staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        for path in ("/ops/nothing", "/ops/borrowers/B-101/nothing", "/ops/search", "/ops/ops.css/x"):
            assert "There is no such page" in await browser.get(path, 404)
        for path in ("reveal", "export"):
            assert "Time line" in await browser.get(f"/ops/borrowers/B-101/{path}")


async def test_whoever_sends_a_form_after_the_session_ended_comes_back_to_its_page(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        browser.client.cookies.clear()
        path = "/ops/borrowers/B-103/do/lift-hold?kind=dispute"
        page = await browser.post(path, token="x")
        assert 'name="next" value="/ops/borrowers/B-103"' in page
        page = await browser.post("/ops/search", token="x", q="B-101")
        assert 'name="next" value="/ops"' in page


async def test_a_form_that_is_refused_keeps_what_was_typed(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = await browser.send("/ops/borrowers/B-104/do/link", 422, kind="email", value='a "b" <c>')
        assert "Identifier: can be no number or address." in page
        assert 'value="a &#34;b&#34; &lt;c&gt;"' in page
        assert '<option value="email" dir="auto" selected>' in page
        page = await browser.send(
            "/ops/borrowers/B-104/forget", 422, what="everything", sure="B-1", reason="she <asked>"
        )
        assert "is not the borrower&#39;s id" in page
        assert "she &lt;asked&gt;</textarea>" in page


async def test_a_list_leads_back_to_its_beginning(house: Api, enter: Enter) -> None:
    for n in range(52):
        await house.told(f"B-{n:03d}", commitment=house.promise(days=0))
    async with enter() as browser:
        page = await browser.get("/ops/borrowers?rung=proposed")
        assert "To the beginning" not in page
        further = re.search(r'class="button" href="([^"]*cursor=[^"]+)"', page)
        assert further is not None
        page = await browser.get("/ops/borrowers" + further[1].replace("&amp;", "&"))
        assert '<a href="?rung=proposed">To the beginning</a>' in page
        assert "Next page" not in page


async def test_the_time_line_tells_of_what_currency_a_promise_is_and_which_of_two_was_linked(
    house: Api, enter: Enter
) -> None:
    address = {"kind": "email", "value": "asha@example.com"}
    linked = {"event_id": "e-1", "type": "identifier.linked", "occurred_at": house.ago(days=2), "borrower_id": "B-1"}
    assert (await house.post("/v1/events", linked | {"identifier": address})).status == 200
    await house.told("B-1", commitment={"amount": "12500", "due_date": "2026-12-03", "status": "proposed"})
    async with enter() as browser:
        line = words_of((await browser.get("/ops/borrowers/B-1")).partition('id="line"')[2])
    assert "proposed INR 12,500 by Thu 3 Dec 2026" in line
    assert "identifier linked email a•••@example.com" in line
