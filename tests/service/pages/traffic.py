"""What vendors bring to their hooks on such a day: reports, repeats, forged and missing signatures, and what nobody can read.

It knows the bodies of two vendors and nothing of the pages. Everybody in it is made up.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from tests.service.pages.stage import NISHA, OMAR
from tests.vendors import signed

Bring = Callable[[str, bytes, dict[str, str]], Awaitable[int]]
"""Posts a body with these headers to the hook of a vendor, and gives the answer's status."""
VOICE, CHAT = "bland", "meta"
CHANNELS = {VOICE: "voice", CHAT: "whatsapp"}


async def traffic(bring: Bring, now: datetime) -> None:
    """Two calls of which one is reported four times; a chat; seven refusals; two bodies that nobody can read."""
    for call, borrower, times in (("bland-1", NISHA, 4), ("bland-2", OMAR, 1)):
        body = _call(call, borrower, now)
        for _ in range(times):
            assert await _sent(bring, VOICE, body, now) == 200
    for broken in (b'{"call_id": "bland-3", "status', json.dumps({"call_id": "bland-4"}).encode()):
        assert await _sent(bring, VOICE, broken, now) == 200
    for _ in range(4):
        assert await bring(VOICE, _call("forged", NISHA, now), {"x-webhook-signature": "0" * 64}) == 401
    for _ in range(3):
        assert await bring(VOICE, _call("forged", NISHA, now), {}) == 401
    for place, words in enumerate(("ok, kal 2000 bhejti hoon", "baaki agle hafte")):
        body = _message(f"wamid.{place}", words, now - timedelta(minutes=9 - place))
        for _ in range(2):
            assert await _sent(bring, CHAT, body, now) == 200


async def _sent(bring: Bring, vendor: str, body: bytes, now: datetime) -> int:
    return await bring(vendor, body, signed(CHANNELS[vendor], vendor, body, now))


def _call(call: str, borrower: str, now: datetime) -> bytes:
    told: dict[str, Any] = {
        "call_id": call, "corrected_duration": "154", "to": "+919000000106", "from": "+912200000007", "inbound": False,
        "status": "completed", "answered_by": "human", "started_at": (now - timedelta(hours=2)).isoformat(),
        "metadata": {"borrower_id": borrower}, "transcripts": [{"user": "user", "text": "haan, theek hai"}],
        "analysis": {"amount": 3000, "promised_date": (now + timedelta(days=4)).date().isoformat()},
    }  # fmt: skip
    return json.dumps(told).encode()


def _message(id_: str, words: str, at: datetime) -> bytes:
    value: dict[str, Any] = {
        "messaging_product": "whatsapp", "metadata": {"display_phone_number": "912200000007", "phone_number_id": "1"},
        "contacts": [{"wa_id": "919000000106", "profile": {"name": "N"}}],
        "messages": [{"from": "919000000106", "id": id_, "timestamp": str(int(at.timestamp())), "type": "text",
                      "text": {"body": words}}],
    }  # fmt: skip
    changes = [{"field": "messages", "value": value}]
    return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": changes}]}).encode()
