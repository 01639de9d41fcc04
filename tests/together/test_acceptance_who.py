"""Who is the borrower: spellings of numbers, provisional borrowers, links, shared numbers, loans (AC-06 to 09, DESIGN 7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.together.conftest import (
    Borrower,
    Json,
    Tenant,
    another,
    confirmed,
    day,
    phone,
    promise,
    rules,
    terms,
    warned,
)
from tests.together.service import ago

pytestmark = pytest.mark.process


def fresh() -> str:
    """Ten digits of an Indian mobile number that nobody else uses."""
    return f"90000{another():05d}"


# -- spellings ----------------------------------------------------------------------------------------------------


def test_indian_numbers_in_every_common_spelling_reach_one_borrower(acme: Tenant) -> None:
    """AC-06."""
    ten = fresh()
    one = acme.borrower(number=f"+91{ten}")
    one.link()
    version = 1
    for spelling in (
        f"91{ten}", f"0{ten}", f"091{ten}", ten, f"+91-{ten[:5]}-{ten[5:]}", f"whatsapp:+91{ten}", f"+91 {ten[:5]} {ten[5:]}",
        f"0091{ten}", f"tel:+91-{ten}", f"({ten[:5]}) {ten[5:]}", f"+91 (0) {ten}", f"WhatsApp:91{ten}",
    ):  # fmt: skip
        assert acme.lookup(identifier=phone(spelling))["borrower_id"] == one.id, spelling
        answer = acme.summary(identifier=phone(spelling))
        version += 1
        assert (answer["borrower_id"], answer["record_version"]) == (one.id, version), spelling
    assert one.read()["identifiers"] == [
        {"kind": "phone", "value": f"+91{ten}", "verified_at": None, "expires_at": None}
    ]


@pytest.mark.parametrize(
    "bad",
    ["+9190000000017", "90000001", "", "   ", "+", "whatsapp:", "12", "+91900000000", "call me", "+91 90000 0000a"],
)
def test_a_number_that_cannot_be_one_is_refused_and_no_digit_is_cut(acme: Tenant, bad: str) -> None:
    for path, body in (
        ("/v1/summaries", {"channel": "voice", "conversation_id": f"c-{another()}", "ended_at": ago(minutes=1)}),
        ("/v1/resume", {"channel": "voice"}),
        ("/v1/borrowers/lookup", {}),
    ):
        refused = acme.post(path, body | {"identifier": phone(bad)}, status=422)
        assert refused["errors"][0]["code"] == "invalid_identifier", path
        assert bad.strip() == "" or bad not in str(refused)


@pytest.mark.parametrize(
    ("known", "incoming"),
    [
        ("+55 11 9{n}-0001", "55 11 {n}-0001"),
        ("55 21 {n}-0002", "+55 21 9{n}-0002"),
        ("+5511 9{n}0003", "whatsapp:+5511{n}0003"),
        ("+52 55 {n} 0001", "+521 55 {n} 0001"),
        ("521 33 {n} 0002", "+52 33 {n} 0002"),
        ("+54 9 11 {n} 0001", "54 11 {n} 0001"),
        ("+54 11 {n} 0002", "whatsapp:+54911{n}0002"),
    ],
)
def test_one_number_in_two_forms_is_one_borrower(acme: Tenant, known: str, incoming: str) -> None:
    """AC-07, AC-08, and Argentina."""
    n = f"{8 if known.lstrip('+').startswith('55') else 5}{another() % 1000:03d}"
    one = acme.borrower(number=known.format(n=n))
    one.verify()
    before = len(acme.get("/v1/borrowers", limit=200)["items"])
    answer = acme.summary(identifier=phone(incoming.format(n=n)), commitment=promise(300))
    assert answer["borrower_id"] == one.id
    assert len(acme.get("/v1/borrowers", limit=200)["items"]) == before
    resumed = acme.resume("voice", identifier=phone(incoming.format(n=n)))
    assert (resumed["borrower_id"], resumed["identity"]["holds"], resumed["state"]) == (one.id, True, "confirmation")


def test_an_internal_messenger_id_is_no_number_and_keeps_its_conversation(acme: Tenant) -> None:
    """AC-09."""
    internal = f"2350858067{another():05d}@lid"
    kept = acme.summary(identifier={"kind": "messenger", "value": internal}, commitment=promise(800))
    assert kept["borrower_id"].startswith("~messenger:")
    assert acme.lookup(identifier=phone("+" + internal[:15]), status=None)["code"] in (
        "invalid_identifier", "unknown_identifier", "invalid_body",
    )  # fmt: skip
    assert acme.get(f"/v1/borrowers/{kept['borrower_id']}")["identifiers"] == []
    one = acme.borrower()
    one.event("identifier.linked", identifier={"kind": "messenger", "value": internal})
    assert terms(one.commitment()) == ("proposed", "800.00", day(5))


def test_an_internal_messenger_id_given_as_a_phone_is_refused(acme: Tenant) -> None:
    for value in ("235085806700001@lid", "235085806700001", "120363041234567890@g.us"):
        refused = acme.summary(identifier=phone(value), status=422)
        assert refused["errors"][0]["code"] == "invalid_identifier"


def test_kinds_of_identifiers_do_not_meet(acme: Tenant) -> None:
    value = f"x{another()}"
    one, two = acme.borrower(), acme.borrower()
    one.event("identifier.linked", identifier={"kind": "crm", "value": value})
    two.event("identifier.linked", identifier={"kind": "bsuid", "value": value})
    assert acme.lookup(identifier={"kind": "crm", "value": value})["borrower_id"] == one.id
    assert acme.lookup(identifier={"kind": "bsuid", "value": value})["borrower_id"] == two.id
    assert acme.lookup(identifier={"kind": "messenger", "value": value}, status=404)["code"] == "unknown_identifier"


def test_an_email_is_found_in_any_case(acme: Tenant) -> None:
    one = acme.borrower()
    one.event("identifier.linked", identifier={"kind": "email", "value": f"Asha.{one.id}@Example.com"})
    found = acme.lookup(identifier={"kind": "email", "value": f"asha.{one.id.lower()}@example.COM"})
    assert found == {"borrower_id": one.id, "provisional": False}


# -- ids ----------------------------------------------------------------------------------------------------------


def test_ids_are_compared_exactly(acme: Tenant) -> None:
    stem = f"b{another()}"
    ids = [stem, stem.upper(), f"0{stem}", f"{stem}é", f"{stem}e\u0301", f"{stem}.0", f"{stem} x"]
    for number, id_ in enumerate(ids):
        assert acme.summary(borrower_id=id_, commitment=promise(100 + number))["record_version"] == 1
    for number, id_ in enumerate(ids):
        answer = acme.get(f"/v1/borrowers/{id_}")
        assert (answer["borrower_id"], answer["commitment"]["amount"]) == (id_, f"{100 + number}.00")


@pytest.mark.parametrize(
    ("id_", "code"),
    [
        ("", "bad_id"), (" x", "bad_id"), ("x ", "bad_id"), ("x" * 129, "bad_id"), ("a\nb", "bad_id"), ("a/b", "bad_id"),
        ("a\\b", "bad_id"), ("a?b", "bad_id"), ("a#b", "bad_id"), ("a%b", "bad_id"), ("a|b", "bad_id"), ("~a", "bad_id"),
        (7, "wrong_type"), (True, "wrong_type"), ([], "wrong_type"), ({}, "wrong_type"),
    ],
)  # fmt: skip
def test_a_borrower_id_that_is_none_is_refused(acme: Tenant, id_: Any, code: str) -> None:
    reads = (acme.resume, acme.lookup) if id_ != "~a" else ()
    for post in (acme.summary, *reads):
        refused = post(borrower_id=id_, status=422)
        assert refused["errors"] == [{"field": "borrower_id", "code": code}]


def test_a_read_may_name_a_provisional_borrower_a_write_may_not(acme: Tenant) -> None:
    kept = acme.summary(identifier=phone(f"+91{fresh()}"), commitment=promise(90))["borrower_id"]
    assert acme.resume(borrower_id=kept)["commitment"]["amount"] == "90.00"
    assert acme.resume(borrower_id="~phone:0000000000000000")["found"] is False
    assert acme.get("/v1/borrowers/~phone:0000000000000000", status=404)["code"] == "unknown_borrower"
    assert acme.summary(borrower_id=kept, status=422)["errors"] == [{"field": "borrower_id", "code": "bad_id"}]


@pytest.mark.parametrize("who", [{}, {"borrower_id": None}, {"borrower_id": None, "identifier": None, "loan_id": None}])
def test_somebody_has_to_be_named(acme: Tenant, who: Json) -> None:
    for post in (acme.summary, acme.resume, acme.lookup):
        assert post(**who, status=422)["code"] == "invalid_body"
    assert acme.event("hold.placed", kind="other", reason="x", **who, status=422)["code"] == "invalid_body"


def test_the_longest_ids_there_are_travel_through_every_read(acme: Tenant) -> None:
    one = acme.borrower(id_="é" * 127 + str(another() % 10))
    long = "L" * 128
    one.opens(cycle=long[:-1] + "c", loan=long)
    one.says("voice", confirmed(900), conversation_id=long, loan_id=long)
    assert one.commitment(loan_id=long)["promise_id"] == f"voice:{long}"
    page = one.read("timeline", limit=1)
    assert one.read("timeline", limit=1, cursor=page["next_cursor"])["items"]
    assert one.permit(loan_id=long)["cycle_id"] == long[:-1] + "c"


# -- the unknown --------------------------------------------------------------------------------------------------


def test_a_number_nobody_knows_is_kept_under_a_provisional_borrower(acme: Tenant) -> None:
    ten = fresh()
    first = acme.summary(identifier=phone(f"+91{ten}"), commitment=promise(4100))
    second = acme.event("hold.placed", identifier=phone(f"0{ten}"), kind="dispute", reason="not mine")
    id_ = first["borrower_id"]
    assert second["borrower_id"] == id_
    kind, _, digits = id_[1:].partition(":")
    assert (id_[0], kind, len(digits), set(digits) <= set("0123456789abcdef")) == ("~", "phone", 16, True)
    assert ten not in id_
    assert second["record_version"] == 2
    read = acme.get(f"/v1/borrowers/{id_}")
    assert (read["borrower_id"], read["provisional"], terms(read["commitment"])) == (
        id_, True, ("proposed", "4100.00", day(5)),
    )  # fmt: skip
    assert read["holds"][0]["kind"] == "dispute"
    assert acme.lookup(identifier=phone(ten), status=404)["code"] == "unknown_identifier"
    resumed = acme.resume(identifier=phone(ten))
    assert (resumed["found"], resumed["state"], resumed["source"]) == (False, "opening", "cold_start")
    assert id_ in [item["borrower_id"] for item in acme.get("/v1/borrowers", hold="dispute", limit=200)["items"]]


def test_a_link_joins_what_was_kept_of_the_number(acme: Tenant) -> None:
    one = acme.borrower()
    one.opens(amount="9000")
    kept = acme.summary(identifier=one.phone, commitment=promise(4200), summary="He will pay.", ended_at=ago(hours=2))
    verified = acme.event("identity.verified", identifier=one.phone, method="otp", occurred_at=ago(hours=2))
    assert verified["borrower_id"] == kept["borrower_id"]
    one.link(occurred_at=ago(hours=1))
    assert terms(one.commitment()) == ("proposed", "4200.00", day(5))
    assert one.resume()["identity"]["holds"]
    assert "He will pay." in one.briefing()
    assert [i["event_id"] for i in one.timeline()][-1] != kept["event_id"]
    assert {kept["event_id"], verified["event_id"]} <= {i["event_id"] for i in one.timeline()}
    assert one.read()["provisional"] is False
    for path in ("", "/flags", "/briefing", "/timeline", "/facts"):
        answer = acme.get(f"/v1/borrowers/{kept['borrower_id']}{path}")
        assert answer.get("borrower_id", one.id) == one.id, path
    assert acme.get(f"/v1/borrowers/{kept['borrower_id']}")["commitment"] == one.commitment()
    assert acme.lookup(identifier=one.phone) == {"borrower_id": one.id, "provisional": False}
    assert acme.lookup(borrower_id=kept["borrower_id"])["borrower_id"] == one.id
    again = acme.summary(identifier=one.phone, commitment=promise(4300))
    assert again["borrower_id"] == one.id
    assert kept["borrower_id"] not in {i["borrower_id"] for i in acme.get("/v1/borrowers", limit=200)["items"]}


def test_a_link_to_somebody_new_takes_the_evidence_along(acme: Tenant) -> None:
    one = acme.borrower()
    acme.summary(identifier=one.phone, commitment=promise(640))
    acme.event("contact.opted_out", identifier=one.phone, channel="voice")
    one.link(occurred_at=ago(seconds=5))
    assert terms(one.commitment()) == ("proposed", "640.00", day(5))
    assert one.read()["opt_outs"][0]["channel"] == "voice"


def test_an_identifier_of_the_wrong_borrower_is_left_out_of_every_conclusion(acme: Tenant) -> None:
    one = acme.borrower()
    one.opens(amount="9000")
    one.says("voice", confirmed(1000), ended_at=ago(hours=5))
    one.link(occurred_at=ago(hours=4))
    acme.event("identity.verified", identifier=one.phone, method="otp", occurred_at=ago(hours=3))
    acme.summary(identifier=one.phone, commitment=promise(7000, day(9)), ended_at=ago(hours=2), summary="Not theirs.")
    acme.event("hold.placed", identifier=one.phone, kind="dispute", reason="not theirs", occurred_at=ago(hours=2))
    assert one.read()["counter_proposals"]
    assert one.read()["holds"]
    one.event("identifier.unlinked", identifier=one.phone, reason="wrong_borrower")
    read = one.read()
    assert terms(read["commitment"]) == ("confirmed", "1000.00", day(5))
    assert (read["counter_proposals"], read["holds"], read["identifiers"]) == ([], [], [])
    assert one.resume()["identity"]["holds"] is False
    assert "Not theirs." not in one.briefing()
    kept = acme.summary(identifier=one.phone, commitment=promise(55))
    assert kept["borrower_id"].startswith("~phone:")


def test_another_reason_to_unlink_keeps_what_was_said(acme: Tenant) -> None:
    one = acme.borrower()
    one.link()
    acme.summary(identifier=one.phone, commitment=promise(710), ended_at=ago(hours=2))
    one.event("identifier.unlinked", identifier=one.phone, reason="number given up")
    assert terms(one.commitment()) == ("proposed", "710.00", day(5))
    assert one.read()["identifiers"] == []
    assert acme.lookup(identifier=one.phone, status=404)["code"] == "unknown_identifier"


def test_identity_does_not_outlive_its_link(borrower: Borrower) -> None:
    borrower.verify()
    borrower.says("voice", promise(300))
    assert borrower.resume()["state"] == "confirmation"
    borrower.event("identifier.unlinked", identifier=borrower.phone, reason="number given up")
    assert borrower.resume()["state"] == "identity"


# -- shared and contradicting -------------------------------------------------------------------------------------


def shared(acme: Tenant) -> tuple[Borrower, Borrower]:
    """Two borrowers on one number, each with a loan."""
    one = acme.borrower()
    two = acme.borrower(number=one.number)
    for b in (one, two):
        b.link()
        b.opens()
    return one, two


def test_a_shared_number_is_a_candidate_and_never_proof(acme: Tenant) -> None:
    one, two = shared(acme)
    for refused in (
        acme.summary(identifier=one.phone, status=409),
        acme.event("hold.placed", identifier=one.phone, kind="other", reason="x", status=409),
        acme.lookup(identifier=one.phone, status=409),
    ):
        assert refused["code"] == "ambiguous_identifier"
        assert sorted(refused["candidates"]) == sorted([one.id, two.id])
    resumed = acme.resume(identifier=one.phone)
    assert (resumed["found"], resumed["state"], resumed["borrower_id"]) == (False, "opening", None)
    assert rules(resumed) == {"ambiguous_identifier"}
    assert resumed["commitment"] is None


def test_the_loan_says_which_of_those_who_share_a_number_is_meant(acme: Tenant) -> None:
    one, two = shared(acme)
    answer = acme.summary(identifier=one.phone, loan_id=f"LN-{two.id}", commitment=promise(230))
    assert answer["borrower_id"] == two.id
    resumed = acme.resume(identifier=one.phone, loan_id=f"LN-{two.id}")
    assert (resumed["borrower_id"], terms(resumed["commitment"])) == (two.id, ("proposed", "230.00", day(5)))
    assert acme.lookup(identifier=one.phone, loan_id=f"LN-{one.id}")["borrower_id"] == one.id
    assert acme.summary(identifier=one.phone, loan_id="LN-of-nobody", status=409)["code"] == "ambiguous_identifier"


def test_the_id_says_it_too_and_needs_no_warning(acme: Tenant) -> None:
    one, two = shared(acme)
    answer = acme.summary(identifier=one.phone, borrower_id=two.id)
    assert (answer["borrower_id"], answer["warnings"]) == (two.id, [])


def test_a_shared_number_is_strict_about_contact(acme: Tenant) -> None:
    one, two = shared(acme)
    two.event("contact.opted_out", channel="voice")
    resumed = acme.resume(identifier=one.phone)
    assert (resumed["contact"]["allowed"], resumed["contact"]["reasons"]) == (False, ["opted_out"])


def test_a_number_that_is_shared_no_longer_is_proof_again(acme: Tenant) -> None:
    one, two = shared(acme)
    two.event("identifier.unlinked", identifier=one.phone, reason="number given up")
    assert acme.summary(identifier=one.phone)["borrower_id"] == one.id


def test_a_verification_by_a_shared_number_needs_the_borrower(acme: Tenant) -> None:
    one, two = shared(acme)
    assert acme.event("identity.verified", identifier=one.phone, method="otp", status=409)["candidates"]
    one.event("identity.verified", identifier=one.phone, method="otp")
    assert one.resume()["identity"]["holds"]
    assert not two.resume()["identity"]["holds"]


def test_an_id_with_somebody_elses_number_warns_and_links_nothing(acme: Tenant) -> None:
    one, other = acme.borrower(), acme.borrower()
    other.link()
    answer = acme.summary(borrower_id=one.id, identifier=other.phone, commitment=promise(120))
    assert (answer["borrower_id"], warned(answer)) == (one.id, {"identifier_mismatch"})
    assert acme.lookup(identifier=other.phone)["borrower_id"] == other.id
    assert one.read()["identifiers"] == []
    assert other.commitment() is None


def test_an_id_with_an_unlinked_number_warns_and_links_nothing(acme: Tenant) -> None:
    one = acme.borrower()
    answer = acme.summary(borrower_id=one.id, identifier=one.phone)
    assert warned(answer) == {"identifier_not_linked"}
    assert acme.lookup(identifier=one.phone, status=404)["code"] == "unknown_identifier"


def test_a_verification_of_an_unlinked_number_links_nothing(acme: Tenant) -> None:
    one = acme.borrower()
    answer = one.event("identity.verified", identifier=one.phone, method="otp")
    assert warned(answer) == {"identifier_not_linked"}
    assert acme.lookup(identifier=one.phone, status=404)["code"] == "unknown_identifier"


# -- loans --------------------------------------------------------------------------------------------------------


def test_a_loan_alone_means_the_borrower_of_its_cycle(acme: Tenant) -> None:
    one = acme.borrower()
    one.opens(loan=f"LN-{one.id}")
    assert acme.lookup(loan_id=f"LN-{one.id}")["borrower_id"] == one.id
    answer = acme.event(
        "payment.confirmed", loan_id=f"LN-{one.id}", payment_ref=f"P-{one.id}", amount=50, currency="INR"
    )
    assert answer["borrower_id"] == one.id
    assert acme.resume(loan_id=f"LN-{one.id}")["borrower_id"] == one.id
    assert acme.lookup(loan_id="LN-nobody", status=404)["code"] == "unknown_loan"
    assert acme.resume(loan_id="LN-nobody")["found"] is False


def test_what_named_a_loan_before_its_cycle_was_opened_joins_its_borrower(acme: Tenant) -> None:
    one = acme.borrower()
    loan = f"LN-{one.id}"
    early = acme.summary(loan_id=loan, commitment=promise(330), ended_at=ago(days=2))
    assert early["borrower_id"].startswith("~loan:")
    paid = acme.event("payment.confirmed", loan_id=loan, payment_ref=f"P-{loan}", amount=30, currency="INR")
    assert paid["borrower_id"] == early["borrower_id"]
    one.opens(loan=loan)
    read = one.read(loan_id=loan)
    assert terms(read["commitment"]) == ("proposed", "330.00", day(5))
    assert (read["cycle"]["received"], read["cycle"]["outstanding"]) == ("30.00", "12470.00")
    assert acme.get(f"/v1/borrowers/{early['borrower_id']}")["borrower_id"] == one.id
    assert acme.summary(loan_id=loan)["borrower_id"] == one.id


def test_two_loans_with_the_same_cycle_ids_are_told_apart(acme: Tenant) -> None:
    one = acme.borrower()
    loans = [f"LN-{one.id}-{n}" for n in (1, 2)]
    for number, loan in enumerate(loans, 1):
        one.opens(cycle="2026-11", loan=loan, amount=str(1000 * number), occurred_at=ago(days=20 - number))
    one.says("voice", confirmed(700), loan_id=loans[0], cycle_id="2026-11")
    one.says("whatsapp", promise(800), loan_id=loans[1])
    one.is_sent(loan_id=loans[0])
    one.pays("2000", loan_id=loans[1], cycle_id="2026-11")
    first, second = one.read(loan_id=loans[0]), one.read(loan_id=loans[1])
    assert terms(first["commitment"]) == ("confirmed", "700.00", day(5))
    assert terms(second["commitment"]) == ("proposed", "800.00", day(5))
    assert [first["flags"]["reminded"], second["flags"]["reminded"]] == [True, False]
    assert [first["stage"], second["stage"]] == ["reminded", "paid"]
    assert [first["cycle"]["outstanding"], second["cycle"]["outstanding"]] == ["1000.00", "0.00"]
    whole = one.read()
    assert whole["cycle"]["loan_id"] == loans[0], "of each loan's newest cycle the one that is still open"
    resumed = one.resume(loan_id=loans[1])
    assert (resumed["loan_id"], resumed["other_loans"]) == (loans[1], [loans[0]])
    assert one.read(loan_id="LN-x", status=404)["code"] == "unknown_loan"
    empty = one.resume(loan_id="LN-x")
    assert (empty["found"], empty["commitment"], empty["cycle"]["cycle_id"]) == (True, None, None)
    assert one.permit(loan_id="LN-x", status=404)["code"] == "unknown_loan"


def test_without_a_loan_the_cycle_opened_last_that_is_open_is_meant(acme: Tenant) -> None:
    one = acme.borrower()
    for number, days in ((1, 30), (2, 20), (3, 10)):
        one.opens(cycle=f"CY-{number}", loan=f"LN-{one.id}-{number}", occurred_at=ago(days=days))
    assert one.read()["cycle"]["loan_id"] == f"LN-{one.id}-3"
    one.event("cycle.closed", cycle_id="CY-3", loan_id=f"LN-{one.id}-3", reason="recalled")
    assert one.read()["cycle"]["loan_id"] == f"LN-{one.id}-2"
    for number in (1, 2):
        one.event("cycle.closed", cycle_id=f"CY-{number}", loan_id=f"LN-{one.id}-{number}", reason="other")
    assert one.read()["cycle"]["loan_id"] == f"LN-{one.id}-3"
    assert sorted(c["cycle_id"] for c in one.read()["cycles"]) == ["CY-1", "CY-2", "CY-3"]
