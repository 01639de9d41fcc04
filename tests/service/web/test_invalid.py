"""A client's document that a model does not take: which fields are named, and with which code of API 14."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

import pydantic
import pytest
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from service import errors
from service.errors import Problem
from service.web import invalid

SECRET = "Zq7Geheim"

INPUT_CODES_OF_THE_CONTRACT = """
unknown_field missing wrong_type not_in_enum not_a_date naive_timestamp time_in_future bad_id invalid_identifier
unknown_type too_many too_long
"""


def _an_id(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("bad_id", "no id: {given}", {"given": value})
    return value


def _a_small_object(value: dict[str, Any]) -> dict[str, Any]:
    if len(str(value)) > 100:
        raise PydanticCustomError("too_large", "too large")
    return value


def _a_short_text(value: str) -> str:
    if len(value) > 5:
        raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": 5})
    return value


Id = Annotated[str, AfterValidator(_an_id)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Identifier(Strict):
    kind: Literal["phone", "crm"]
    value: str


class Commitment(Strict):
    amount: Decimal | str | None = None
    due_date: Annotated[date | None, Field(strict=False)] = None
    read_back: bool = False


class Summary(Strict):
    borrower_id: Id | None = None
    identifier: Identifier | None = None
    conversation_id: Id
    channel: Literal["voice", "whatsapp"] = "voice"
    revision: Annotated[int, Field(ge=1)] = 1
    ended_at: Annotated[AwareDatetime | None, Field(strict=False)] = None
    summary: Annotated[str, Field(max_length=20)] = ""
    disposition: Annotated[str, Field(max_length=5)] = ""
    third_party: Annotated[str, AfterValidator(_a_short_text)] = ""
    commitment: Commitment | None = None
    turns: Annotated[list[Identifier], Field(max_length=2)] = []
    tools: dict[str, int] = {}
    extra: Annotated[dict[str, Any], AfterValidator(_a_small_object)] = {}

    @pydantic.model_validator(mode="after")
    def _somebody(self) -> "Summary":
        if self.channel == "whatsapp" and self.borrower_id is None:
            raise PydanticCustomError("missing", "nobody is named", {"field": "borrower_id"})
        return self


class Paid(Strict):
    type: Literal["payment.confirmed"]
    amount: Decimal
    settles: bool = False


class Stated(Strict):
    type: Literal["fact.stated"]
    text: str
    who: Annotated[Identifier | list[int] | None, Field()] = None


Event = TypeAdapter(Annotated[Paid | Stated, Field(discriminator="type")])
Batch = TypeAdapter(dict[Literal["events"], list[Annotated[Paid | Stated, Field(discriminator="type")]]])
Summaries = TypeAdapter(Summary)
GOOD = {"conversation_id": "c"}


def refused(model: TypeAdapter[Any], document: object, **more: Any) -> Problem:
    with pytest.raises(ValidationError) as caught:
        model.validate_python(document)
    return invalid.invalid_body(caught.value, document, **more)


@pytest.mark.parametrize(
    ("model", "document", "wanted"),
    [
        (Summaries, {**GOOD, "paid": 1}, [("paid", "unknown_field")]),
        (Summaries, {**GOOD, "paid": 1, "sent": 2}, [("paid", "unknown_field"), ("sent", "unknown_field")]),
        (Summaries, {**GOOD, "commitment": {"paid": True}}, [("commitment.paid", "unknown_field")]),
        (Summaries, {}, [("conversation_id", "missing")]),
        (Summaries, {"conversation_id": 7}, [("conversation_id", "wrong_type")]),
        (Summaries, {"conversation_id": ""}, [("conversation_id", "bad_id")]),
        (Summaries, {"conversation_id": "  "}, [("conversation_id", "bad_id")]),
        (Summaries, {**GOOD, "channel": SECRET}, [("channel", "not_in_enum")]),
        (Summaries, {**GOOD, "revision": "two"}, [("revision", "wrong_type")]),
        (Summaries, {**GOOD, "revision": 0}, [("revision", "wrong_type")]),
        (Summaries, {**GOOD, "revision": True}, [("revision", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"amount": [SECRET]}}, [("commitment.amount", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"amount": {}}}, [("commitment.amount", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"read_back": "yes"}}, [("commitment.read_back", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"due_date": SECRET}}, [("commitment.due_date", "not_a_date")]),
        (Summaries, {**GOOD, "commitment": {"due_date": "2026-01-28T10:00"}}, [("commitment.due_date", "not_a_date")]),
        (Summaries, {**GOOD, "commitment": {"due_date": "2026-02-30"}}, [("commitment.due_date", "not_a_date")]),
        (Summaries, {**GOOD, "commitment": []}, [("commitment", "wrong_type")]),
        (Summaries, {**GOOD, "ended_at": "2026-01-28T18:05:00"}, [("ended_at", "naive_timestamp")]),
        (Summaries, {**GOOD, "ended_at": SECRET}, [("ended_at", "not_a_date")]),
        (Summaries, {**GOOD, "turns": [{}, {}, {}]}, [("turns", "too_many")]),
        (Summaries, {**GOOD, "turns": [{"kind": "crm"}]}, [("turns.0.value", "missing")]),
        (Summaries, {**GOOD, "disposition": "x" * 6}, [("disposition", "too_long")]),
        (Summaries, {**GOOD, "third_party": "x" * 6}, [("third_party", "too_long")]),
        (Summaries, {**GOOD, "tools": {"get.dues": SECRET}}, [("tools.get.dues", "wrong_type")]),
        (Summaries, {**GOOD, "channel": "whatsapp"}, [("borrower_id", "missing")]),
        (Summaries, None, [("body", "wrong_type")]),
        (Summaries, [], [("body", "wrong_type")]),
        (Event, {"amount": 1}, [("type", "missing")]),
        (Event, {"type": SECRET}, [("type", "unknown_type")]),
        (Event, {"type": 7}, [("type", "unknown_type")]),
        (Event, {"type": ["payment.confirmed"]}, [("type", "unknown_type")]),
        (Event, {"type": "payment.confirmed"}, [("amount", "missing")]),
        (
            Event,
            {"type": "payment.confirmed", "amount": Decimal(5), "settles": "yes", "text": ""},
            [("settles", "wrong_type"), ("text", "unknown_field")],
        ),
        (
            Event,
            {"type": "fact.stated", "text": "x", "who": {"kind": 1}},
            [("who.kind", "not_in_enum"), ("who.value", "missing"), ("who", "wrong_type")],
        ),
        (Event, {"type": "fact.stated", "text": "x", "who": 3}, [("who", "wrong_type")]),
        (Event, {"type": "fact.stated", "fact.stated": 1, "text": "x"}, [("fact.stated", "unknown_field")]),
        (
            Batch,
            {"events": [{"type": "payment.confirmed", "amount": SECRET}, {}, {"type": "x"}]},
            [("events.0.amount", "wrong_type"), ("events.1.type", "missing"), ("events.2.type", "unknown_type")],
        ),
    ],
)
def test_fields_are_named_as_the_client_wrote_them(
    model: TypeAdapter[Any], document: object, wanted: list[tuple[str, str]]
) -> None:
    problem = refused(model, document)
    assert problem.code == "invalid_body"
    assert sorted(problem.errors) == sorted(wanted)
    assert SECRET not in str(problem.body())


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({**GOOD, "summary": "y" * 200}, "summary"),
        ({**GOOD, "summary": "y" * 200, "paid": 1}, "summary"),
        ({**GOOD, "extra": {"x": "y" * 200}}, "extra"),
    ],
)
def test_prose_that_is_too_long_is_too_large_and_named(document: object, field: str) -> None:
    problem = refused(Summaries, document)
    assert (problem.status, problem.code) == (413, "too_large")
    assert [error.field for error in problem.errors] == [field]


def test_which_texts_are_prose_can_be_said() -> None:
    assert refused(Summaries, {**GOOD, "disposition": "x" * 9}, prose={"disposition"}).code == "too_large"


def test_the_codes_are_those_of_the_contract() -> None:
    assert set(INPUT_CODES_OF_THE_CONTRACT.split()) == invalid.INPUT_CODES


@pytest.mark.parametrize("kind", get_args(core_schema.ErrorType))
def test_every_error_that_pydantic_knows_has_a_code_of_the_contract(kind: str) -> None:
    error = invalid._field_error({"type": kind, "loc": ("x",), "ctx": {"discriminator": "'type'"}}, {"x": 1})
    assert error.code in INPUT_CODES_OF_THE_CONTRACT.split()


@pytest.mark.parametrize(
    ("repaired", "wanted"),
    [
        (("summary", "turns.3.text"), []),
        (("conversation_id",), [("conversation_id", "bad_id")]),
        (("extra.borrower_id", "events.3.extra.x.event_id"), []),
        (("events.3.payment_ref",), [("events.3.payment_ref", "bad_id")]),
        (("identifier.value", "summary"), [("identifier.value", "invalid_identifier")]),
    ],
)
def test_a_repaired_id_is_refused_by_name(repaired: tuple[str, ...], wanted: list[tuple[str, str]]) -> None:
    assert invalid.broken_ids(repaired) == wanted
    if wanted:
        with pytest.raises(errors.InvalidBody) as caught:
            invalid.refuse_broken_ids(repaired)
        assert caught.value.errors == tuple(wanted)
    else:
        invalid.refuse_broken_ids(repaired)


def test_a_repaired_id_is_told_beside_the_other_faults() -> None:
    problem = refused(Summaries, {"conversation_id": "c\ufffd", "paid": 1}, repaired=("conversation_id", "summary"))
    assert set(problem.errors) == {("conversation_id", "bad_id"), ("paid", "unknown_field")}


def test_of_very_many_faults_the_first_are_told_and_that_there_are_more() -> None:
    unknown = {f"k{number}": 1 for number in range(invalid.ERRORS_READ)}
    few = refused(Summaries, {**GOOD, **unknown})
    assert (len(few.errors), few.body()["detail"]) == (invalid.ERRORS_READ, f"{invalid.ERRORS_READ} fields are wrong")
    many = refused(Summaries, {**GOOD, **unknown, "one": 1})
    assert many.body()["detail"] == "more than 1,000 fields are wrong"
    assert {error.code for error in many.errors} == {"unknown_field"}
