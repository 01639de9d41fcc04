"""One spelling for each way to name a borrower from outside: phone numbers above all (DESIGN 7, API 1).

A phone number that is merely possible is taken: numbering plans change faster than tables of them (VENDORS B.2). Digits are
never cut or added to make a number fit; the three countries whose mobile numbers are in use in two forms are a table.
This module must not know who a number belongs to, which numbers are ours, or where anything is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from phonenumbers import (
    NumberParseException,
    PhoneNumber,
    PhoneNumberFormat,
    PhoneNumberType,
    ValidationResult,
    country_code_for_region,
    format_number,
    is_possible_number_for_type_with_reason,
    is_valid_number,
    national_significant_number,
    ndd_prefix_for_region,
    parse,
)

LONGEST_VALUE_CHARACTERS = 254  # an e-mail address; every other id is shorter
LONGEST_ID_CHARACTERS = 128  # API 1
LONGEST_BARE_DIGITS = 14  # without a plus or "00"; longer ones are ids of a messenger, not numbers
SHORTEST_WITH_COUNTRY_CODE = 11
CACHED_SPELLINGS = 16_384
ARGENTINA = 54  # at home a mobile is dialled with 15 behind its area, from abroad with 9 in front of it

# What carriers and voice platforms send for a caller who withholds the number; some look like possible numbers.
WITHHELD_CALLERS = frozenset({"+266696687", "+7378742833", "+2562533", "+8656696", "+86282452253"})


class InvalidIdentifier(ValueError):
    """A value that cannot be an identifier of its kind. It carries no value: the value may be somebody's number."""


def canonical(kind: str, value: str, *, region: str) -> str:
    """The one spelling under which an identifier is looked up and shown.

    `kind` is one of API 1's; `region` is the two-letter country in which national numbers are read. A phone becomes
    `+919000000101`, an e-mail address is folded to lower case as a whole, every other id stays as it is but for blanks at
    its ends. Raises `InvalidIdentifier` for what cannot be an identifier of this kind.
    """
    reader = _READERS.get(kind)
    if reader is None:
        raise InvalidIdentifier("unknown kind of identifier")
    return reader(value, region)


def aliases(kind: str, canonical_value: str) -> tuple[str, ...]:
    """Every canonical spelling under which one identifier may have been stored, itself first (DESIGN 7)."""
    if kind != "phone":
        return (canonical_value,)
    for country in _TWO_FORMS:
        if match := country.in_use.fullmatch(canonical_value):
            return canonical_value, match.expand(country.other)
    return (canonical_value,)


# -- phones -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TwoForms:
    """A country whose mobile numbers are in use in two forms. `former` matches the one that is turned into ours, `in_use`
    ours; `ours` and `other` write the one from the other."""

    former: re.Pattern[str]
    ours: str
    in_use: re.Pattern[str]
    other: str


_TWO_FORMS = (
    # Mexico: the 1 after the country code is gone from the plan, but not from messengers.
    _TwoForms(re.compile(r"\+521(\d{10})"), r"+52\1", re.compile(r"\+52(\d{10})"), r"+521\1"),
    # Argentina: a 9 after the country code marks a mobile from abroad.
    _TwoForms(re.compile(r"\+54([1-8]\d{9})"), r"+549\1", re.compile(r"\+549([1-8]\d{9})"), r"+54\1"),
    # Brazil: mobile numbers (6 to 9) took a ninth digit, a 9 after the two of the area.
    _TwoForms(
        re.compile(r"\+55(\d\d)([6-9]\d{7})"), r"+55\g<1>9\2", re.compile(r"\+55(\d\d)9([6-9]\d{7})"), r"+55\1\2"
    ),
)

# By far the commonest, and it stays as it is: the tables need not be asked, which takes longer than the rest of a read.
_INDIAN_MOBILE = re.compile(r"\+91[6-9]\d{9}", re.ASCII)
_SCHEME = re.compile(r"(?:whatsapp|tel):", re.IGNORECASE)
_UNSEEN = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_SPELLING = re.compile(r"\+?[\d\s().\-/]*\d[\d\s().\-/]*")
_SECOND_NUMBER = re.compile(r"\d{10}\D+\d")  # "9000000101/02" is two numbers, and its digits together are a third
_NOT_A_DIGIT = re.compile(r"\D")
_POSSIBLE_TYPES = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE)


