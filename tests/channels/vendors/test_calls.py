"""The same call, and the same message, of every vendor there is: none has a shape of its own behind its adapter, and in none
a model's yes is more than a word."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from channels.delivery import Delivery
from channels.vendors import VENDORS
from tests.calls import CALLS, LEGS_ONLY, TEXTS, Call, Text, as_posted
from tests.channels.vendors.reading import ARRIVED, events, summary
from tests.channels.vendors.test_mutated import WISHES

ENDED = datetime.fromisoformat("2026-11-26T05:42:34Z")
CALL = Call("c-1", "B-1", "+919000000101", ENDED, (ENDED + timedelta(days=4)).date())
TEXT = Text("m-1", "+919000000101", ENDED, "12,500 30 tarikh tak pakka")


def test_every_vendor_is_in_the_tables() -> None:
    assert {("voice", vendor) for vendor in CALLS} | {("whatsapp", vendor) for vendor in TEXTS} == set(VENDORS)


@pytest.mark.parametrize("vendor", CALLS)
def test_each_vendor_tells_the_call(vendor: str) -> None:
    body, content_type = as_posted("voice", vendor, CALLS[vendor](CALL))
    items = VENDORS["voice", vendor].parse(Delivery(body, ARRIVED, content_type))
    told = summary(items)
    assert events(items) == []
    assert (told.borrower_id, told.modality, told.direction) == ("B-1", "speech", "outbound")
    assert told.identifier is not None
    assert told.identifier.value == "+919000000101"
    assert abs(told.ended_at - (ARRIVED if vendor == "twilio" else ENDED)) < timedelta(seconds=1)
    if vendor in LEGS_ONLY:
        assert (told.outcome, told.commitment) == (None, None)
        return
    assert told.outcome == "connected"
    assert [(turn.speaker, turn.text) for turn in told.turns] == CALL.turns
    assert told.commitment is not None
    assert Decimal(told.commitment.amount or 0) == 12500
    assert (told.commitment.due_date, told.commitment.read_back) == ("2026-11-30", True)


class Wishing(Call):
    """The model says yes to everything."""

    @property
    def captured(self) -> dict[str, Any]:
        return dict.fromkeys(WISHES, True) | super().captured


@pytest.mark.parametrize("vendor", [vendor for vendor in CALLS if vendor not in LEGS_ONLY])
def test_what_a_model_wrote_in_any_vendors_report_is_no_hard_event(vendor: str) -> None:
    told = []
    for call in (CALL, Wishing(*astuple(CALL))):
        body, content_type = as_posted("voice", vendor, CALLS[vendor](call))
        items = VENDORS["voice", vendor].parse(Delivery(body, ARRIVED, content_type))
        assert events(items) == []
        told.append(summary(items))
    plain, wished = told
    assert wished.extra != plain.extra, "what it wrote is kept, to be seen"
    same = {"extra", "payment_claim"}
    assert wished.model_dump(exclude=same) == plain.model_dump(exclude=same)


@pytest.mark.parametrize("vendor", TEXTS)
@pytest.mark.parametrize("text", [TEXT.text, "STOP"])
def test_each_provider_tells_the_message_and_a_stop(vendor: str, text: str) -> None:
    body, content_type = as_posted("whatsapp", vendor, TEXTS[vendor](Text("m-1", TEXT.phone, ENDED, text)))
    items = VENDORS["whatsapp", vendor].parse(Delivery(body, ARRIVED, content_type))
    (message,) = [message for item in items for message in item.messages]
    assert (message.speaker, message.text, message.identifier) == ("borrower", text, ("phone", TEXT.phone))
    assert message.at == (ARRIVED if vendor == "twilio" else ENDED.replace(microsecond=0))
    assert [event.type for event in events(items)] == (["contact.opted_out"] if text == "STOP" else [])
