"""What was read of a record is written again without being encoded: the same bytes as if it were."""

from __future__ import annotations

import json

from hypothesis import given, settings

from statemachine.merge import merge
from statemachine.record import Bucket, Record
from statemachine.stamps import Entry
from tests.examples import often
from tests.statemachine.histories import empty, entries, hasher, histories


def folded(history: list[Entry]) -> Record:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    return record


@settings(max_examples=often(60), deadline=None)
@given(history=histories, more=entries)
def test_each_bucket_is_remembered_as_it_would_be_encoded(history: list[Entry], more: Entry) -> None:
    raw = folded(history).to_bytes()
    read = Record.from_bytes(raw)
    for bucket in read.buckets:
        anew = Bucket(name=bucket.name, elements=bucket.elements, let_go=bucket.let_go)
        assert bucket.__dict__["encoded"] == anew.encoded
    assert read.to_bytes() == raw
    assert merge(read, more, hasher).to_bytes() == folded([*history, more]).to_bytes()


@settings(max_examples=30, deadline=None)
@given(history=histories)
def test_bytes_in_another_form_are_encoded_anew(history: list[Entry]) -> None:
    raw = folded(history).to_bytes()
    spaced = json.dumps(json.loads(raw), indent=1, sort_keys=False).encode()
    turned = json.dumps(dict(reversed(json.loads(raw).items())), separators=(",", ":")).encode()
    assert Record.from_bytes(spaced).to_bytes() == raw
    assert Record.from_bytes(turned).to_bytes() == raw
