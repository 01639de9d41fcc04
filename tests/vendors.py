"""Vendors as tests play them: how each signs a body, and the bodies that lie beside this checkout.

Signing is written here a second time, from the vendors' own words, so that a fault in ours is not repeated in its proof.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

FORM = "application/x-www-form-urlencoded"
SECRET = "test-secret"
PAYLOADS = Path(__file__).parents[2] / "shared" / "cases" / "payloads"
NAMES = {"whatsapp-cloud": "meta", "twilio-whatsapp": "twilio"}
"""The bodies' names for what our paths call otherwise."""

Headers = dict[str, str]


@dataclass(frozen=True)
class Sample:
    """A body of a vendor, with what its index says of it."""

    file: str
    channel: str
    vendor: str
    content_type: str
    event_keys: tuple[str, ...]
    expect: Mapping[str, Any]

    @property
    def document(self) -> Any:
        return json.loads((PAYLOADS / self.file).read_text())

    @property
    def raw(self) -> bytes:
        """As the vendor posts it."""
        if self.content_type == FORM:
            return urlencode(self.document).encode()
        return (PAYLOADS / self.file).read_bytes()


def samples() -> list[Sample]:
    """All of them; none where they are not beside this checkout."""
    index = PAYLOADS / "_index.json"
    if not index.is_file():
        return []
    found = []
    for told in json.loads(index.read_text())["files"]:
        channel = told["file"].partition("-")[0]
        keys = told["event_key"]
        if (
            told["content_type"] in ("application/json", "application/webhook+json", FORM)
            and told["provider"] != "table"
        ):
            found.append(
                Sample(
                    told["file"],
                    channel,
                    NAMES.get(told["provider"], told["provider"]),
                    told["content_type"],
                    tuple(keys) if isinstance(keys, list) else (keys,),
                    told["expect"],
                )
            )
    return found


def need_samples() -> None:
    if not PAYLOADS.is_dir():
        pytest.skip("the vendors' payloads are not beside this checkout")


def sample(file: str) -> Sample:
    need_samples()
    return next(one for one in samples() if one.file == file)


# -- signing ------------------------------------------------------------------------------------------------------------


def _hex(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _vapi(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    stamp = str(int(at.timestamp() * 1000))
    return {"x-timestamp": stamp, "x-signature": _hex(secret, f"{stamp}.".encode() + body)}


def _retell(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    stamp = str(int(at.timestamp() * 1000))
    return {"x-retell-signature": f"v={stamp},d={_hex(secret, body + stamp.encode())}"}


def _elevenlabs(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    stamp = str(int(at.timestamp()))
    return {"elevenlabs-signature": f"t={stamp},v0={_hex(secret, f'{stamp}.'.encode() + body)}"}


def _bland(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    return {"x-webhook-signature": _hex(secret, body)}


def _meta(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    return {"x-hub-signature-256": f"sha256={_hex(secret, body)}"}


def _twilio(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    pairs = "".join(name + value for name, value in sorted(parse_qsl(body.decode(), keep_blank_values=True)))
    digest = hmac.new(secret.encode(), (url + pairs).encode(), hashlib.sha1).digest()
    return {"x-twilio-signature": base64.b64encode(digest).decode()}


def _plivo(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    pairs = "".join(name + value for name, value in sorted(parse_qsl(body.decode(), keep_blank_values=True)))
    digest = hmac.new(secret.encode(), f"{url}?{pairs}.nonce-1".encode(), hashlib.sha256).digest()
    return {"x-plivo-signature-v3": base64.b64encode(digest).decode(), "x-plivo-signature-v3-nonce": "nonce-1"}


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _livekit(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    claims = {
        "iss": "test-key",
        "exp": int((at + timedelta(minutes=5)).timestamp()),
        "sha256": base64.b64encode(hashlib.sha256(body).digest()).decode(),
    }
    signed = ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return {"authorization": f"{signed}.{_base64(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest())}"}


def bearer(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    return {"authorization": f"Bearer {secret}"}


def _nothing(body: bytes, at: datetime, secret: str, url: str) -> Headers:
    return {}


Sign = Callable[[bytes, datetime, str, str], Headers]
SIGN: Mapping[tuple[str, str], Sign] = {
    ("voice", "vapi"): _vapi,
    ("voice", "retell"): _retell,
    ("voice", "elevenlabs"): _elevenlabs,
    ("voice", "bland"): _bland,
    ("voice", "livekit"): _livekit,
    ("voice", "pipecat"): bearer,
    ("voice", "twilio"): _twilio,
    ("voice", "exotel"): _nothing,
    ("voice", "bolna"): _nothing,
    ("voice", "plivo"): _plivo,
    ("whatsapp", "meta"): _meta,
    ("whatsapp", "gupshup"): _nothing,
    ("whatsapp", "twilio"): _twilio,
    ("whatsapp", "wati"): _nothing,
    ("whatsapp", "interakt"): _nothing,
    ("whatsapp", "infobip"): _nothing,
}


def signed(channel: str, vendor: str, body: bytes, at: datetime, *, secret: str = SECRET, url: str = "") -> Headers:
    """The headers with which this vendor posts this body."""
    return SIGN[channel, vendor](body, at, secret, url)
