"""The one JSON reader: what it refuses, what it keeps exact, what it repairs and says so; and the writer."""

import json
import time
import timeit
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service import strictjson
from service.errors import MalformedJson
from service.strictjson import DEPTH_LIMIT_LEVELS, INTEGER_LIMIT_DIGITS, NUMBER_LIMIT_CHARS, REPAIRS_LIMIT, parse
from tests.examples import often

SECRET = "Zq7Geheim"

MALFORMED = {
    "empty": b"",
    "blank": b" \n",
    "plain words": b"hello",
    "cut off": b'{"a": 1',
    "two documents": b"{}{}",
    "something behind it": b"[1] x",
    "a trailing comma": b'{"a": 1,}',
    "a comment": b"[1] // x",
    "single quotes": b"{'a': 1}",
    "a key that is no text": b"{1: 2}",
    "NaN": b"[NaN]",
    "Infinity": b'{"a": Infinity}',
    "-Infinity": b'{"a": {"b": [-Infinity]}}',
    "1e999": b'{"a": 1e999}',
    "-1e999": b"[-1e999]",
    "a whole number beyond a double": b"1" + b"0" * 309,
    "5,000 digits": b'{"a": ' + b"9" * 5_000 + b"}",
    "too many decimals": b"0." + b"9" * NUMBER_LIMIT_CHARS,
    "an exponent that no decimal holds": b"[1e-99999999999999999999]",
    "zero with a huge exponent": b"[0e999999]",
    "closer to zero than a double": b"[1e-401]",
    "a leading zero": b"[01]",
    "a bare point": b"[1.]",
    "a plus": b"[+1]",
    "hexadecimal": b"[0x10]",
    "digits of another script": "[१२]".encode(),
    "a key twice": b'{"a": 1, "a": 1}',
    "a key twice, deep": b'{"x": [{"y": {"amount": 5000, "amount": 1}}]}',
    "a key twice, once escaped": b'{"a": 1, "\\u0061": 2}',
    "bad UTF-8": b'{"a": "\xff\xfe"}',
    "half a surrogate in UTF-8": b'["\xed\xa0\xbd"]',
    "an overlong form": b'["\xc0\x80"]',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "UTF-16 without a mark": '{"a": 1}'.encode("utf-16-be"),
    "UTF-32": '{"a": 1}'.encode("utf-32"),
    "a bare NUL": b'["a\x00b"]',
    "a bare control character": b'["a\x1fb"]',
    "an unknown escape": rb'["\x41"]',
    "a short escape": rb'["\u12"]',
    "a blank of another kind": "\u00a0[]".encode(),
    "lists without end": b"[" * 100_000,
    "objects without end": b'{"a":' * 100_000,
    "one level too deep": b"[" * (DEPTH_LIMIT_LEVELS + 1) + b"]" * (DEPTH_LIMIT_LEVELS + 1),
    "two keys that differ in a broken sign alone": rb'{"a\u0000": 1, "a\ud83d": 2}',
    "a key that was repaired into its neighbour": '{"a\\u0000": 1, "a\ufffd": 2}'.encode(),
    "more broken texts than a text has": b"[" + rb'"\u0000",' * REPAIRS_LIMIT + rb'"\u0000"]',
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_one_strict_document_is_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedJson) as refused:
        parse(raw)
    assert (refused.value.status, refused.value.code) == (400, "malformed_json")


@pytest.mark.parametrize(
    "raw",
    [
        f'{{"{SECRET}": 1, "{SECRET}": 2}}',
        f'["{SECRET}" "{SECRET}"]',
        f"[{SECRET}]",
        f'["\\u0000", {{"{SECRET}\\u0000": 1, "{SECRET}\\ud800": 2}}]',
        f'"{SECRET}\x01"',
    ],
)
def test_a_refusal_repeats_nothing_of_the_document(raw: str) -> None:
    with pytest.raises(MalformedJson) as refused:
        parse(raw.encode())
    assert SECRET not in str(refused.value.body())
    assert refused.value.__suppress_context__


