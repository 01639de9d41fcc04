"""What a person withholds is told to no reader from then on, the page says who and why, and it can be shown again."""

from __future__ import annotations

import json
from datetime import timedelta

from service.policy import Policies
from service.rebuild import rebuild
from service.screening_examples import listed
from tests.service.api import Api
from tests.service.embedded import SECRETS, TENANT
from tests.service.pages.conftest import Enter
from tests.service.pages.test_actions import READING
from tests.service.pages.test_pages import words_of

SENTENCE = "The agent read the promise back and she agreed to pay 12,500 today."
TELLING = "read the promise back"
PATH = "/ops/borrowers/B-101/withhold?event_id=voice:call-31:1"
ASHA = {"kind": "phone", "value": "+919000000101"}


async def told_by_every_reader(house: Api) -> dict[str, str]:
    """What each reader of one borrower answers, as text."""
    context = {"channel": "voice", "turn_id": "t-1", "question": "what was agreed?"}
    answers = {
        "borrower": await house.get("/v1/borrowers/B-101"),
        "briefing": await house.get("/v1/borrowers/B-101/briefing"),
        "timeline": await house.get("/v1/borrowers/B-101/timeline"),
        "facts": await house.get("/v1/borrowers/B-101/facts"),
        "resume": await house.post("/v1/resume", {"channel": "whatsapp", "identifier": ASHA}),
        "recall": await house.post("/v1/borrowers/B-101/recall", {"query": "read the promise back"}),
        "history": await house.post("/v1/borrowers/B-101/recall", {"query": "promise", "purpose": "history"}),
        "search": await house.post("/v1/search", {"query": "read the promise back"}),
        "context": await house.post("/v1/borrowers/B-101/context", context),
    }
    assert all(answer.status == 200 for answer in answers.values())
    said = {name: json.dumps(answer.document, default=str, ensure_ascii=False) for name, answer in answers.items()}
    called = {"name": "get_briefing", "arguments": {"borrower_id": "B-101"}}
    tool = await house.client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called})
    assert tool.status_code == 200
    return said | {"mcp": tool.text}


async def test_a_withheld_sentence_is_told_by_no_reader_and_shown_with_who_and_why(staged: Api, enter: Enter) -> None:
    before = await told_by_every_reader(staged)
    silent = {name for name, said in before.items() if TELLING not in said}
    assert silent <= {"facts", "resume"}, "the others told it, so that their silence means something"
    version = (await staged.get("/v1/borrowers/B-101"))["record_version"]
    async with enter() as browser:
        assert f"1: {SENTENCE} (shown)" in words_of(await browser.get(PATH)).replace("&#39;", "'")
        page = words_of(await browser.send(PATH, sentence="1", reason="she did not agree: the call was cut"))
        assert browser.last.url.path == "/ops/borrowers/B-101"
        assert f"by a person {SENTENCE}" in page
        assert "asha" in page
        assert "she did not agree: the call was cut" in page
        assert f'<s title="withheld: by a person">{SENTENCE}</s>' in browser.last.text
        assert "asha text withheld" in words_of(await browser.get("/ops/audit?borrower_id=B-101"))
    told = await told_by_every_reader(staged)
    assert {name for name, said in told.items() if TELLING in said} == set()
    briefing = await staged.get("/v1/borrowers/B-101/briefing")
    assert {"conversation_id": "call-31", "rule": "by_a_person"} in briefing["withheld"]
    borrower = await staged.get("/v1/borrowers/B-101")
    assert borrower["record_version"] == version + 1, "so that whatever was made of the one before is not used"
    assert borrower["commitment"]["status"] == "confirmed", "structure stands"
    (example,) = await listed(staged.parts, TENANT)
    assert (example["sentence"], example["should"]) == (SENTENCE, "fail")


async def test_words_that_a_promise_is_quoted_with_are_withheld_wherever_they_are_shown(
    staged: Api, enter: Enter
) -> None:
    """In prose or not: a quote stands in the promise, on the time line, in the turn it was taken from."""
    words = "haan theek hai, call me at my sister Rekha's"
    told = {
        "channel": "whatsapp", "conversation_id": "wa-50", "ended_at": staged.ago(minutes=30), "borrower_id": "B-101",
        "outcome": "connected", "commitment": {"amount": "9000", "due_date": "2027-02-01", "quote": words},
        "callback": {"at": "2027-01-02T10:00:00+05:30", "quote": words},
        "turns": [{"speaker": "borrower", "text": words}],
    }  # fmt: skip
    assert (await staged.post("/v1/summaries", told)).status == 200
    before = await told_by_every_reader(staged)
    assert {"borrower", "briefing", "timeline"} <= {name for name, said in before.items() if "Rekha" in said}
    async with enter() as browser:
        assert "withhold?event_id=whatsapp%3Awa-50%3A1" in await browser.get("/ops/borrowers/B-101")
        page = words_of(
            await browser.send(
                "/ops/borrowers/B-101/withhold?event_id=whatsapp:wa-50:1", sentence="1", reason="not hers to give"
            )
        )
        assert "told to nobody any more" in page
        await browser.get("/ops/borrowers/B-101/judge?event_id=whatsapp:wa-50:1", 404)
    after = await told_by_every_reader(staged)
    assert {name for name, said in after.items() if "Rekha" in said} == set()
    assert "9000" in after["borrower"], "the terms stand"
    assert await listed(staged.parts, TENANT) == [], "rules judge prose: a quote is no example for them"


