"""Who sent a hook's body: the vendors' signature schemes, over the raw bytes, compared in constant time (VENDORS 0, A, B).

A scheme is asked with what was received, the hook's secret and the time, and answers nothing or why it refuses: `missing`,
`wrong`, or `stale` where the vendor has a replay window. It parses a body only where the vendor signs the parsed form
(Twilio, Plivo). What a body says, whose hook it is and where secrets are kept is not known here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

Why = Literal["missing", "wrong", "stale"]

RETELL_WINDOW_SECONDS: Final = 300
ELEVENLABS_WINDOW_SECONDS: Final = 1_800
JWT_LEEWAY_SECONDS: Final = 60
MOST_SIGNATURES: Final = 16
"""Of one header that may list several."""
MOST_FIELDS: Final = 2_000
"""Of a form whose fields are signed one by one."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as its signature sees it. Header names in lower case; `url` is the address that the vendor was given."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    url: str = field(default="", repr=False)
    is_form: bool = False


Scheme = Callable[[Received, str, datetime], Why | None]
"""Raises nothing, whatever was received."""


def unsigned(received: Received, secret: str, now: datetime) -> Why | None:
    """A vendor that signs nothing: the path, which nobody can guess, is all there is."""
    return None


# -- a secret as it is --------------------------------------------------------------------------------------------------


def bearer(received: Received, secret: str, now: datetime) -> Why | None:
    """`Authorization: Bearer <secret>`: what the operator's own agent code sends."""
    kind, _, given = received.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not given:
        return "missing"
    return _told(_same(given.strip(), secret))


def header(name: str) -> Scheme:
    """The secret itself in a header."""

    def check(received: Received, secret: str, now: datetime) -> Why | None:
        given = received.headers.get(name, "")
        return _told(_same(given.strip(), secret)) if given else "missing"

    return check


def any_of(*schemes: Scheme) -> Scheme:
    """The first scheme that the request uses decides; `missing` when it uses none of them."""

    def check(received: Received, secret: str, now: datetime) -> Why | None:
        for scheme in schemes:
            why = scheme(received, secret, now)
            if why != "missing":
                return why
        return "missing"

    return check


# -- a hash over the body -----------------------------------------------------------------------------------------------


def body_hmac(name: str, *, prefix: str = "", encoding: Literal["hex", "base64"] = "hex") -> Scheme:
    """HMAC-SHA256 of the raw body in a header (Meta with `sha256=`, Bland without a prefix)."""

    def check(received: Received, secret: str, now: datetime) -> Why | None:
        given = received.headers.get(name, "").strip()
        if not given:
            return "missing"
        if not given.startswith(prefix):
            return "wrong"
        return _told(_same_digest(given.removeprefix(prefix), _hmac(secret, received.body), encoding))

    return check


def stamped_hmac(name: str, stamp_name: str) -> Scheme:
    """HMAC-SHA256 of `{stamp}.{body}` with the stamp in a header of its own (Vapi); no window, the vendor has none."""

    def check(received: Received, secret: str, now: datetime) -> Why | None:
        given, stamp = received.headers.get(name, "").strip(), received.headers.get(stamp_name, "").strip()
        if not given:
            return "missing"
        if not stamp:
            return "wrong"
        signed = stamp.encode("utf-8", "surrogatepass") + b"." + received.body
        return _told(_same_digest(given.removeprefix("sha256="), _hmac(secret, signed), "hex"))

    return check


_RETELL: Final = re.compile(r"v=(\d{1,16}),d=([0-9a-f]{64})", re.ASCII)


def retell(received: Received, secret: str, now: datetime) -> Why | None:
    """`v=<ms>,d=<hex>`: HMAC-SHA256 of the body followed by the stamp; five minutes."""
    given = received.headers.get("x-retell-signature", "").strip()
    if not given:
        return "missing"
    found = _RETELL.fullmatch(given)
    if found is None or not _same(found[2], _hmac(secret, received.body + found[1].encode()).hex()):
        return "wrong"
    return "stale" if abs(now.timestamp() - int(found[1]) / 1_000) > RETELL_WINDOW_SECONDS else None


def elevenlabs(received: Received, secret: str, now: datetime) -> Why | None:
    """`t=<s>,v0=<hex>`, maybe several `v0`: HMAC-SHA256 of `{t}.{body}`; thirty minutes."""
    given = received.headers.get("elevenlabs-signature", "").strip()
    if not given:
        return "missing"
    parts = [part.strip().partition("=") for part in given.split(",")[:MOST_SIGNATURES]]
    stamps = [value for name, _, value in parts if name == "t" and re.fullmatch(r"\d{1,13}", value, re.ASCII)]
    if len(stamps) != 1:
        return "wrong"
    expected = _hmac(secret, stamps[0].encode() + b"." + received.body).hex()
    matches = [_same(value, expected) for name, _, value in parts if name == "v0"]
    if not any(matches):
        return "wrong"
    return "stale" if abs(now.timestamp() - int(stamps[0])) > ELEVENLABS_WINDOW_SECONDS else None


# -- a token about the body ---------------------------------------------------------------------------------------------


