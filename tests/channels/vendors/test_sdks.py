"""The vendors' own models take the bodies that our tests post, and what we answer: so they are the vendors' shapes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter

from channels.delivery import Delivery
from channels.vendors import VENDORS
from tests.channels.vendors.reading import ARRIVED
from tests.vendors import sample, signed

pytestmark = pytest.mark.thorough


def sdk(module: str) -> Any:
    return pytest.importorskip(module, reason="the vendor's SDK is not installed here")


@pytest.mark.parametrize("file", ["voice-vapi-end-of-call-report.json", "voice-vapi-no-answer.json"])
def test_vapis_report(file: str) -> None:
    module = sdk("vapi.types.server_message_end_of_call_report")
    told = module.ServerMessageEndOfCallReport.model_validate(sample(file).document["message"])
    assert told.ended_reason == sample(file).document["message"]["endedReason"]


@pytest.mark.parametrize("file", ["voice-retell-call_ended.json", "voice-retell-call_analyzed.json"])
def test_retells_call(file: str) -> None:
    model = sdk("retell.types.phone_call_response").PhoneCallResponse
    call = sample(file).document["call"]
    told = TypeAdapter(model).validate_python(call)
    assert (told.call_id, told.disconnection_reason) == (call["call_id"], call["disconnection_reason"])


def test_elevenlabs_conversation() -> None:
    model = sdk("elevenlabs.types").GetConversationResponseModel
    data = sample("voice-elevenlabs-post_call_transcription.json").document["data"]
    told = model.model_validate(data)
    assert (told.conversation_id, told.metadata.call_duration_secs) == (data["conversation_id"], 154)


def answer(vendor: str, question: dict[str, Any]) -> Any:
    start = VENDORS["voice", vendor].call_start
    assert start is not None
    asked = start(Delivery(json.dumps(question).encode(), ARRIVED), {"assistantId": "a-1"})
    assert asked is not None
    return asked.answer({"state": "opening", "found": "no"}, "r_1")


def test_what_vapi_is_answered() -> None:
    overrides = sdk("vapi.types.assistant_overrides").AssistantOverrides
    question = {"message": {"type": "assistant-request", "call": {"id": "c"}, "customer": {"number": "+919000000101"}}}
    told = answer("vapi", question)
    assert told["assistantId"] == "a-1"
    assert overrides.model_validate(told["assistantOverrides"]).variable_values == {"state": "opening", "found": "no"}


def test_what_elevenlabs_is_answered() -> None:
    model = sdk("elevenlabs.types").ConversationInitiationClientDataRequestInput
    told = answer("elevenlabs", {"caller_id": "+919000000101", "agent_id": "a", "call_sid": "CA1"})
    read = model.model_validate({name: value for name, value in told.items() if name != "type"})
    assert read.dynamic_variables == {"state": "opening", "found": "no"}


def test_livekits_webhook_is_verified_by_its_own_receiver() -> None:
    api = sdk("livekit.api")
    one = sample("voice-livekit-webhook-egress_ended.json")
    secret = "a-secret-of-thirty-two-characters"
    token = signed("voice", "livekit", one.raw, datetime.now(UTC), secret=secret)["authorization"]
    receiver = api.WebhookReceiver(api.TokenVerifier("test-key", secret))
    assert receiver.receive(one.raw.decode(), token).id == one.document["id"]
