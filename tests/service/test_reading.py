"""What readers understand of a record is kept while it holds, and no longer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from service import records
from service.policy import Policy
from service.reading import Kept, Reader
from statemachine.merge import merge
from statemachine.record import Record, UnreadableRecord
from tests.service.embedded import NOON, PHONE, SECRETS, TENANT, event, hours, linked, promise, stamped

POLICY = Policy()
LATER = hours(1)


def stored(version: int = 1, record: bytes | None = None) -> records.Stored:
    """Somebody who was verified at noon and promised then."""
    kept = Record.new("B-1")
    verified = event("identity.verified", "e-1", identifier={"kind": "phone", "value": PHONE}, method="otp")
    for body in (linked("e-0"), verified, promise()):
        kept = merge(kept, stamped(body, "B-1", NOON), lambda words: SECRETS.keyed_hash(words, "words"))
    return records.Stored("B-1", version, record or kept.to_bytes(), False)


def test_a_record_is_understood_once_for_its_version_and_policy() -> None:
    reader = Reader()
    first = reader.known(TENANT, stored(), POLICY, LATER)
    assert (first.borrower_id, first.version, first.is_provisional) == ("B-1", 1, False)
    assert first.state.cycle_of(None).rung == "proposed"
    assert reader.known(TENANT, stored(), POLICY, LATER).state is first.state
    assert reader.known(TENANT, stored(version=2), POLICY, LATER).state is not first.state
    assert reader.known("zen", stored(), POLICY, LATER).state is not first.state
    assert reader.known(TENANT, stored(), Policy(identity_days=1), LATER).state is not first.state


def test_what_time_alone_changes_is_understood_anew() -> None:
    """The promise is due on the 25th; the verification lapses after thirty days."""
    reader = Reader()
    before = reader.known(TENANT, stored(), POLICY, LATER).state
    until = before.valid_until
    assert until is not None
    assert reader.known(TENANT, stored(), POLICY, until - timedelta(microseconds=1)).state is before
    after = reader.known(TENANT, stored(), POLICY, until).state
    assert after is not before
    assert after.cycle_of(None) != before.cycle_of(None)
    assert f"phone:{PHONE}" in before.identities
    lapsed = reader.known(TENANT, stored(), POLICY, NOON + timedelta(days=30)).state
    assert f"phone:{PHONE}" not in lapsed.identities


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"schema_version":99}', b"[1,2", b'{"schema_version":"1"}'])
def test_what_cannot_be_understood_is_said_and_not_kept(raw: bytes) -> None:
    reader = Reader()
    for _ in range(2):
        with pytest.raises((UnreadableRecord, ValueError)):
            reader.known(TENANT, stored(record=raw or b"nothing"), POLICY, LATER)


def test_a_value_is_kept_until_its_time_and_the_last_used_longest() -> None:
    kept: Kept[str] = Kept(2)
    kept.put("for ever", "a", None)
    kept.put("for an hour", "b", hours(1))
    assert (kept.get("for ever", hours(99)), kept.get("for an hour", hours(0.99))) == ("a", "b")
    assert kept.get("for an hour", hours(1)) is None
    assert kept.get("for an hour", hours(0)) is None, "what has gone does not come back"
    kept.put("second", "c", None)
    assert kept.get("for ever", NOON) == "a"
    kept.put("third", "d", None)
    assert [kept.get(key, NOON) for key in ("for ever", "second", "third")] == ["a", None, "d"]
