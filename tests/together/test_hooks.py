"""Hooks as an operator meets them: made by the command, posted to over HTTP, killed in the middle (API 11)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.together.service import Service, running
from tests.vendors import SECRET, signed

pytestmark = pytest.mark.process

REPORTS = 60
READ_SECONDS = 60


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("hooks")) as service:
        yield service


def hooks(service: Service, *words: str, secret: str = SECRET) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service", "hooks", *words],
        env=service.env, cwd=service.folder, capture_output=True, text=True, timeout=60, check=False, input=secret + "\n",
    )  # fmt: skip


def made(service: Service, vendor: str, channel: str = "voice", *more: str, secret: str = SECRET) -> dict[str, str]:
    done = hooks(service, "create", "--tenant", "acme", "--channel", channel, "--vendor", vendor, *more, secret=secret)
    assert done.returncode == 0, done.stderr
    told: dict[str, str] = json.loads(done.stdout)
    assert SECRET not in done.stdout + done.stderr
    return told


def report(call: str, borrower: str = "B-1") -> bytes:
    """A call that ended an hour ago, as Bland tells it."""
    began = datetime.now(UTC) - timedelta(hours=1)
    due = (datetime.now(UTC) + timedelta(days=5)).date().isoformat()
    told = {
        "call_id": call,
        "corrected_duration": "154",
        "to": "+919000000101",
        "from": "+912200000007",
        "inbound": False,
        "status": "completed",
        "answered_by": "human",
        "started_at": began.isoformat(),
        "metadata": {"borrower_id": borrower},
        "transcripts": [{"user": "user", "text": "haan"}],
        "analysis": {"amount": 5000, "promised_date": due},
    }
    return json.dumps(told).encode()


def post(service: Service, path: str, body: bytes, vendor: str = "bland") -> httpx.Response:
    headers = signed("voice", vendor, body, datetime.now(UTC)) | {"content-type": "application/json"}
    return httpx.post(service.url + path, content=body, headers=headers, timeout=30)


def merged(service: Service, borrower: str) -> int:
    """How many conversations of the borrower there are."""
    with service.client() as client:
        items = 0
        cursor: Any = ""
        while cursor is not None:
            page = client.get(
                f"/v1/borrowers/{borrower}/timeline", params={"limit": 200} | ({"cursor": cursor} if cursor else {})
            )
            if page.status_code == 404:
                return 0
            items += len(page.json()["items"])
            cursor = page.json()["next_cursor"]
        return items


def until(service: Service, borrower: str, count: int) -> int:
    end = time.monotonic() + READ_SECONDS
    while (found := merged(service, borrower)) < count and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_a_hook_is_made_posted_to_listed_and_revoked(service: Service) -> None:
    hook = made(service, "bland")
    assert re.fullmatch(r"/hooks/voice/bland/h_[A-Za-z0-9_-]{32}", hook["path"])
    answer = post(service, hook["path"], report("c-1"))
    assert (answer.status_code, answer.json()) == (200, {"received": 1})
    assert until(service, "B-1", 1) == 1
    assert post(service, hook["path"], report("c-1")).status_code == 200
    listed = [json.loads(line) for line in hooks(service, "list", "--tenant", "acme").stdout.splitlines()]
    assert hook["hook_id"] in [one["hook_id"] for one in listed]
    assert hooks(service, "revoke", hook["hook_id"]).returncode == 0
    end = time.monotonic() + 20
    while post(service, hook["path"], report("c-1")).status_code != 404:  # for some seconds it is still known
        assert time.monotonic() < end
        time.sleep(0.1)
    assert post(service, hook["path"], report("c-2")).status_code == 404
    assert hooks(service, "revoke", "h_none").returncode == 1
    assert merged(service, "B-1") == 1, "a repeat is told once, and a revoked hook tells nothing"


@pytest.mark.parametrize(
    ("words", "secret", "said"),
    [
        (("--channel", "voice", "--vendor", "nobody"), SECRET, "no vendor"),
        (("--channel", "whatsapp", "--vendor", "vapi"), SECRET, "no vendor"),
        (("--channel", "voice", "--vendor", "vapi"), "", "secret"),
        (("--channel", "voice", "--vendor", "vapi", "--public-url", "not a url"), SECRET, "origin"),
    ],
)
def test_a_hook_that_cannot_be_made_is_wrong_usage(
    service: Service, words: tuple[str, ...], secret: str, said: str
) -> None:
    done = hooks(service, "create", "--tenant", "acme", *words, secret=secret)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_vendor_that_signs_nothing_needs_no_secret_and_meta_shakes_hands(service: Service) -> None:
    made(service, "exotel", secret="")
    hook = made(service, "meta", "whatsapp", "--verify-token", "t-1")
    query = {"hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": "t-1"}
    assert httpx.get(service.url + hook["path"], params=query).text == "1158201444"
    assert httpx.get(service.url + hook["path"], params=query | {"hub.verify_token": "x"}).status_code == 403


def test_what_an_adapter_makes_of_a_body_is_shown(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_bytes(report("c-9"))
    done = hooks(service, "try", str(file), "--vendor", "bland")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["key"] == "bland:call:c-9:post-call"
    assert told["entries"][0]["commitment"]["amount"] == "5000"
    file.write_bytes(b"{")
    assert hooks(service, "try", str(file), "--vendor", "bland").returncode == 1
    assert hooks(service, "try", str(file), "--vendor", "nobody").returncode == 2


def test_what_was_answered_is_merged_once_whatever_is_killed(tmp_path: Path) -> None:
    service = Service(tmp_path).start()
    try:
        hook = made(service, "bland")
        for number in range(REPORTS):
            assert post(service, hook["path"], report(f"c-{number}", "B-9")).status_code == 200
        service.kill()  # some are read, some are not
        service.start()
        assert until(service, "B-9", REPORTS) == REPORTS
        for number in range(REPORTS):
            assert post(service, hook["path"], report(f"c-{number}", "B-9")).status_code == 200
        with service.client() as client:
            version = client.get("/v1/borrowers/B-9").json()["record_version"]
            assert client.get("/v1/ops/stats").json()["set_aside"] == 0
        assert version == REPORTS
    finally:
        service.kill()
