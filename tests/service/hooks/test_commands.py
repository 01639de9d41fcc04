"""`hooks create|list|try` as an operator meets them, within this process."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest

from tests.service.test_main import DONE, FAILED, CommandLine, Told, run

__all__ = ["run"]


class Hooks:
    """`borrower-memory hooks ...` with a line of standard input."""

    def __init__(self, run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        self._run, self._monkeypatch, self.folder = run, monkeypatch, run.folder

    def __call__(self, *words: str, secret: str = "s-1\n") -> Told:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(secret))
        return self._run("hooks", *words)

    def made(self, channel: str, vendor: str, *more: str) -> Told:
        return self("create", "--tenant", "acme", "--channel", channel, "--vendor", vendor, *more)


@pytest.fixture
def hooks(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    return Hooks(run, monkeypatch)


@pytest.mark.parametrize(
    ("channel", "vendor", "option", "value"),
    [
        ("voice", "twilio", "--public-url", "https://hooks.example.com"),
        ("voice", "plivo", "--public-url", "https://hooks.example.com"),
        ("whatsapp", "twilio", "--public-url", "https://hooks.example.com"),
        ("whatsapp", "meta", "--verify-token", "v"),
    ],
)
def test_what_a_hook_mostly_needs_and_was_not_given_is_said_when_it_is_made(
    hooks: Hooks, channel: str, vendor: str, option: str, value: str
) -> None:
    without, with_it = hooks.made(channel, vendor), hooks.made(channel, vendor, option, value)
    assert (without.code, with_it.code) == (DONE, DONE)
    assert f"without {option}" in without.err or f"with {option}" in without.err
    assert option not in with_it.err
    assert json.loads(without.out).keys() == {"hook_id", "path"}


def test_a_vendor_that_needs_neither_hears_of_neither(hooks: Hooks) -> None:
    assert "--" not in hooks.made("voice", "vapi").err


def test_hooks_are_listed_with_times_as_everywhere(hooks: Hooks) -> None:
    made = json.loads(hooks.made("voice", "vapi").out)
    (told,) = (json.loads(line) for line in hooks("list").out.splitlines())
    assert (told["hook_id"], told["path"], told["revoked_at"]) == (made["hook_id"], made["path"], None)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", told["created_at"])
    assert "secret" not in told


def tried(hooks: Hooks, body: bytes, vendor: str, *more: str) -> Any:
    file = hooks.folder / "body"
    file.write_bytes(body)
    return hooks("try", str(file), "--vendor", vendor, *more)


@pytest.mark.parametrize("body", [b"not json", b'{"message": {', b"\xff\xfe", b"", b"<xml a=1/>"])
@pytest.mark.parametrize("vendor", ["vapi", "retell", "bolna"])
def test_a_file_that_holds_no_document_is_unreadable_and_no_form(hooks: Hooks, body: bytes, vendor: str) -> None:
    told = tried(hooks, body, vendor)
    assert (told.code, told.out) == (FAILED, "")
    assert told.err.startswith("unreadable: ")


def test_a_form_is_tried_as_one_and_a_document_with_a_mark_before_it_too(hooks: Hooks) -> None:
    form = b"CallSid=CA1&CallStatus=completed&Direction=inbound&From=%2B919000000101&To=%2B912200000007"
    assert json.loads(tried(hooks, form, "twilio", "--channel", "voice").out)["key"] == "twilio:call:CA1:completed"
    body = b'\xef\xbb\xbf{"call_id": "c-1", "inbound": true, "from": "+919000000101", "status": "completed"}'
    assert json.loads(tried(hooks, body, "bland").out)["key"] == "bland:call:c-1:post-call"
