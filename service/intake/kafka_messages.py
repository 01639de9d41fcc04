"""An entry as a message of the topic, and a message of the topic as an entry, whatever stands there.

How messages are sent and fetched is not known here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from service.intake.kafka_producer import Message
from service.intake.log import (
    Logged,
    Pending,
    partition_of,
)

KIND: Final = "kafka"
NO_TENANT: Final = "~"
"""Under this, which no tenant can be called, stands what has a key that is not ours."""
EVENT_ID: Final = "event_id"
CONTENT_TYPE: Final = ("content-type", b"application/cloudevents+json; charset=UTF-8")
KEY_LIMIT_CHARACTERS: Final = 200
_TENANT: Final = re.compile(r"[a-z0-9-]{1,40}")


def name_of(topic: str) -> str:
    """What a topic is called as a log: under another prefix begins another log, whose offsets are counted anew."""
    return f"{KIND}:{topic}"


def message_of(topic: str, partitions: int, item: Pending) -> Message:
    """An entry as it stands in the topic: a structured CloudEvent; its id also stands in a header, for whoever sets it aside
    unread."""
    return Message(
        topic=topic,
        partition=partition_of(item.tenant, item.borrower_id, partitions),
        key=f"{item.tenant}|{item.borrower_id}".encode(),
        value=item.value,
        headers=(CONTENT_TYPE, (EVENT_ID, item.event_id.encode())),
    )


def logged(record: Any) -> Logged:
    """Whatever stands there: what is not of our making is found out by whoever opens it."""
    key = (record.key or b"").decode("utf-8", "replace")
    tenant, _, borrower_id = key.partition("|")
    if not _TENANT.fullmatch(tenant) or not borrower_id:
        tenant, borrower_id = NO_TENANT, key[:KEY_LIMIT_CHARACTERS]
    told = dict(record.headers).get(EVENT_ID, b"").decode("utf-8", "replace")
    return Logged(
        offset=record.offset,
        tenant=tenant,
        borrower_id=borrower_id[:KEY_LIMIT_CHARACTERS],
        event_id=told[:KEY_LIMIT_CHARACTERS] or f"{record.topic}/{record.partition}/{record.offset}",
        value=record.value or b"",
        appended_at=_instant(record.timestamp),
        is_marked=bool(told) and tenant != NO_TENANT,
    )


def _instant(milliseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):  # not from our producer
        return datetime.fromtimestamp(0, UTC)
