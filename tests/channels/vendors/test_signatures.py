"""Each vendor's signature scheme: the vectors that prove it, what it refuses, and the vendors' own code as a witness."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels import signatures
from channels.signatures import Received, Scheme
from channels.vendors import VENDORS
from tests.vendors import NAMES, PAYLOADS, SECRET, SIGN, bearer, need_samples, signed

NOW = datetime(2026, 11, 22, 6, tzinfo=UTC)
URL = "https://hooks.example.invalid/hooks/x"
SIGNING = sorted(key for key in SIGN if VENDORS[key].needs_secret)

ALMOST = ["v=1,d=" + "0" * 64, "t=1,v0=0", "sha256=", "a.b.c", "Bearer ", "Bearer x"]


def vectors() -> list[dict[str, Any]]:
    file = PAYLOADS / "_signatures.json"
    return json.loads(file.read_text())["vectors"] if file.is_file() else []


def scheme(channel: str, vendor: str) -> Scheme:
    return VENDORS[channel, vendor].scheme


def received(channel: str, vendor: str, body: bytes, at: datetime = NOW, **own: Any) -> Received:
    form = vendor in ("twilio", "plivo")
    headers = signed(channel, vendor, body, at, url=own.pop("signed_url", URL), **own)
    return Received(body, headers, URL, form)


def a_body(vendor: str) -> bytes:
    return b"A=1&B=x+y&B=%2B91" if vendor in ("twilio", "plivo") else '{"a": "हाँ, ₹12,500", "b": [1, 2.50]}'.encode()


@pytest.mark.parametrize("vector", vectors(), ids=lambda v: v["file"])
def test_the_vectors_of_each_scheme_are_taken_as_they_were_signed_and_no_other_way(vector: dict[str, Any]) -> None:
    need_samples()
    vendor = NAMES.get(vector["provider"], vector["provider"])
    check = scheme(vector["file"].partition("-")[0], vendor)
    body = vector["form_body"].encode() if "form_body" in vector else (PAYLOADS / vector["file"]).read_bytes()
    at = datetime.fromtimestamp(vector["at_unix_s"], UTC)
    url, form = vector.get("url", ""), "form_body" in vector
    assert check(Received(body, vector["headers"], url, form), SECRET, at) is None
    assert check(Received(body + b" ", vector["headers"], url, form), SECRET, at) == "wrong"
    assert check(Received(body, vector["headers"], url, form), "another", at) == "wrong"
    assert check(Received(body, {}, url, form), SECRET, at) == "missing"
    if form:
        assert check(Received(body, vector["headers"], url + "/", form), SECRET, at) == "wrong"


@pytest.mark.parametrize(("channel", "vendor"), SIGNING)
def test_a_body_signed_afresh_is_taken_and_another_is_not(channel: str, vendor: str) -> None:
    body = a_body(vendor)
    check = scheme(channel, vendor)
    assert check(received(channel, vendor, body), SECRET, NOW) is None
    if SIGN[channel, vendor] is not bearer:  # a bearer says who posts, and nothing of what
        changed = Received(body + b"&", received(channel, vendor, body).headers, URL, vendor in ("twilio", "plivo"))
        other = Received(body.replace(b"1", b"2"), changed.headers, URL, changed.is_form)
        assert check(other, SECRET, NOW) == "wrong"
    assert check(received(channel, vendor, body, secret="other"), SECRET, NOW) == "wrong"
    assert check(Received(body, {}, URL, False), SECRET, NOW) in ("missing", "wrong")
    assert check(received(channel, vendor, body), "", NOW) == "wrong", "an empty secret is nobody's"


@pytest.mark.parametrize(
    ("vendor", "late"),
    [("retell", timedelta(minutes=5)), ("elevenlabs", timedelta(minutes=30)), ("livekit", timedelta(minutes=6))],
)
def test_a_replay_behind_the_vendors_window_is_stale(vendor: str, late: timedelta) -> None:
    body, check = a_body(vendor), scheme("voice", vendor)
    posted = received("voice", vendor, body)
    assert check(posted, SECRET, NOW + late - timedelta(seconds=1)) is None
    assert check(posted, SECRET, NOW + late + timedelta(seconds=1)) == "stale"
    if vendor != "livekit":
        assert check(posted, SECRET, NOW - late - timedelta(seconds=1)) == "stale"


def test_a_signature_that_is_optional_must_be_right_where_it_is() -> None:
    check, body = scheme("whatsapp", "interakt"), b"{}"
    right = {"interakt-signature": signed("whatsapp", "meta", body, NOW)["x-hub-signature-256"]}
    assert check(Received(body, right), SECRET, NOW) is None
    assert check(Received(body, {}), SECRET, NOW) is None
    assert check(Received(body + b" ", right), SECRET, NOW) == "wrong"
    assert check(Received(body + b" ", right), "", NOW) is None, "without a secret there is nothing to check by"


def test_vapi_takes_its_secret_in_three_ways() -> None:
    for headers in ({"x-vapi-secret": SECRET}, {"authorization": f"Bearer {SECRET}"}):
        assert signatures.vapi(Received(b"{}", headers), SECRET, NOW) is None
        assert signatures.vapi(Received(b"{}", headers), "other", NOW) == "wrong"
    wrong_hash = {"x-signature": "00", "x-timestamp": "1", "x-vapi-secret": SECRET}
    assert signatures.vapi(Received(b"{}", wrong_hash), SECRET, NOW) == "wrong", "what is signed is not taken otherwise"


def test_one_of_several_hashes_of_elevenlabs_is_enough() -> None:
    headers = signed("voice", "elevenlabs", b"{}", NOW)
    stamp, good = headers["elevenlabs-signature"].split(",")
    assert (
        signatures.elevenlabs(Received(b"{}", {"elevenlabs-signature": f"{stamp},v0=00,{good}"}), SECRET, NOW) is None
    )
    assert signatures.elevenlabs(Received(b"{}", {"elevenlabs-signature": f"{stamp},v0=00"}), SECRET, NOW) == "wrong"
    assert signatures.elevenlabs(Received(b"{}", {"elevenlabs-signature": good}), SECRET, NOW) == "wrong"


@pytest.mark.parametrize("signed_url", [URL.replace(".invalid/", ".invalid:443/"), URL])
def test_twilio_may_have_signed_the_default_port_or_not(signed_url: str) -> None:
    assert signatures.twilio(received("voice", "twilio", b"A=1", signed_url=signed_url), SECRET, NOW) is None


@pytest.mark.parametrize("alg", ["none", "HS512", "RS256"])
def test_a_token_of_another_algorithm_is_no_token(alg: str) -> None:
    head, claims, _ = signed("voice", "livekit", b"{}", NOW)["authorization"].split(".")
    head = base64.urlsafe_b64encode(json.dumps({"alg": alg}).encode()).rstrip(b"=").decode()
    for signature in ("", "AAAA"):
        headers = {"authorization": f"{head}.{claims}.{signature}"}
        assert signatures.livekit(Received(b"{}", headers), SECRET, NOW) == "wrong"


@given(
    st.sampled_from(sorted(VENDORS)),
    st.binary(max_size=60),
    st.dictionaries(
        st.sampled_from(
            "authorization x-signature x-timestamp x-retell-signature elevenlabs-signature x-webhook-signature "
            "x-hub-signature-256 x-twilio-signature x-plivo-signature-v3 x-plivo-signature-v3-nonce x-vapi-secret".split()
        ),
        st.one_of(
            st.text(max_size=40),
            st.sampled_from(["v=1,d=" + "0" * 64, "t=1,v0=0", "sha256=", "a.b.c", "Bearer ", "Bearer x"]),
        ),
        max_size=4,
    ),
    st.booleans(),
)
def test_nothing_that_was_not_signed_is_taken_and_nothing_raises(
    key: tuple[str, str], body: bytes, headers: dict[str, str], form: bool
) -> None:
    vendor = VENDORS[key]
    why = vendor.scheme(Received(body, headers, "https://x.invalid:port/%", form), SECRET, NOW)
    assert why in ("missing", "wrong", "stale") if vendor.needs_secret else why in (None, "missing", "wrong")


# -- the vendors' own code ----------------------------------------------------------------------------------------------


def own(module: str) -> Any:
    return pytest.importorskip(module, reason="the vendor's SDK is not installed here")


@pytest.mark.thorough
def test_what_twilio_signs_is_taken() -> None:
    validator = own("twilio.request_validator").RequestValidator(SECRET)
    pairs = {"From": "+919000000101", "Body": "हाँ & नहीं", "Empty": ""}
    posted = Received(
        urlencode(pairs).encode(), {"x-twilio-signature": validator.compute_signature(URL, pairs)}, URL, True
    )
    assert signatures.twilio(posted, SECRET, NOW) is None


@pytest.mark.thorough
@pytest.mark.parametrize("query", ["", "?b=2&a=1"])
def test_what_plivo_signs_is_taken(query: str) -> None:
    v3 = own("plivo.utils.signature_v3")
    pairs = {"From": "919000000101", "Event": "Hangup", "CallUUID": "u-1"}
    base = v3.construct_post_url(URL + query, dict(pairs)).decode()
    signature = v3.get_signature_v3(SECRET.encode(), base, "n-1").decode()
    headers = {"x-plivo-signature-v3": f"AAAA,{signature}", "x-plivo-signature-v3-nonce": "n-1"}
    assert signatures.plivo(Received(urlencode(pairs).encode(), headers, URL + query, True), SECRET, NOW) is None


@pytest.mark.thorough
def test_what_retell_signs_is_taken() -> None:
    auth = own("retell.lib.webhook_auth")
    body = '{"a": "हाँ"}'
    headers = {"x-retell-signature": auth.symmetric["sign"](body, SECRET)}
    at = datetime.fromtimestamp(int(headers["x-retell-signature"][2:15]) / 1000, UTC)
    assert signatures.retell(Received(body.encode(), headers), SECRET, at) is None
