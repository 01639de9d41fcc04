"""What may be an id: any sign that stands for itself, and none that is a control or cannot be seen at an end; and what is a time
(API 1)."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

import pytest
from pydantic import TypeAdapter, ValidationError

from statemachine.wire import AnyBorrowerId, BorrowerId, Id, Instant

OF_DIRECTION = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@cache
def controls() -> list[str]:
    signs = map(chr, range(sys.maxunicode))
    return [sign for sign in signs if unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Cs")]


@cache
def blanks() -> list[str]:
    return [sign for sign in map(chr, range(sys.maxunicode)) if sign.isspace()] + ["\u200b", "\u2060", "\ufeff"]


def taken(text: str, kind: object = Id) -> bool:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    try:
        return adapter.validate_python(text) == text
    except ValidationError as wrong:
        return [error["type"] for error in wrong.errors()] != ["bad_id"]


@pytest.mark.parametrize("kind", [Id, BorrowerId, AnyBorrowerId])
def test_no_control_stands_anywhere_in_an_id(kind: object) -> None:
    assert len(controls()) == 65 + 2 + 2048
    for sign in controls()[::16] + controls()[:67] + OF_DIRECTION + ["\u2028", "\u2029", "\x85"]:
        assert not any(taken(text, kind) for text in (f"B{sign}1", f"{sign}B1", f"B1{sign}", sign)), hex(ord(sign))


@pytest.mark.parametrize("kind", [Id, BorrowerId, AnyBorrowerId])
def test_no_blank_stands_at_an_end_seen_or_not(kind: object) -> None:
    for sign in blanks():
        assert not any(taken(text, kind) for text in (f"{sign}B1", f"B1{sign}", sign, f"{sign}B1{sign}")), hex(
            ord(sign)
        )


@pytest.mark.parametrize(
    "text",
    [
        "B 1", "B\u00a01", "B\u20031", "B\u200b1",  # a blank within, of any width
        "क्\u200dष", "می\u200cخواهم",  # joiners of a script
        "👩\u200d👩\u200d👧", "❤\ufe0f", "e\u0301", "é", "n\u00ad1", "\ue000", "x" * 128, "x", "字" * 128,
    ],
)  # fmt: skip
def test_every_other_sign_is_part_of_an_id(text: str) -> None:
    assert taken(text)
    assert taken(text, BorrowerId)


def test_what_a_path_cannot_hold_is_no_borrower_and_may_be_another_id() -> None:
    for sign in "/\\?#%|":
        assert taken(f"B{sign}1")
        assert not taken(f"B{sign}1", BorrowerId)
        assert not taken(f"B{sign}1", AnyBorrowerId)
    assert taken("~phone:0", AnyBorrowerId)
    assert not taken("~phone:0", BorrowerId)
    assert taken("B~1", BorrowerId)


@pytest.mark.parametrize("offset", ["Z", "z", "+05:30", "-00:00", "+0530", "+23:59", "-23:59"])
def test_a_time_has_its_offset(offset: str) -> None:
    assert TypeAdapter(Instant).validate_python(f"2026-11-29T10:00:00{offset}").utcoffset() is not None


@pytest.mark.parametrize("offset", ["+05:60", "+05:99", "+24:00", "-24:00", "+5:30", "+05", "Zz", " Z"])
def test_an_offset_that_no_zone_can_have_is_no_time(offset: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Instant).validate_python(f"2026-11-29T10:00:00{offset}")
    assert [error["type"] for error in caught.value.errors()] == ["wrong_type"]
