"""Policies: modes, allow lists, hours, numbers of ours, days of identity, each tenant its own (DESIGN 9, API 13)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.limits import PATIENCE_SECONDS
from tests.together.conftest import Borrower, Json, Tenant, another, confirmed, log_lines, phone, promise, warned
from tests.together.service import Service, ago, running

pytestmark = pytest.mark.process

OURS = "+919000099999"


def hours_that_are_not_now() -> str:
    """Contact hours of a day in India that do not hold the present one."""
    return '["22:00", "23:00"]' if datetime.now(ZoneInfo("Asia/Kolkata")).hour < 12 else '["01:00", "02:00"]'


POLICY = f"""
[defaults]
contact_hours = ["00:00", "24:00"]
own_numbers = ["{OURS[3:]}"]

[tenant.disabled]
mode = "disabled"
[tenant.shadow]
mode = "shadow"
[tenant.unknown]
mode = "on"
[tenant.by-channel]
mode = {{ voice = "shadow", whatsapp = "enabled" }}
[tenant.one-channel]
mode = {{ voice = "enabled" }}
[tenant.allow]
allow = ["B-listed", "B-also"]
[tenant.faulty]
identity_days = -1
[tenant.typo]
modus = "enabled"
[tenant.closed]
contact_hours = {hours_that_are_not_now()}
[tenant.careful]
identity_days = 0
attempts_in_7_days = 2
permit_seconds = 0.5
report_missing_minutes = 0
[tenant.short]
identity_days = 0.00002
[tenant.abroad]
region = "US"
currency = "USD"
time_zone = "America/New_York"
own_numbers = ["(212) 555-0100"]
[tenant.brief]
retention = {{ prose = 2 }}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("policies"), policy=POLICY) as service:
        yield service


@pytest.fixture(scope="module")
def of(service: Service) -> Iterator[dict[str, Tenant]]:
    """Tenants by name, made when they are asked for."""

    class Made(dict[str, Tenant]):
        def __missing__(self, name: str) -> Tenant:
            self[name] = Tenant(service, name)
            return self[name]

    made = Made()
    yield made
    for tenant in made.values():
        tenant.close()


def known(tenant: Tenant, id_: str | None = None) -> Borrower:
    """A borrower of whom a good deal is known."""
    one = tenant.borrower(id_=id_)
    one.opens()
    one.verify()
    one.says("voice", confirmed(5000), summary="She will pay.", ended_at=ago(hours=2))
    return one


def as_handed_out(one: Borrower, channel: str = "voice", **fields: object) -> str:
    """The bytes of a resume but for what every answer has of its own."""
    body = {"channel": channel, "borrower_id": one.id, "identifier": one.phone, **fields}
    answer = one.tenant.http.post("/v1/resume", json=body)
    text = answer.text
    for name in ("resume_id", "as_of"):
        text = text.replace(answer.json()[name], "")
    return text


# -- modes --------------------------------------------------------------------------------------------------------


def test_shadow_answers_as_disabled_does_byte_for_byte(of: dict[str, Tenant]) -> None:
    people = {name: known(of[name]) for name in ("disabled", "shadow", "unknown", "faulty", "typo")}
    for channel in ("voice", "whatsapp"):
        for proposal in (None, {"state": "reminder"}, {"state": "NOWHERE"}, 7):
            answers = {name: as_handed_out(one, channel, proposal=proposal) for name, one in people.items()}
            assert len(set(answers.values())) == 1, (channel, proposal)
            assert '"found":false' in answers["shadow"]
            assert '"source":"cold_start"' in answers["shadow"]


def test_what_is_kept_and_what_ops_asks_does_not_depend_on_the_mode(of: dict[str, Tenant]) -> None:
    for name in ("disabled", "shadow", "unknown"):
        one = known(of[name])
        assert one.briefing() == ""
        assert one.read()["narrative"] == ""
        assert one.commitment()["status"] == "confirmed"
        assert one.permit()
        one.is_sent()
        assert one.flags()["reminded"]
        assert len(one.timeline()) == 5
        one.event("contact.opted_out", channel="voice")
        contact = one.resume("voice")["contact"]
        assert (contact["allowed"], contact["reasons"]) == (False, ["opted_out"])
        assert one.resume("whatsapp")["contact"]["allowed"] is True


def test_shadow_keeps_what_it_would_have_granted(of: dict[str, Tenant]) -> None:
    one, other = known(of["shadow"]), known(of["disabled"])
    one.proposed("payment_link")
    other.proposed("payment_link")
    (item,) = of["shadow"].get("/v1/ops/resumes", borrower_id=one.id)["items"]
    assert (item["mode"], item["position"], item["granted"], item["proposed"]) == (
        "shadow", "reminder", "payment_link", "payment_link",
    )  # fmt: skip
    (item,) = of["disabled"].get("/v1/ops/resumes", borrower_id=other.id)["items"]
    assert (item["mode"], item["position"], item["granted"]) == ("disabled", None, "opening")