EXACT = {
    b" \t\r\n{} \n": {},
    b"null": None,
    b"[true, false, null]": [True, False, None],
    b'"x"': "x",
    b"7": 7,
    b"-0": 0,
    b"[9007199254740993]": [9007199254740993],
    b"9" * INTEGER_LIMIT_DIGITS: int("9" * INTEGER_LIMIT_DIGITS),
    b"-" + b"9" * INTEGER_LIMIT_DIGITS: -int("9" * INTEGER_LIMIT_DIGITS),
    b"12500.50": Decimal("12500.50"),
    b"0.1": Decimal("0.1"),
    b"1e2": Decimal("1E+2"),
    b"1e308": Decimal("1E+308"),
    b"0.12345678901234567890123": Decimal("0.12345678901234567890123"),
    b'{"a": 1, "b": {"a": 1}}': {"a": 1, "b": {"a": 1}},
    rb'"\ud83d\ude4f \u0939"': "\U0001f64f ह",
    '"\U0001f64f ह"'.encode(): "\U0001f64f ह",
    rb'"\\u0000 \\ud83d"': r"\u0000 \ud83d",
    b'"\x7f"': "\x7f",
    rb'"\u0007"': "\x07",
    b'"' + b"[" * 200 + b'"': "[" * 200,
}


@pytest.mark.parametrize(("raw", "value"), EXACT.items(), ids=[raw[:30].decode() for raw in EXACT])
def test_values_arrive_exactly(raw: bytes, value: object) -> None:
    document, repaired = parse(raw)
    assert (document, repaired) == (value, ())
    assert type(document) is type(value)
    assert str(document) == str(value)  # 12500.50 and 12500.5 are equal, but not the same


def test_nesting_up_to_the_limit_is_taken() -> None:
    document, _ = parse(b"[" * DEPTH_LIMIT_LEVELS + b"]" * DEPTH_LIMIT_LEVELS)
    for _ in range(DEPTH_LIMIT_LEVELS - 1):
        [document] = document
    assert document == []


def test_breadth_is_no_depth() -> None:
    raw = b"[" + b",".join([b'{"a": [1, {"b": []}]}'] * 500) + b"]"
    assert len(parse(raw)[0]) == 500


@pytest.mark.parametrize(
    ("raw", "value", "paths"),
    [
        (rb'{"summary": "pay\u0000ment"}', {"summary": "pay\ufffdment"}, ("summary",)),
        (rb'{"a": "ok done \ud83d"}', {"a": "ok done \ufffd"}, ("a",)),
        (rb'{"a": "\ude4f ok"}', {"a": "\ufffd ok"}, ("a",)),
        (rb'{"a": "a\ude4f\ud83db"}', {"a": "a\ufffd\ufffdb"}, ("a",)),
        (rb'{"a": "\ud83d\ud83d\ude4f"}', {"a": "\ufffd\U0001f64f"}, ("a",)),
        (rb'{"commitment": {"quote": "\uD83Dx"}}', {"commitment": {"quote": "\ufffdx"}}, ("commitment.quote",)),
        (
            rb'{"turns": [{"text": "a"}, {"text": "\u0000"}], "agent": "\u0000"}',
            {"turns": [{"text": "a"}, {"text": "\ufffd"}], "agent": "\ufffd"},
            ("turns.1.text", "agent"),
        ),
        (rb'{"extra": {"a\u0000b": "c\u0000d"}}', {"extra": {"a\ufffdb": "c\ufffdd"}}, ("extra.a\ufffdb",)),
        (rb'{"extra": {"a\u0000": 1}}', {"extra": {"a\ufffd": 1}}, ("extra.a\ufffd",)),
        (rb'["\u0000", 1, 2.5, null]', ["\ufffd", 1, Decimal("2.5"), None], ("0",)),
        (rb'"\u0000"', "\ufffd", ("",)),
        ('{"a": "\ufffd", "b": "\\u0000"}'.encode(), {"a": "\ufffd", "b": "\ufffd"}, ("b",)),
    ],
)
def test_broken_signs_are_replaced_and_their_places_told(raw: bytes, value: object, paths: tuple[str, ...]) -> None:
    assert parse(raw) == (value, paths)


def test_repairs_are_told_for_each_item_of_a_batch() -> None:
    raw = rb'{"events": [{"event_id": "e"}, {"event_id": "e\u0000", "extra": {"x": "\u0000"}}, "\u0000"]}'
    _, repaired = parse(raw)
    assert strictjson.by_item(repaired, "events") == {1: ("event_id", "extra.x"), 2: ("",)}
    assert strictjson.by_item(repaired, "other") == {}


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
ANY_TEXT = st.text(st.sampled_from("\x00\ud83d\ude4f\ud800\udfff\ufffd\\\"':{[ua0हé"), max_size=6)


