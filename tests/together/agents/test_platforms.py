"""Platforms with agents of their own begin a call in the middle: told by their own clients, as it goes over the wire.

Vapi's client cannot be installed beside the others (it asks for an older pydantic-core), so its call is posted as documented.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from channels.resumed import Vars
from channels.voice.flow import FLOW
from channels.voice.projections import NOWHERE, project
from tests.together.agents.conftest import Json, library
from tests.together.agents.standins import Platform
from tests.together.conftest import Borrower, promise

pytestmark = pytest.mark.process

OURS = "+912200000007"
PLACES = {state.name: f"place_{state.name}" for state in FLOW.states} | {NOWHERE: "place_person"}


def granted(borrower: Borrower, state: str = "confirmation") -> Json:
    borrower.opens()
    borrower.verify()
    borrower.says("whatsapp", promise("5000"))
    answer: Json = borrower.tenant.resume("voice", identifier=borrower.phone)
    assert answer["state"] == state
    return answer


def all_there(variables: Json, answer: Json) -> None:
    """Every variable of the contract, a text that is not empty: what is missing ends a call, what is empty counts as true."""
    assert variables == answer["vars"]
    assert set(variables) == set(Vars.model_fields)
    assert all(isinstance(value, str) and value for value in variables.values())


def test_elevenlabs_begins_at_the_node_with_every_variable(borrower: Borrower) -> None:
    client = library("elevenlabs.client")
    types = library("elevenlabs.types")
    answer = granted(borrower)
    opening = types.ConversationInitiationClientDataRequestInput.model_validate(project(answer, "elevenlabs", PLACES))
    assert opening.starting_workflow_node_id == "place_confirmation"
    with Platform({"success": True, "message": "", "conversation_id": "c", "callSid": "CA1"}) as platform:
        client.ElevenLabs(api_key="none", base_url=platform.url).conversational_ai.twilio.outbound_call(
            agent_id="a-1",
            agent_phone_number_id="n-1",
            to_number=borrower.number,
            conversation_initiation_client_data=opening,
        )
        sent = platform.requests[0]["conversation_initiation_client_data"]
    all_there(sent["dynamic_variables"], answer)
    assert sent["starting_workflow_node_id"] == "place_confirmation"
    assert sent["custom_llm_extra_body"]["resume_id"] == answer["resume_id"]


def test_elevenlabs_own_conversation_sends_every_variable_first(borrower: Borrower) -> None:
    """The client that speaks over a socket of its own: its first message."""
    conversations = library("elevenlabs.conversational_ai.conversation")
    answer = granted(borrower)
    plan = project(answer, "elevenlabs")
    config = conversations.ConversationInitiationData(
        extra_body=plan["custom_llm_extra_body"], dynamic_variables=plan["dynamic_variables"]
    )

    class Silent(conversations.AudioInterface):  # type: ignore[misc]
        def start(self, input_callback: Any) -> None: ...
        def stop(self) -> None: ...
        def output(self, audio: bytes) -> None: ...
        def interrupt(self) -> None: ...

    conversation = conversations.Conversation(
        library("elevenlabs.client").ElevenLabs(api_key="none"),
        "a-1",
        requires_auth=False,
        audio_interface=Silent(),
        config=config,
    )
    first = json.loads(conversation._create_initiation_message())
    assert first["type"] == plan["type"]
    all_there(first["dynamic_variables"], answer)
    assert first["custom_llm_extra_body"] == plan["custom_llm_extra_body"]


def test_retell_makes_a_call_with_every_variable_as_text(borrower: Borrower) -> None:
    retell = library("retell")
    answer = granted(borrower)
    plan = project(answer, "retell", PLACES)
    with Platform({"call_id": "c-1", "call_type": "phone_call"}) as platform:
        retell.Retell(api_key="none", base_url=platform.url).call.create_phone_call(
            from_number=OURS, to_number=borrower.number, **plan
        )
        sent = platform.requests[0]
    all_there(sent["retell_llm_dynamic_variables"], answer)
    assert sent["metadata"]["resume_id"] == answer["resume_id"]
    assert sent["override_agent_id"] == "place_confirmation"


def test_vapi_makes_a_call_with_every_variable(borrower: Borrower) -> None:
    answer = granted(borrower)
    plan = project(answer, "vapi", PLACES)
    with Platform({"id": "call-1"}) as platform:
        call = {"phoneNumberId": "n-1", "customer": {"number": borrower.number}, **plan}
        httpx.post(f"{platform.url}/call", json=call, timeout=30).raise_for_status()
        sent = platform.requests[0]
    overrides = sent["assistantOverrides"]
    all_there(overrides["variableValues"], answer)
    assert overrides["metadata"]["resume_id"] == answer["resume_id"]
    assert sent["assistantId"] == "place_confirmation"
    for name in ("found", "identity_verified", "contact_allowed", "speakable", "reminded", "on_hold", "degraded"):
        assert overrides["variableValues"][name] in ("yes", "no"), "a template takes any other text for true"


@pytest.mark.parametrize("vendor", ["vapi", "retell", "elevenlabs"])
def test_under_a_hold_a_call_is_a_persons(borrower: Borrower, vendor: str) -> None:
    borrower.verify()
    borrower.event("hold.placed", kind="dispute", reason="says it is not theirs")
    answer = borrower.resume(direction="inbound")
    told = json.dumps(project(answer, vendor, PLACES))
    assert "place_person" in told
    assert '"contact_allowed": "no"' in told
    assert '"on_hold": "yes"' in told