def test_a_mode_is_of_a_channel(of: dict[str, Tenant]) -> None:
    one = known(of["by-channel"])
    assert (one.resume("voice")["found"], one.resume("whatsapp")["found"]) == (False, True)
    assert (one.briefing("voice"), one.briefing("whatsapp") != "") == ("", True)
    other = known(of["one-channel"])
    assert (other.resume("voice")["found"], other.resume("whatsapp")["found"]) == (True, False)


def test_an_allow_list_hands_out_to_those_on_it(of: dict[str, Tenant]) -> None:
    listed, other = known(of["allow"], "B-listed"), known(of["allow"])
    assert listed.resume()["state"] == "reminder"
    assert listed.briefing() != ""
    assert as_handed_out(other) == as_handed_out(known(of["disabled"]))
    assert other.briefing() == ""
    assert other.permit()


def test_a_tenant_whose_table_does_not_check_is_listed_while_the_others_run(
    service: Service, of: dict[str, Tenant]
) -> None:
    assert known(of["acme"]).resume()["state"] == "reminder"
    told = {line["owner"]: line["why"] for line in log_lines(service) if line["event"] == "policy.disabled"}
    assert set(told) == {"faulty", "typo", "unknown"}
    assert "identity_days" in told["faulty"]
    assert of["faulty"].get("/v1/ops/stats")["policy_problem"] == told["faulty"]
    assert of["acme"].get("/v1/ops/stats")["policy_problem"] is None


# -- contact ------------------------------------------------------------------------------------------------------


def test_outside_the_contact_hours_nobody_is_contacted(of: dict[str, Tenant]) -> None:
    one = known(of["closed"])
    contact = one.resume()["contact"]
    assert (contact["allowed"], contact["reasons"], contact["time_zone"]) == (False, ["outside_hours"], "Asia/Kolkata")
    opens = datetime.fromisoformat(contact["next_allowed_at"])
    assert timedelta(0) < opens - datetime.now(UTC) <= timedelta(days=1)
    assert opens.astimezone(ZoneInfo("Asia/Kolkata")).strftime("%H:%M") in ("22:00", "01:00")
    refused = one.permit(status=409)
    assert (refused["reason"], refused["retry_at"]) == ("outside_hours", contact["next_allowed_at"])
    assert one.resume(direction="inbound")["state"] == "reminder", "hours keep nobody from calling us"
    assert of["closed"].borrower().resume()["contact"]["reasons"] == ["outside_hours"]


def test_the_borrowers_zone_decides_about_the_hours(of: dict[str, Tenant]) -> None:
    one = of["closed"].borrower()
    india = datetime.now(ZoneInfo("Asia/Kolkata"))
    opens = 22 if india.hour < 12 else 1
    zones = [f"Etc/GMT{n:+d}" for n in range(-14, 13)]
    there = next(zone for zone in zones if datetime.now(ZoneInfo(zone)).hour == opens)
    one.link(time_zone=there)
    contact = one.resume()["contact"]
    assert (contact["allowed"], contact["time_zone"]) == (True, there)


def test_so_many_attempts_in_a_week_are_enough(of: dict[str, Tenant]) -> None:
    one = of["careful"].borrower()
    one.says("voice", outcome="no_answer", ended_at=ago(days=8))
    one.says("voice", outcome="no_answer", ended_at=ago(days=6))
    one.says("voice", outcome="connected", direction="inbound", ended_at=ago(days=3))
    one.says("whatsapp", outcome="no_answer", ended_at=ago(days=2))
    assert one.resume("voice")["contact"]["allowed"] is True
    one.says("voice", outcome="busy", ended_at=ago(days=1))
    contact = one.resume("voice")["contact"]
    assert (contact["allowed"], contact["reasons"]) == (False, ["attempts_exceeded"])
    free = datetime.fromisoformat(contact["next_allowed_at"]) - datetime.now(UTC)
    assert timedelta(hours=23) < free < timedelta(hours=25)
    refused = one.permit(channel="voice", status=409)
    assert (refused["reason"], refused["retry_at"]) == ("attempts_exceeded", contact["next_allowed_at"])
    assert one.permit(channel="whatsapp")


# -- identity, permits, reports -----------------------------------------------------------------------------------


def test_with_no_days_of_identity_no_resume_finds_it_holding(of: dict[str, Tenant]) -> None:
    one = known(of["careful"])
    answer = one.resume()
    assert (answer["identity"]["holds"], answer["state"], answer["after_identity"]) == (False, "identity", "reminder")


