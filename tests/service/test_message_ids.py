"""Which ids of messages hold somebody's number (API 11)."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.intake.message_ids import hashed


def _keyed(words: str, purpose: str) -> str:
    return f"{hash((words, purpose)) & (1 << 128) - 1:032x}"


@given(st.from_regex(r"[1-9][0-9]{6,14}", fullmatch=True), st.binary(max_size=8), st.binary(max_size=30), st.booleans())
def test_an_id_around_a_number_never_shows_it(number: str, before: bytes, after: bytes, is_cut: bool) -> None:
    inner = base64.b64encode(before + number.encode() + after).decode()
    shown = hashed(f"wamid.{inner.rstrip('=') if is_cut else inner}", _keyed)
    assert shown.startswith("wamid:")
    assert inner.rstrip("=") not in shown
    assert hashed(shown, _keyed) == shown, "what is hashed stays as it is"


@pytest.mark.parametrize(
    "text", ["wamid.1", "wamid.stop", "wamid.reminder-7", "m-1", "wamid.", "wamid.A", "wamid.AAAA"]
)
def test_an_id_without_one_stays_as_it_was_posted(text: str) -> None:
    assert hashed(text, _keyed) == text


def test_a_number_as_it_is_is_seen_too() -> None:
    assert "919000000101" not in hashed("wamid.919000000101", _keyed)
