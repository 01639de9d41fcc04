"""Who gets in, how long, and that a form is one of ours."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from service.keys import SCOPES, create, revoke
from service.pages.session import COOKIE, SESSION_HOURS
from tests.service.api import Api
from tests.service.embedded import TENANT
from tests.service.pages.conftest import Enter

PLACES = (
    "/ops", "/ops/borrowers", "/ops/borrowers/B-101", "/ops/promises", "/ops/callbacks", "/ops/conversations",
    "/ops/deliveries", "/ops/resumes",
    "/ops/set-aside", "/ops/missing-reports", "/ops/chats", "/ops/shadow", "/ops/rollout",
    "/ops/corrections", "/ops/hooks", "/ops/system",
    "/ops/audit",
)  # fmt: skip


async def test_nobody_sees_a_page_without_signing_in_and_is_led_back_after(house: Api) -> None:
    async with httpx.AsyncClient(transport=house.transport, base_url="http://test") as client:
        for path in PLACES:
            answer = await client.get(path)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/ops/sign-in")
            assert answer.text == ""


@pytest.mark.parametrize(
    ("scopes", "name", "says"),
    [(("read", "search:all"), "asha", "no scope"), (("ops",), None, "bears no name")],
)
async def test_a_key_needs_the_scope_and_a_name(
    enter: Enter, scopes: tuple[str, ...], name: str | None, says: str
) -> None:
    async with enter(scopes, name=name, status=403) as browser:
        assert says in browser.last.text
        assert COOKIE not in browser.client.cookies


async def test_what_is_no_key_is_refused_in_words(house: Api, enter: Enter) -> None:
    async with enter() as browser:
        assert "There is no such key" in await browser.post("/ops/sign-in", 401, key="bm_nobody_x", next="/ops")


@pytest.mark.parametrize(
    "next_", ["https://evil.example", "//evil.example", "/ops/\\evil", "/docs", "/opsx", "/ops/sign-in"]
)
async def test_signing_in_leads_to_no_other_place(house: Api, enter: Enter, next_: str) -> None:
    async with enter() as browser:
        text = await browser.get("/ops/sign-in?next=" + next_)
        assert 'name="next" value="/ops"' in text


async def test_the_cookie_is_not_for_scripts_and_holds_no_key(enter: Enter, house: Api) -> None:
    async with enter() as browser:
        sent = browser.last.history[0].headers["set-cookie"]
        assert "HttpOnly" in sent
        assert "SameSite=lax" in sent
        assert "Path=/ops" in sent
        assert "bm_" not in sent


async def test_away_from_this_machine_the_cookie_needs_tls(enter: Enter, house: Api) -> None:
    async with enter() as browser:
        browser.client.base_url = httpx.URL("https://memory.example")
        key = await _key(house)
        answer = await browser.client.post("/ops/sign-in", data={"key": key}, follow_redirects=False)
        assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(("from_", "is_believed"), [("127.0.0.1", True), ("10.0.0.9", False)])
async def test_a_proxy_on_this_machine_says_that_it_was_asked_over_tls_and_nobody_else_does(
    house: Api, from_: str, is_believed: bool
) -> None:
    transport = httpx.ASGITransport(house.transport.app, client=(from_, 4000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        data, told = {"key": await _key(house)}, {"X-Forwarded-Proto": "https"}
        answer = await client.post("/ops/sign-in", data=data, headers=told, follow_redirects=False)
        assert ("Secure" in answer.headers["set-cookie"]) is is_believed


async def _key(house: Api) -> str:
    return (await house.behind.database.write(lambda c: create(c, TENANT, SCOPES, house.now, name="ravi")))[0]


async def test_a_session_ends_with_the_day_and_with_its_key(house: Api, enter: Enter) -> None:
    async with enter() as browser:
        house.behind.now += timedelta(hours=SESSION_HOURS - 1)
        assert "Overview" in await browser.get("/ops")
        house.behind.now += timedelta(hours=1, seconds=1)
        assert "Your key" in await browser.get("/ops")
    async with enter() as browser:
        key_id = (await browser.get("/ops/audit")).partition('<td class="name">')[2][:6]
        await house.behind.database.write(lambda c: revoke(c, key_id, house.now))
        assert "Your key" in await browser.get("/ops")


async def test_a_changed_cookie_is_nobodys(enter: Enter) -> None:
    async with enter() as browser:
        sealed = browser.client.cookies[COOKIE]
        browser.client.cookies.clear()
        for wrong in (sealed[:-4] + "AAAA", "x", "%C3%A9", "A" * 5_000):
            answer = await browser.client.get("/ops", headers={"Cookie": f"{COOKIE}={wrong}"}, follow_redirects=False)
            assert answer.status_code == 303


async def test_signing_out_takes_the_cookie(enter: Enter) -> None:
    async with enter() as browser:
        await browser.get("/ops")
        assert "Your key" in await browser.post("/ops/sign-out", token=browser.token())
        assert COOKIE not in browser.client.cookies


ELSEWHERE: tuple[tuple[str | None, dict[str, str]], ...] = (
    ("", {}),
    ("0" * 64, {}),
    (None, {"Sec-Fetch-Site": "cross-site"}),
    (None, {"Origin": "https://evil.example"}),
)


async def test_a_form_from_elsewhere_does_nothing(staged: Api, enter: Enter) -> None:
    path = "/ops/borrowers/B-103/do/lift-hold"
    async with enter() as browser:
        await browser.get(f"{path}?kind=dispute")
        ticket, own = browser.last.text.split('name="ticket" value="')[1].split('"')[0], browser.token()
        fields = {"ticket": ticket, "reason": "so", "kind": "dispute"}
        for token, headers in ELSEWHERE:
            form = fields | {"token": own if token is None else token}
            answer = await browser.client.post(path, data=form, headers=headers)
            assert answer.status_code == 403
            assert "not one of ours" in answer.text
        assert "On hold" in await browser.get("/ops/borrowers/B-103")


async def test_every_page_has_a_strict_policy_and_is_kept_nowhere(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        for path in (*PLACES, "/ops/sign-in"):
            text = await browser.get(path)
            policy = browser.last.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert browser.last.headers["cache-control"] == "no-store"
            for inline in ("<style", " style=", "<script>", " onclick=", "javascript:", "http://", "https://"):
                assert inline not in text.replace("needs https", ""), (path, inline)


async def test_another_tenant_sees_nothing_of_it(staged: Api, enter: Enter) -> None:
    async with enter(tenant="other") as browser:
        assert "Unknown borrower" in await browser.get("/ops/borrowers/B-101", 404)
        for path in PLACES:
            if path != "/ops/borrowers/B-101":
                text = await browser.get(path)
                assert "B-10" not in text, path
                assert "call-3" not in text, path
        await browser.get("/ops/set-aside/1/retry", 404)