async def test_it_does_not_come_back_with_a_later_report_nor_with_a_rebuild(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        await browser.send(PATH, sentence="1", reason="untrue")
    again = {
        "channel": "voice", "conversation_id": "call-31", "revision": 2, "ended_at": staged.ago(hours=1),
        "borrower_id": "B-101", "outcome": "connected", "summary": f"{SENTENCE.upper()} She was friendly.",
    }  # fmt: skip
    assert (await staged.post("/v1/summaries", again)).status == 200
    await staged.post("/v1/summaries", again | {"conversation_id": "call-99", "revision": 1})

    async def told() -> str:
        return "".join((await told_by_every_reader(staged)).values()).casefold()

    live = await told()
    assert "she was friendly" in live
    assert TELLING not in live
    now = staged.now
    found = await rebuild(staged.behind.database, SECRETS, Policies(), lambda: now, lambda done, of: None)
    assert found.changed == 0
    assert TELLING not in await told()


async def test_it_is_shown_again_with_a_reason(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        page = await browser.send(PATH, sentence="1", reason="untrue")
        link = page.partition("/ops/borrowers/B-101/show-again?")[2].partition('"')[0]
        path = f"/ops/borrowers/B-101/show-again?{link}"
        assert "Reason: is missing." in await browser.send(path, 422, reason="")
        page = words_of(await browser.send(path, reason="the recording says so"))
        assert "by a person" not in page
        assert "asha text shown again" in words_of(await browser.get("/ops/audit"))
        assert "moved on" in await browser.get(path, 409)
    assert TELLING in (await told_by_every_reader(staged))["briefing"]


async def test_a_fact_is_withheld_too(staged: Api, enter: Enter) -> None:
    facts = (await staged.get("/v1/borrowers/B-101/facts"))["items"]
    fact = next(one for one in facts if one["kind"] == "payment_method")
    async with enter() as browser:
        page = words_of(
            await browser.send(f"/ops/borrowers/B-101/withhold?fact_id={fact['fact_id']}", reason="not hers")
        )
        assert "by a person UPI from her own account" in page
        await browser.get("/ops/borrowers/B-101/withhold?fact_id=nothing", 404)
    told = await told_by_every_reader(staged)
    assert {name for name, said in told.items() if "UPI from her" in said} == set()


async def test_it_is_asked_once_done_once_and_refused_to_who_may_not(staged: Api, enter: Enter) -> None:
    async with enter(READING) as browser:
        assert "/withhold" not in await browser.get("/ops/borrowers/B-101")
        await browser.get(PATH, 403)
        await browser.get("/ops/borrowers/B-101")
        assert "Your key may not do this" in await browser.post(
            "/ops/borrowers/B-101/withhold", 403, token=browser.token()
        )
    async with enter() as browser:
        assert "Reason: is missing." in await browser.send(PATH, 422, sentence="1", reason="")
        assert "Sentence: is none of the values there are." in await browser.send(
            PATH, 422, sentence="9", reason="untrue"
        )
        assert "not one of ours" in await browser.send(PATH, 403, token="forged", sentence="1", reason="untrue")
        await browser.get("/ops/borrowers/B-102/withhold?event_id=voice:call-31:1", 404)
        await browser.get(PATH)
        form = {"event_id": "voice:call-31:1", "sentence": "1", "reason": "untrue", "token": browser.token()}
        ticket = browser.last.text.partition('name="ticket" value="')[2].partition('"')[0]
        for _ in range(2):
            await browser.post("/ops/borrowers/B-101/withhold", ticket=ticket, **form)
        lines = words_of(await browser.get("/ops/audit?borrower_id=B-101"))
        assert lines.count("text withheld") == 1
        staged.behind.now += timedelta(hours=1)
        assert "too long ago" in await browser.post("/ops/borrowers/B-101/withhold", 409, ticket=ticket, **form)