def test_what_ends_with_time_is_over_without_a_write(of: dict[str, Tenant]) -> None:
    one = of["short"].borrower()
    one.opens()
    one.says("voice", promise(500))
    soon = ago(seconds=-1.2)
    one.event("hold.placed", kind="dispute", reason="x", until=soon)
    one.says("voice", callback={"at": soon, "quote": "abhi"})
    one.verify(occurred_at=ago(seconds=0))

    def standing() -> tuple[bool, ...]:
        answer = one.resume()
        held = of["short"].get("/v1/borrowers", hold="true")["items"]
        return answer["identity"]["holds"], bool(answer["holds"]), answer["callback"] is not None, bool(held)

    assert standing() == (True, True, True, True)
    assert one.resume()["state"] is None
    end = time.monotonic() + PATIENCE_SECONDS
    while any(standing()) and time.monotonic() < end:
        time.sleep(0.1)
    assert standing() == (False, False, False, False)
    assert one.resume()["state"] == "identity"
    assert one.permit()


def test_a_permit_that_has_expired_is_free_for_another(of: dict[str, Tenant]) -> None:
    one = of["careful"].borrower()
    one.opens()
    first = one.permit(holder="a")
    assert one.refused(holder="b") == "held_by_other"
    end = datetime.fromisoformat(first["expires_at"])
    while datetime.now(UTC) < end:
        time.sleep(0.05)
    assert one.permit(holder="b")["permit_id"] != first["permit_id"]


def test_a_report_is_missing_by_the_policys_minutes(of: dict[str, Tenant]) -> None:
    one = of["careful"].borrower()
    one.event("conversation.started", channel="voice", conversation_id=f"k-{another()}", occurred_at=ago(seconds=1))
    items = of["careful"].get("/v1/ops/missing-reports")["items"]
    assert one.id in [i["borrower_id"] for i in items]
    assert of["careful"].get("/v1/ops/stats")["missing_reports"] == len(items)


def test_prose_is_told_as_long_as_it_is_kept(of: dict[str, Tenant]) -> None:
    one = of["brief"].borrower()
    one.says("voice", summary="An old word.", ended_at=ago(days=3))
    one.says("voice", summary="A new word.", ended_at=ago(days=1))
    assert "A new word." in one.briefing()
    assert "An old word." not in one.briefing()


# -- numbers and money --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", [OURS, OURS[3:], f"0{OURS[3:]}", f"whatsapp:{OURS}", f"{OURS[:8]} {OURS[8:]}"])
def test_our_own_number_is_no_borrower(of: dict[str, Tenant], spelling: str) -> None:
    tenant = of["acme"]
    for refused in (
        tenant.summary(identifier=phone(spelling), status=422),
        tenant.resume(identifier=phone(spelling), status=422),
        tenant.lookup(identifier=phone(spelling), status=422),
        tenant.event("identity.verified", identifier=phone(spelling), method="otp", status=422),
        tenant.event("identifier.linked", borrower_id="B", identifier=phone(spelling), status=422),
    ):
        assert refused["errors"][0]["code"] == "invalid_identifier"


def test_each_tenant_has_its_own_region_currency_zone_and_numbers(of: dict[str, Tenant]) -> None:
    abroad = of["abroad"]
    one = abroad.borrower(number="+12125550123")
    one.link()
    assert abroad.lookup(identifier=phone("(212) 555-0123"))["borrower_id"] == one.id
    assert abroad.summary(identifier=phone("212-555-0100"), status=422)
    assert abroad.lookup(identifier=phone(OURS), status=404)["code"] == "unknown_identifier"
    answer = one.says(
        "voice", {"amount_said": "five hundred", "due_date_said": "tomorrow"}, ended_at="2026-01-29T03:00:00Z"
    )
    commitment = one.commitment()
    assert (commitment["amount"], commitment["currency"], commitment["due_date"]) == ("500.00", "USD", "2026-01-29")
    assert warned(answer) == set()
    assert one.resume()["contact"]["time_zone"] == "America/New_York"
    assert of["acme"].lookup(identifier=phone("(212) 555-0123"), status=404)["code"] == "unknown_identifier"


def test_a_cycle_in_another_currency_than_the_policys_is_in_its_own(of: dict[str, Tenant]) -> None:
    one = of["acme"].borrower()
    one.opens(amount="100", currency="USD")
    one.pays("40", currency="USD")
    one.pays("40", currency="INR")
    cycle: Json = one.read()["cycle"]
    assert (cycle["currency"], cycle["received"], cycle["outstanding"]) == ("USD", "40.00", "60.00")
    one.says("voice", promise(60, currency="USD"))
    assert one.commitment()["currency"] == "USD"
