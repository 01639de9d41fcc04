"""One call, and one message, as each vendor tells it: of a given time, with a given due, in the vendor's own shape.

The shared bodies are of one day of one November and need not be there; these are of any time, and of every vendor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.vendors import FORM

OURS, SECONDS = "+912200000007", 154
FORMS = {("voice", "twilio"), ("whatsapp", "twilio"), ("voice", "plivo")}


@dataclass(frozen=True)
class Call:
    """She was called, heard the terms read back, and agreed."""

    id: str
    borrower: str
    phone: str
    ended_at: datetime
    due: date
    amount: int = 12500

    @property
    def began_at(self) -> datetime:
        return self.ended_at - timedelta(seconds=SECONDS)

    @property
    def turns(self) -> list[tuple[str, str]]:
        read_back = f"So that is {self.amount} rupees by {self.due:%d %B %Y}, is that right?"
        return [("agent", read_back), ("borrower", "haan, theek hai")]

    @property
    def captured(self) -> dict[str, Any]:
        return {"amount": self.amount, "promised_date": self.due.isoformat(), "read_back": True}


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _naive(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _indian(at: datetime) -> str:
    return _naive(at + timedelta(hours=5, minutes=30))


def _vapi(call: Call) -> Any:
    roles = {"agent": "bot", "borrower": "user"}
    return {
        "message": {
            "type": "end-of-call-report", "endedReason": "customer-ended-call", "startedAt": _iso(call.began_at),
            "endedAt": _iso(call.ended_at), "customer": {"number": call.phone}, "analysis": {},
            "call": {"id": call.id, "type": "outboundPhoneCall", "metadata": {"borrower_id": call.borrower}},
            "artifact": {
                "messages": [{"role": roles[who], "message": said, "time": _ms(call.began_at)} for who, said in call.turns],
                "structuredOutputs": {"11111111-2222": {"name": "collections", "result": call.captured}},
            },
        }
    }  # fmt: skip


def _retell(call: Call) -> Any:
    roles = {"agent": "agent", "borrower": "user"}
    return {
        "event": "call_analyzed",
        "call": {
            "call_id": call.id, "direction": "outbound", "from_number": OURS, "to_number": call.phone,
            "start_timestamp": _ms(call.began_at), "end_timestamp": _ms(call.ended_at), "disconnection_reason": "user_hangup",
            "transcript_object": [{"role": roles[who], "content": said} for who, said in call.turns],
            "call_analysis": {"custom_analysis_data": call.captured}, "metadata": {"borrower_id": call.borrower},
        },
    }  # fmt: skip


def _elevenlabs(call: Call) -> Any:
    roles = {"agent": "agent", "borrower": "user"}
    return {
        "type": "post_call_transcription", "event_timestamp": int(call.ended_at.timestamp()) + 2,
        "data": {
            "conversation_id": call.id, "agent_id": "a", "status": "done",
            "transcript": [{"role": roles[who], "message": said, "time_in_call_secs": 9} for who, said in call.turns],
            "metadata": {
                "start_time_unix_secs": int(call.began_at.timestamp()), "call_duration_secs": SECONDS,
                "phone_call": {"direction": "outbound", "external_number": call.phone, "agent_number": OURS},
            },
            "analysis": {"data_collection_results": {name: {"value": value} for name, value in call.captured.items()}},
            "conversation_initiation_client_data": {"dynamic_variables": {"borrower_id": call.borrower}},
        },
    }  # fmt: skip


def _bland(call: Call) -> Any:
    return {
        "call_id": call.id, "to": call.phone, "from": OURS, "inbound": False, "status": "completed", "answered_by": "human",
        "started_at": _iso(call.began_at), "corrected_duration": str(SECONDS), "metadata": {"borrower_id": call.borrower},
        "transcripts": [{"user": "assistant" if who == "agent" else "user", "text": said} for who, said in call.turns],
        "analysis": call.captured,
    }  # fmt: skip


def _livekit(call: Call) -> Any:
    roles = {"agent": "assistant", "borrower": "user"}
    return {
        "job_id": call.id, "timestamp": call.ended_at.timestamp(), "duration_ms": SECONDS * 1000, "close_reason": "CR_USER",
        "chat_history": {
            "items": [{"type": "message", "role": "system", "content": ["what memory said"], "extra": {"source": "memory"}}]
            + [{"type": "message", "role": roles[who], "content": [said]} for who, said in call.turns]
        },
        "x_collections": {
            "borrower_ref": call.borrower, "direction": "outbound", "sip": {"sip.phoneNumber": call.phone},
            "outcome": call.captured,
        },
    }  # fmt: skip


def _pipecat(call: Call) -> Any:
    roles = {"agent": "assistant", "borrower": "user"}
    return {
        "schema": "own/pipecat-summary/1", "session_id": call.id, "started_at": _iso(call.began_at),
        "ended_at": _iso(call.ended_at), "turns": [{"role": roles[who], "content": said} for who, said in call.turns],
        "transport": {
            "direction": "outbound", "from": OURS, "to": call.phone, "custom_parameters": {"borrower_ref": call.borrower}
        },
        "flow": {"start_node": "opening", "state": call.captured},
    }  # fmt: skip


def _twilio(call: Call) -> Any:
    return {
        "CallSid": f"CA{call.id}", "SessionId": f"VX{call.id}", "SessionStatus": "ended", "SessionDuration": str(SECONDS),
        "Direction": "outbound-api", "From": OURS, "To": call.phone,
        "HandoffData": json.dumps({
            "borrower_ref": call.borrower, "outcome": call.captured,
            "turns": [{"role": who, "content": said} for who, said in call.turns],
        }),
    }  # fmt: skip


def _exotel(call: Call) -> Any:
    return {
        "CallSid": call.id, "EventType": "terminal", "Status": "completed", "Direction": "outbound-api", "From": "02200000007",
        "To": call.phone.replace("+91", "0"), "StartTime": _indian(call.began_at), "EndTime": _indian(call.ended_at),
        "CustomField": call.borrower,
    }  # fmt: skip


def _bolna(call: Call) -> Any:
    names = {"agent": "assistant", "borrower": "user"}
    return {
        "id": call.id, "status": "completed", "conversation_duration": float(SECONDS), "extracted_data": call.captured,
        "transcript": "\n".join(f"{names[who]}: {said}" for who, said in call.turns), "created_at": _iso(call.began_at)[:-1],
        "updated_at": _iso(call.ended_at)[:-1],
        "telephony_data": {"call_type": "outbound", "from_number": OURS, "to_number": call.phone},
        "context_details": {"recipient_data": {"borrower_id": call.borrower}},
    }  # fmt: skip


def _plivo(call: Call) -> Any:
    return {
        "CallUUID": call.id, "Event": "Hangup", "CallStatus": "completed", "Direction": "outbound", "From": OURS[1:],
        "To": call.phone[1:], "EndTime": _naive(call.ended_at), "Duration": str(SECONDS),
        "CustomData": json.dumps({"borrower_id": call.borrower}),
    }  # fmt: skip


CALLS: Mapping[str, Callable[[Call], Any]] = {
    "vapi": _vapi, "retell": _retell, "elevenlabs": _elevenlabs, "bland": _bland, "livekit": _livekit, "pipecat": _pipecat,
    "twilio": _twilio, "exotel": _exotel, "bolna": _bolna, "plivo": _plivo,
}  # fmt: skip
LEGS_ONLY = ("exotel", "plivo")
"""Carriers, who tell that a leg ended and not that anybody spoke: an attempt without an outcome."""


@dataclass(frozen=True)
class Text:
    """What she wrote."""

    id: str
    phone: str
    at: datetime
    text: str


def _meta(said: Text) -> Any:
    message = {
        "id": f"wamid.{said.id}",
        "from": said.phone[1:],
        "timestamp": str(int(said.at.timestamp())),
        "type": "text",
    }
    value = {"messages": [message | {"text": {"body": said.text}}]}
    return {
        "object": "whatsapp_business_account",
        "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}],
    }


def _gupshup(said: Text) -> Any:
    payload = {"id": said.id, "source": said.phone[1:], "type": "text", "payload": {"text": said.text},
               "sender": {"phone": said.phone[1:]}}  # fmt: skip
    return {"app": "northwind", "timestamp": _ms(said.at), "version": 2, "type": "message", "payload": payload}


def _twilio_text(said: Text) -> Any:
    return {"MessageSid": said.id, "From": f"whatsapp:{said.phone}", "To": f"whatsapp:{OURS}", "WaId": said.phone[1:],
            "Body": said.text, "NumMedia": "0", "SmsStatus": "received"}  # fmt: skip


def _wati(said: Text) -> Any:
    return {"id": said.id, "eventType": "message", "waId": said.phone[1:], "text": said.text, "type": "text", "owner": False,
            "timestamp": str(int(said.at.timestamp()))}  # fmt: skip


def _interakt(said: Text) -> Any:
    message = {
        "id": said.id,
        "message": said.text,
        "message_content_type": "Text",
        "received_at_utc": _iso(said.at)[:-1],
    }
    customer = {"channel_phone_number": said.phone[1:]}
    return {"type": "message_received", "data": {"customer": customer, "message": message}}


def _infobip(said: Text) -> Any:
    message = {"type": "TEXT", "text": said.text}
    at = said.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")
    return {
        "results": [
            {"messageId": said.id, "from": said.phone[1:], "to": OURS[1:], "receivedAt": at, "message": message}
        ]
    }


TEXTS: Mapping[str, Callable[[Text], Any]] = {
    "meta": _meta, "gupshup": _gupshup, "twilio": _twilio_text, "wati": _wati, "interakt": _interakt, "infobip": _infobip,
}  # fmt: skip


def as_posted(channel: str, vendor: str, document: Any) -> tuple[bytes, str]:
    """The bytes and their content type."""
    if (channel, vendor) in FORMS:
        return urlencode(document).encode(), FORM
    return json.dumps(document).encode(), "application/json"