def documents(text: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    leaves = st.none() | st.booleans() | st.integers() | text
    return st.recursive(
        leaves, lambda below: st.lists(below, max_size=4) | st.dictionaries(text, below, max_size=4), max_leaves=12
    )


@settings(max_examples=often(150))
@given(documents(TEXT), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_sound_documents_are_read_as_other_readers_do(value: object, ascii_only: bool, indent: object) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert parse(raw) == (value, ())
    assert parse(raw)[0] == msgspec.json.decode(raw)


@settings(max_examples=often(150))
@given(documents(ANY_TEXT))
def test_whatever_was_broken_what_is_read_can_be_written_stored_and_read_again(value: object) -> None:
    try:
        document, repaired = parse(json.dumps(value).encode())
    except MalformedJson:
        return  # two keys became one; the table above has the case
    again = strictjson.dump(document)
    assert b"\\u0000" not in again
    assert parse(again) == (document, ())
    assert bool(repaired) == (document != _joined(value))


def _joined(value: object) -> object:
    """As UTF-16 would have it: whole pairs are one sign."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, list):
        return [_joined(item) for item in value]
    if isinstance(value, dict):
        return {_joined(key): _joined(item) for key, item in value.items()}
    return value


@settings(max_examples=often(100))
@given(documents(TEXT), st.data())
def test_a_key_twice_is_found_wherever_it_stands(value: object, data: st.DataObject) -> None:
    pair = json.dumps({"again": value})[1:-1]
    twice = "{" + f"{pair}, {json.dumps('x')}: 1, {pair}" + "}"
    for _ in range(data.draw(st.integers(0, 5))):
        twice = data.draw(st.sampled_from(["[0, %s]", '{"k": %s}', '{"before": {}, "in": [%s]}'])) % twice
    with pytest.raises(MalformedJson):
        parse(twice.encode())


@settings(max_examples=often(200))
@given(st.binary(max_size=40) | st.text(st.sampled_from('[]{},:"\\u0dDe8 1.+-N'), max_size=30).map(str.encode))
def test_any_bytes_are_a_document_or_malformed(raw: bytes) -> None:
    try:
        document, _ = parse(raw)
    except MalformedJson:
        return
    assert parse(strictjson.dump_as_sent(document))[0] == document


@pytest.mark.parametrize(
    ("content_type", "answer"),
    [
        (None, True),
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/cloudevents+json", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("text/json+x", False),
        (";charset=utf-8", False),
        ("", True),
        (" ", True),
    ],
)
def test_json_is_known_by_its_content_type(content_type: str | None, answer: bool) -> None:
    assert strictjson.is_json(content_type) is answer


def test_answers_are_utf8_with_money_as_text_in_the_order_given() -> None:
    answer = {"z": Decimal("12500.00"), "a": [Decimal("1E+2"), None, True, 7], "t": "हाँ \U0001f64f"}
    assert strictjson.dump(answer) == '{"z":"12500.00","a":["100",null,true,7],"t":"हाँ \U0001f64f"}'.encode()


def test_what_a_client_sent_goes_back_digit_for_digit() -> None:
    raw = b'{"n":7,"deep":[1,2.50,0.1,1E+2,12345678901234567890123]}'
    assert strictjson.dump_as_sent(parse(raw)[0]) == raw


def test_what_was_posted_keeps_its_numbers_inside_an_answer_in_which_money_is_text() -> None:
    posted = parse(b'{"confidence":0.90,"extra":[1.50]}')[0]
    answer = {"amount": Decimal("5.00"), "entry": strictjson.as_sent(posted)}
    assert strictjson.dump(answer) == b'{"amount":"5.00","entry":{"confidence":0.90,"extra":[1.50]}}'


@pytest.mark.parametrize("write", [strictjson.dump, strictjson.dump_as_sent])
def test_no_answer_holds_nan_or_half_a_sign(write: object) -> None:
    for value in (Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity"), "\ud83d"):
        with pytest.raises(ValueError):
            write([value])
    assert write([float("nan"), float("inf")]) == b"[null,null]"


@pytest.mark.benchmark
def test_reading_costs_at_most_three_times_a_careless_reader() -> None:
    turns = [{"speaker": "agent", "text": "haan ji main 2 tareekh ko pakka de dunga"} for _ in range(16)]
    raw = json.dumps({"borrower_id": "B-101", "commitment": {"amount": 12500.5}, "turns": turns, "n": 1}).encode()
    careless = min(timeit.repeat(lambda: json.loads(raw), number=500, repeat=9, timer=time.process_time))
    strict = min(timeit.repeat(lambda: parse(raw), number=500, repeat=9, timer=time.process_time))
    assert strict < 3 * careless, f"{len(raw)} bytes: {strict * 2_000:.1f} µs, {strict / careless:.2f} times"
