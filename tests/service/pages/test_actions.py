"""What people do on the pages: asked first, done once, through the same intake as everybody's, and kept in the audit."""

from __future__ import annotations

import json
from datetime import timedelta
from html import unescape

from service.pages.session import TICKET_MINUTES
from tests.service.api import Api
from tests.service.pages.conftest import Enter
from tests.service.pages.test_pages import words_of

READING = ("ops", "read", "search:all")
LIFT = "/ops/borrowers/B-103/do/lift-hold?kind=dispute"


async def test_a_hold_is_lifted_with_a_reason_and_stands_in_the_audit(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = words_of(await browser.send(LIFT, reason="the bank corrected the instalment"))
        assert browser.last.url.path == "/ops/borrowers/B-103"
        assert "On hold" not in page
        assert "hold lifted" in page
        assert (await staged.get("/v1/borrowers/B-103"))["holds"] == []
        told = (await staged.get("/v1/borrowers/B-103/timeline"))["items"][0]["entry"]
        assert (told["type"], told["reason"]) == ("hold.lifted", "the bank corrected the instalment")
        assert told["extra"]["by"] == "asha"
        audit = words_of(await browser.get("/ops/audit"))
        assert "asha hold lifted B-103" in audit
        assert "corrected" not in audit, "words are the event's"


async def test_a_form_that_is_sent_twice_does_it_once(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = await browser.get(LIFT)
        ticket = page.split('name="ticket" value="')[1].split('"')[0]
        fields = {"token": browser.token(), "ticket": ticket, "kind": "dispute", "reason": "so"}
        for _ in range(2):
            await browser.post(LIFT.partition("?")[0], **fields)
        lifted = [
            i
            for i in (await staged.get("/v1/borrowers/B-103/timeline"))["items"]
            if i["entry"].get("type") == "hold.lifted"
        ]
        assert len(lifted) == 1


async def test_a_page_that_asked_too_long_ago_does_nothing(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = await browser.get(LIFT)
        ticket = page.split('name="ticket" value="')[1].split('"')[0]
        staged.behind.now += timedelta(minutes=TICKET_MINUTES + 1)
        fields = {"token": browser.token(), "ticket": ticket, "kind": "dispute", "reason": "so"}
        assert "too long ago" in await browser.post(LIFT.partition("?")[0], 409, **fields)
        async with enter() as other:
            await other.get(LIFT)
            fields |= {"token": other.token()}
            assert "another session" in await other.post(LIFT.partition("?")[0], 409, **fields)


async def test_a_reason_is_needed(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        assert "Reason: is missing." in await browser.send(LIFT, 422, reason="  ")
        assert "Reason: is too long." in await browser.send(LIFT, 422, reason="x" * 501)
        assert "On hold" in await browser.get("/ops/borrowers/B-103")


async def test_a_promise_is_retracted(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        path = "/ops/borrowers/B-101/do/retract-promise?loan_id=LN-1&conversation_id=call-31"
        page = words_of(await browser.send(path, reason="she was never asked"))
        assert "retracted" in page
        assert (await staged.get("/v1/borrowers/B-101"))["commitment"]["conversation_id"] == "wa-7"


async def test_an_identifier_is_linked_and_unlinked_without_a_number_in_an_address(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        await browser.send("/ops/borrowers/B-101/do/link", kind="phone", value="090000 00777")
        found = await staged.post("/v1/borrowers/lookup", {"identifier": {"kind": "phone", "value": "+919000000777"}})
        assert found["borrower_id"] == "B-101"
        page = await browser.get("/ops/borrowers/B-101")
        links = [
            unescape(part.split('"')[0])
            for part in page.split('href="')
            if part.startswith("/ops/borrowers/B-101/do/unlink")
        ]
        assert len(links) == 2
        assert "777" not in "".join(links)
        staged.behind.now += timedelta(minutes=1)
        await browser.send(links[1], reason="number_changed")
        lost = await staged.post("/v1/borrowers/lookup", {"identifier": {"kind": "phone", "value": "+919000000777"}})
        assert lost.status == 404
        assert "moved on" in await browser.get(links[0], 409), "the page was made before this"


async def test_an_identifier_that_is_only_kept_as_a_hash_is_unlinked_by_who_can_name_it(
    staged: Api, enter: Enter
) -> None:
    """DESIGN 11: once everything is forgotten nobody is shown the number, and whoever was told it can still unlink it."""
    number = {"kind": "phone", "value": "+919000000101"}
    await staged.post("/v1/borrowers/B-101/forget", {"reason": "erasure", "everything": True})
    async with enter() as browser:
        page = await browser.get("/ops/borrowers/B-101")
        assert "forgotten, its hash ends in" in page
        (link,) = [
            unescape(part.split('"')[0])
            for part in page.split('href="')
            if part.startswith("/ops/borrowers/B-101/do/unlink")
        ]
        assert "The identifier itself" in words_of(await browser.get(link))
        for wrong, why in (
            ("", "is missing"),
            ("12", "can be no number or address"),
            ("+919000000102", "is another than the one"),
        ):
            told = await browser.send(link, 422, reason="number_changed", value=wrong)
            assert f"The identifier itself: {why}" in told
        assert (await staged.post("/v1/borrowers/lookup", {"identifier": number}))["borrower_id"] == "B-101"
        await browser.send(link, reason="number_changed", value="0 90000 00101")
        assert "Nothing is linked." in words_of(await browser.get("/ops/borrowers/B-101"))
        assert "00101" not in words_of(await browser.get("/ops/audit"))
    assert (await staged.post("/v1/borrowers/lookup", {"identifier": number})).status == 404


async def test_what_cannot_be_a_number_is_said_beside_the_form(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        assert "Identifier: can be no number or address." in await browser.send(
            "/ops/borrowers/B-101/do/link", 422, kind="phone", value="12"
        )


async def test_what_was_set_aside_is_tried_again(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        assert "listed as refused" in await browser.get("/ops/set-aside/1/retry")
        page = words_of(await browser.send("/ops/set-aside/1/retry"))
        assert "refused" in page
        assert "asha set aside retried" in words_of(await browser.get("/ops/audit"))
        await browser.get("/ops/set-aside/99/retry", 404)
        await browser.get("/ops/set-aside/x/retry", 404)


async def test_who_only_reads_is_offered_nothing_and_can_do_nothing(staged: Api, enter: Enter) -> None:
    async with enter(READING) as browser:
        page = await browser.get("/ops/borrowers/B-103")
        assert "read only" in page
        for offered in ("/do/", "/forget", "/export"):
            assert offered not in page
        assert "/retry" not in await browser.get("/ops/set-aside")
        await browser.get(LIFT, 403)
        await browser.get("/ops/borrowers/B-103/forget", 403)
        await browser.get("/ops/borrowers/B-103")
        token = browser.token()
        for path in ("do/lift-hold", "export", "forget"):
            assert "Your key may not do this" in await browser.post(f"/ops/borrowers/B-103/{path}", 403, token=token)


async def test_all_that_is_kept_of_one_is_a_document_and_its_export_is_audited(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        await browser.get("/ops/borrowers/B-101")
        document = json.loads(await browser.post("/ops/borrowers/B-101/export", token=browser.token()))
        answered = (await staged.get("/v1/borrowers/B-101/export")).document
        assert document["entries"]
        assert document == answered, "it is one document, whoever asks for it"
        assert "attachment" in browser.last.headers["content-disposition"]
        assert "asha exported B-101" in words_of(await browser.get("/ops/audit"))


async def test_forgetting_asks_twice_and_gives_a_receipt(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        path = "/ops/borrowers/B-101/forget"
        assert "sure" in await browser.send(path, 422, what="everything", sure="B-102", reason="asked to")
        assert "The term: is missing." in await browser.send(path, 422, what="a term", term="", reason="asked to")
        page = words_of(await browser.send(path, what="a term", term="UPI", reason="she asked us to"))
        assert "Forgotten" in page
        assert "UPI" not in words_of(await browser.get("/ops/borrowers/B-101"))
        await browser.send(path, what="everything", sure="B-101", reason="she asked us to")
        gone = words_of(await browser.get("/ops/borrowers/B-101"))
        assert "call me at six" not in gone
        assert "read the promise back" not in gone
        assert "forget" in words_of(await browser.get("/ops/audit?borrower_id=B-101"))


async def test_a_doing_that_there_is_not_is_not_found(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        await browser.get("/ops/borrowers/B-101/do/pay", 404)
        await browser.get("/ops/borrowers/B-101/do/lift-hold?kind=none", 404)
        await browser.get("/ops/borrowers/nobody/do/link", 404)
        await browser.get("/ops/borrowers/a%0Ab", 404)


async def test_a_sentence_that_a_rule_withholds_wrongly_is_copied_for_who_writes_the_rules(
    staged: Api, enter: Enter
) -> None:
    async with enter() as browser:
        path = "/ops/borrowers/B-101/judge?event_id=whatsapp:wa-7:1"
        page = words_of(await browser.get(path))
        assert "3: Her balance is 41,300. (withheld, balance)" in page
        assert "1: She verified with a code. (shown)" in page
        await browser.send(path, sentence="3")
        (example,) = (await staged.get("/v1/ops/screening-examples"))["items"]
        assert (example["sentence"], example["should"]) == ("Her balance is 41,300.", "pass")
        assert "asha screening example" in words_of(await browser.get("/ops/audit?borrower_id=B-101"))
        await browser.get("/ops/borrowers/B-102/judge?event_id=whatsapp:wa-7:1", 404)
        await browser.get("/ops/borrowers/B-101/judge?event_id=nothing", 404)
        await browser.get("/ops/borrowers/B-101")
        form = {"token": browser.token(), "event_id": "whatsapp:wa-7:1"}
        assert "sentence: is none of the values there are" in await browser.post(
            path.partition("?")[0], 422, **form, sentence="99"
        )