@lru_cache(maxsize=CACHED_SPELLINGS)
def _phone(value: str, region: str) -> str:
    if _INDIAN_MOBILE.fullmatch(value):
        return value
    international, digits = _spelling(value)
    if international:
        return _possible("+" + digits, None, trunk_zero=True)
    if len(digits) > LONGEST_BARE_DIGITS:
        raise InvalidIdentifier("too many digits for a phone number")
    # In this order: a number of the region; one with a country code but no plus, as a WhatsApp id is; one of the region
    # with its country code behind the zero that belongs before the national number.
    readings: list[tuple[str, str | None]] = [(digits, region), ("+" + digits, None)]
    own_code = str(country_code_for_region(region))
    if digits.startswith("0" + own_code):
        readings.append(("+" + digits[1:], None))
    possible: list[str] = []
    for spelling, in_region in readings:
        with suppress(InvalidIdentifier):
            possible.append(_possible(spelling, in_region))
    if not possible:
        raise InvalidIdentifier("not a possible phone number")
    if len(digits) < SHORTEST_WITH_COUNTRY_CODE:
        return possible[0]
    # Where national numbers may be as long as a WhatsApp id, a valid reading is the likelier one.
    return next((number for number in possible if is_valid_number(parse(number))), possible[0])


def _spelling(value: str) -> tuple[bool, str]:
    """Whether the number is written with its country code, and its digits. Any script's digits are digits."""
    if len(value) > LONGEST_VALUE_CHARACTERS:
        raise InvalidIdentifier("too long for a phone number")
    text = _UNSEEN.sub("", unicodedata.normalize("NFKC", value)).translate(_DASHES).strip()
    if scheme := _SCHEME.match(text):
        text = text[scheme.end() :].lstrip()
    if text.startswith("(+"):
        text = "+(" + text[2:]
    if not _SPELLING.fullmatch(text) or _SECOND_NUMBER.search(text):
        raise InvalidIdentifier("not the spelling of a phone number")
    digits = "".join(str(unicodedata.decimal(digit)) for digit in _NOT_A_DIGIT.sub("", text))
    if text.startswith("+"):
        return True, digits
    if digits.startswith("00"):
        return True, digits[2:]
    return False, digits


def _possible(spelling: str, region: str | None, *, trunk_zero: bool = False) -> str:
    """The number in our form, if one of its length can be called in its country. Raises `InvalidIdentifier`.

    `trunk_zero` allows the zero of "+44 (0)20" behind a country code: it is dialled inside the country only.
    """
    if spelling in WITHHELD_CALLERS:
        raise InvalidIdentifier("a withheld number")
    spelling = _ours(spelling)
    try:
        number = parse(spelling, region)
    except NumberParseException as error:
        raise InvalidIdentifier("not a possible phone number") from error
    if not any(
        is_possible_number_for_type_with_reason(number, kind) == ValidationResult.IS_POSSIBLE
        for kind in _POSSIBLE_TYPES
    ):
        raise InvalidIdentifier("not a possible phone number")
    if number.country_code != ARGENTINA and not _keeps_its_digits(spelling, number, region, trunk_zero=trunk_zero):
        raise InvalidIdentifier("not a possible phone number")
    return _ours(format_number(number, PhoneNumberFormat.E164))


def _keeps_its_digits(spelling: str, number: PhoneNumber, region: str | None, *, trunk_zero: bool) -> bool:
    """Whether nothing but a dialling prefix stood in front: some plans would cut further digits to make a number fit."""
    significant, code = national_significant_number(number), str(number.country_code)
    if region is not None:
        prefixes = {"", code, ndd_prefix_for_region(region, True)}
    else:
        prefixes = {f"+{code}", f"+{code}0"} if trunk_zero else {f"+{code}"}
    return spelling.endswith(significant) and spelling.removesuffix(significant) in prefixes


def _ours(spelling: str) -> str:
    for country in _TWO_FORMS:
        if match := country.former.fullmatch(spelling):
            return match.expand(country.ours)
    return spelling


# -- the others -------------------------------------------------------------------------------------------------------


def _email(value: str, region: str) -> str:
    address = unicodedata.normalize("NFKC", value).strip().lower().removeprefix("mailto:")
    local, at, domain = address.rpartition("@")
    if not (at and local and "." in domain.strip(".")) or len(address) > LONGEST_VALUE_CHARACTERS:
        raise InvalidIdentifier("not an e-mail address")
    if any(character.isspace() or not character.isprintable() for character in address) or "@" in local:
        raise InvalidIdentifier("not an e-mail address")
    return address


def _as_it_is(value: str, region: str) -> str:
    stripped = value.strip()
    if not 1 <= len(stripped) <= LONGEST_ID_CHARACTERS:
        raise InvalidIdentifier("an id has 1 to 128 characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in stripped):
        raise InvalidIdentifier("an id has no control characters")
    return stripped


_READERS: dict[str, Callable[[str, str], str]] = {
    "phone": _phone,
    "bsuid": _as_it_is,
    "messenger": _as_it_is,
    "email": _email,
    "crm": _as_it_is,
}