def livekit(received: Received, secret: str, now: datetime) -> Why | None:
    """A JWT (HS256) whose claim `sha256` is the base64 of the body's hash; stale after its `exp` (LiveKit's webhooks)."""
    token = received.headers.get("authorization", "").strip()
    token = token[7:].strip() if token[:7].lower() == "bearer " else token
    if token.count(".") != 2:
        return "missing"
    signed, _, signature = token.rpartition(".")
    head, claims = (_json_of(part) for part in signed.split("."))
    given = _unpadded(signature)
    if head is None:
        return "missing"
    if claims is None or given is None or head.get("alg") != "HS256":
        return "wrong"
    if not hmac.compare_digest(given, _hmac(secret, signed.encode("utf-8", "surrogatepass"))):
        return "wrong"
    hashed = claims.get("sha256")
    if not isinstance(hashed, str):
        return "wrong"
    digest = hashlib.sha256(received.body).digest()
    if not any(_same(hashed, encode(digest).decode()) for encode in (base64.b64encode, base64.urlsafe_b64encode)):
        return "wrong"
    expires, begins = _number(claims.get("exp")), _number(claims.get("nbf", 0))
    if expires is None or begins is None:
        return "wrong"
    at = now.timestamp()
    return None if begins - JWT_LEEWAY_SECONDS <= at < expires + JWT_LEEWAY_SECONDS else "stale"


def _json_of(part: str) -> dict[str, object] | None:
    raw = _unpadded(part)
    try:
        document = json.loads(raw) if raw is not None else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _unpadded(text: str) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        return None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12 else None


# -- the address and the fields of a form -------------------------------------------------------------------------------


def twilio(received: Received, secret: str, now: datetime) -> Why | None:
    """Base64 HMAC-SHA1 of the public address and the form's sorted names and values.

    A body that is no form is signed by `bodySHA256` in the address. An address may have been signed with its default port
    or without it.
    """
    given = received.headers.get("x-twilio-signature", "").strip()
    if not given:
        return "missing"
    fields = ""
    if received.is_form:
        pairs = _form(received.body)
        if pairs is None:
            return "wrong"
        fields = "".join(name + value for name, value in sorted(set(pairs)))
    else:
        named = dict(parse_qsl(urlsplit(received.url).query)).get("bodySHA256", "")
        if not _same(named.lower(), hashlib.sha256(received.body).hexdigest()):
            return "wrong"
    key = secret.encode("utf-8", "surrogatepass")
    matches = [
        _same(given, base64.b64encode(hmac.digest(key, (url + fields).encode("utf-8", "replace"), "sha1")).decode())
        for url in _with_and_without_port(received.url)
    ]
    return _told(any(matches))


def plivo(received: Received, secret: str, now: datetime) -> Why | None:
    """Version 3: base64 HMAC-SHA256 of `{address}.{sorted names and values}.{nonce}`, one of a comma list."""
    given = received.headers.get("x-plivo-signature-v3", "").strip()
    nonce = received.headers.get("x-plivo-signature-v3-nonce", "").strip()
    if not given:
        return "missing"
    pairs = _form(received.body) if received.is_form else []
    if pairs is None or not nonce:
        return "wrong"
    parts = urlsplit(received.url)
    query = sorted(parse_qsl(parts.query, keep_blank_values=True))
    signed = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    if query or pairs:
        signed += "?" + "&".join(f"{name}={value}" for name, value in query)
    if pairs:
        signed += ("." if query else "") + "".join(name + value for name, value in sorted(pairs))
    digest = _hmac(secret, f"{signed}.{nonce}".encode("utf-8", "replace"))
    expected = base64.b64encode(digest).decode()
    matches = [_same(one.strip(), expected) for one in given.split(",")[:MOST_SIGNATURES]]
    return _told(any(matches))


def _form(body: bytes) -> list[tuple[str, str]] | None:
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        return None


def _with_and_without_port(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.netloc
    except ValueError:
        return url, url
    if port is not None:
        return url, urlunsplit(parts._replace(netloc=host.rpartition(":")[0]))
    return url, urlunsplit(parts._replace(netloc=f"{host}:{443 if parts.scheme == 'https' else 80}"))


# -- comparing ----------------------------------------------------------------------------------------------------------


def _hmac(secret: str, signed: bytes) -> bytes:
    return hmac.digest(secret.encode("utf-8", "surrogatepass"), signed, "sha256")


def _same(given: str, expected: str) -> bool:
    """In constant time for a given length; an empty secret is nobody's."""
    if not expected:
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))


def _same_digest(given: str, digest: bytes, encoding: Literal["hex", "base64"]) -> bool:
    if encoding == "hex":
        return _same(given.lower(), digest.hex())
    return _same(given, base64.b64encode(digest).decode())


def _told(matches: bool) -> Why | None:
    return None if matches else "wrong"


# -- by vendor ----------------------------------------------------------------------------------------------------------

vapi: Final = any_of(stamped_hmac("x-signature", "x-timestamp"), header("x-vapi-secret"), bearer)
bland: Final = body_hmac("x-webhook-signature")
meta: Final = body_hmac("x-hub-signature-256", prefix="sha256=")
elevenlabs_or_secret: Final = any_of(elevenlabs, header("x-hook-secret"), bearer)
"""A conversation initiation is not signed by the vendor: the workspace sends the headers that it was told to."""
livekit_or_secret: Final = any_of(livekit, bearer)

OF_ADDRESS: Final = (twilio, plivo)
"""The schemes that sign the address which the vendor was given."""
SCHEMES: Final[Mapping[str, Scheme]] = MappingProxyType(
    {"none": unsigned, "bearer": bearer, "twilio": twilio, "plivo": plivo}
)
"""The schemes that a mapping may name by themselves; `header` and `hmac` also need the name of their header."""
