"""Who is meant: the table of the contract, row by row, for reads and for writes (API 1, DESIGN 7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from channels.identifiers import canonical
from service import naming
from service.errors import InvalidBody
from service.intake.envelope import provisional_id
from service.naming import Called, Named
from service.policy import Policy
from statemachine.entries import Identifier
from tests.service.api import Answer, Api, Body, api
from tests.service.embedded import SECRETS, TENANT

ASHAS, SHARED, UNKNOWN = "+919000000001", "+919000000002", "+919000000003"
POLICY = Policy(own_numbers=("02200000007", "nonsense"))


def phone(value: str) -> Identifier:
    return Identifier(kind="phone", value=value)


async def links(service: Api) -> None:
    """B-asha has a number, LN-asha, and shares another number with B-ravi, who has LN-ravi; both have LN-both."""
    due = {"due_date": service.day(9), "amount_due": "1", "currency": "INR", "cycle_id": "CY"}
    for borrower, loans, numbers in (
        ("B-asha", ("LN-asha", "LN-both"), (ASHAS, SHARED)),
        ("B-ravi", ("LN-ravi", "LN-both"), (SHARED,)),
    ):
        for loan in loans:
            assert (await service.event("cycle.opened", borrower, loan_id=loan, **due)).status == 200
        for number in numbers:
            linked = {"identifier": {"kind": "phone", "value": number}}
            assert (await service.event("identifier.linked", borrower, **linked)).status == 200


def provisional(kind: str, value: str) -> Named:
    return Named(None, provisional_id=provisional_id(SECRETS, kind, value))


# given -> the borrower; a warning; or several; or nobody, and where a write is kept
TABLE: list[tuple[Called, Named]] = [
    (Called("B-asha", None, None), Named("B-asha")),
    (Called("B-new", None, None), Named("B-new")),
    (Called("B-asha", phone(ASHAS), None), Named("B-asha")),
    (Called("B-asha", phone(SHARED), None), Named("B-asha")),
    (Called("B-ravi", phone(ASHAS), None), Named("B-ravi", warning="identifier_mismatch")),
    (Called("B-asha", phone(UNKNOWN), None), Named("B-asha", warning="identifier_not_linked")),
    (Called("B-asha", None, "LN-ravi"), Named("B-asha")),
    (Called(None, phone(ASHAS), None), Named("B-asha")),
    (Called(None, phone(ASHAS), "LN-ravi"), Named("B-asha")),
    (Called(None, phone(SHARED), None), Named(None, candidates=("B-asha", "B-ravi"))),
    (Called(None, phone(SHARED), "LN-asha"), Named("B-asha")),
    (Called(None, phone(SHARED), "LN-ravi"), Named("B-ravi")),
    (Called(None, phone(SHARED), "LN-both"), Named(None, candidates=("B-asha", "B-ravi"))),
    (Called(None, phone(SHARED), "LN-404"), Named(None, candidates=("B-asha", "B-ravi"))),
    (Called(None, None, "LN-asha"), Named("B-asha")),
    (Called(None, None, "LN-both"), Named(None, candidates=("B-asha", "B-ravi"))),
    (Called(None, None, "LN-404"), provisional("loan", "LN-404")),
    (Called(None, phone(UNKNOWN), None), provisional("phone", UNKNOWN)),
    (Called(None, phone(UNKNOWN), "LN-404"), provisional("phone", UNKNOWN)),
    (Called(None, phone(UNKNOWN), "LN-asha"), Named("B-asha", warning="identifier_not_linked")),
    (Called(None, Identifier(kind="bsuid", value="IN.1"), None), provisional("bsuid", "IN.1")),
]


async def test_whoever_is_named_is_found_by_the_table_of_the_contract(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await links(service)
        for who, expected in TABLE:
            found = await service.behind.database.read(lambda c, who=who: naming.find(c, TENANT, who, SECRETS))  # type: ignore[misc]
            assert found == expected, who
        for who, _ in TABLE:
            other = await service.behind.database.read(lambda c, who=who: naming.find(c, "zen", who, SECRETS))  # type: ignore[misc]
            assert other.candidates == (), "nobody of another tenant"
            assert other.borrower_id == who.borrower_id


async def test_reads_and_writes_answer_by_the_same_table(tmp_path: Path) -> None:
    """A read of nobody is 404 and a write is kept; of several both are 409, and a resume is a cold start."""
    async with api(tmp_path) as service:
        await links(service)
        for who, expected in TABLE:
            body: Body = {
                "borrower_id": who.borrower_id,
                "identifier": who.identifier and who.identifier.model_dump(),
                "loan_id": who.loan_id,
            }
            looked_up = await service.post("/v1/borrowers/lookup", body)
            written = await service.told(**body)
            if expected.candidates:
                _ambiguous(looked_up, expected.candidates)
                _ambiguous(written, expected.candidates)
                continue
            assert written.status == 200
            assert written["borrower_id"] == expected.borrower_id or expected.provisional_id
            codes = [warning["code"] for warning in written["warnings"]]
            assert codes == ([expected.warning] if expected.warning else [])
            if expected.provisional_id or expected.borrower_id == "B-new":
                assert looked_up.status == 404
            else:
                assert looked_up.document == {"borrower_id": expected.borrower_id, "provisional": False}


def _ambiguous(answer: Answer, candidates: tuple[str, ...]) -> None:
    assert (answer.status, answer["code"]) == (409, "ambiguous_identifier")
    assert answer["candidates"] == list(candidates)


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ({"borrower_id": "B-404"}, "unknown_borrower"),
        ({"borrower_id": "~phone:0123456789abcdef"}, "unknown_borrower"),
        ({"identifier": {"kind": "phone", "value": UNKNOWN}}, "unknown_identifier"),
        ({"loan_id": "LN-404"}, "unknown_loan"),
    ],
)
async def test_a_look_up_of_nobody_says_what_is_unknown(tmp_path: Path, who: Body, code: str) -> None:
    async with api(tmp_path) as service:
        answer = await service.post("/v1/borrowers/lookup", who)
        assert (answer.status, answer["code"]) == (404, code)


async def test_a_provisional_borrower_answers_and_then_answers_as_whoever_it_is(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        who = {"identifier": {"kind": "phone", "value": UNKNOWN}}
        kept = (await service.told(**who))["borrower_id"]
        assert kept == provisional_id(SECRETS, "phone", UNKNOWN)
        assert UNKNOWN[3:] not in kept
        assert (await service.post("/v1/borrowers/lookup", {"borrower_id": kept})).document == {
            "borrower_id": kept, "provisional": True,
        }  # fmt: skip
        await service.event("identifier.linked", "B-asha", **who)
        await service.behind.settled()
        for asked in ({"borrower_id": kept}, who):
            assert (await service.post("/v1/borrowers/lookup", asked)).document == {
                "borrower_id": "B-asha", "provisional": False,
            }  # fmt: skip


# -- what is named -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelled", ["9000000001", "09000000001", "919000000001", "+91 90000-00001", "whatsapp:+919000000001"]
)
def test_an_identifier_is_called_by_its_canonical_form(spelled: str) -> None:
    who = naming.called(None, phone(spelled), None, POLICY)
    assert who == Called(None, phone(ASHAS), None)
    assert who.key == f"phone:{ASHAS}" == f"phone:{canonical('phone', spelled, region='IN')}"


def test_without_an_identifier_there_is_no_key() -> None:
    assert naming.called("B-1", None, "LN-1", POLICY).key is None


@pytest.mark.parametrize(
    ("given", "field", "code"),
    [
        ((None, None, None), "borrower_id", "missing"),
        ((None, phone("90000001"), None), "identifier", "invalid_identifier"),
        (("B-1", phone("+9190000000017"), None), "identifier", "invalid_identifier"),
        ((None, phone("022 0000 0007"), None), "identifier", "invalid_identifier"),
        ((None, phone("+912200000007"), "LN-1"), "identifier", "invalid_identifier"),
        ((None, Identifier(kind="email", value=""), None), "identifier", "invalid_identifier"),
    ],
    ids=["nobody", "too short", "too long", "ours", "ours, abroad", "blank"],
)
def test_nobody_a_number_that_cannot_be_one_and_our_own_are_refused(given: Any, field: str, code: str) -> None:
    with pytest.raises(InvalidBody) as refused:
        naming.called(*given, POLICY)
    assert [(error.field, error.code) for error in refused.value.errors] == [(field, code)]


def test_our_own_numbers_are_known_in_every_spelling_and_nonsense_guards_nothing() -> None:
    assert naming.own_numbers(POLICY) == {"+912200000007"}
