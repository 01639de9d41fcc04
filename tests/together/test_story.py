"""The story that `make run` plays: told whole, true at every step, and found out when one answer of it is not.

That a wrong answer fails it is tried through a stand-in that passes everything on to a real service and bends one answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from service.demo import Story, StoryFailed, play, summary_of
from tests.together.service import Service, running

pytestmark = pytest.mark.process

TITLES = [
    "The lender opens a due",
    "Yesterday, on WhatsApp",
    "Today her phone rings",
    "A classifier wants to jump",
    "The call",
    "A fuzzy chat",
    "One reminder",
    "The payment link",
    "She pays",
    "The next month",
]
LAST_WORDS = "Every answer was as it should be."
REPORT = Path(__file__).parents[3] / "shared" / "cases" / "payloads" / "voice-pipecat-session-summary.json"
STAY_SECONDS = 60

Answer = dict[str, Any]
Bend = Callable[[Answer], None]


def told_steps(text: str) -> list[str]:
    """The titles of the steps that were told; their numbers must count from one."""
    steps = re.findall(r"^ ?(\d+)  (\S.*)$", text, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    return [title for _, title in steps]


@pytest.fixture
def store(tmp_path: Path) -> Service:
    """A fresh folder and the built-in policy, as `make run` has them; nothing is started."""
    return Service(tmp_path, policy=None)


# -- the command ---------------------------------------------------------------------------------------------------------


def test_the_demo_tells_all_ten_steps_and_ends_with_0_and_again_on_the_same_store(store: Service) -> None:
    for _ in range(2):
        told = store.command("demo")
        assert told.returncode == 0, told.stderr
        assert told_steps(told.stdout) == TITLES
        assert LAST_WORDS in told.stdout
        assert told.stderr == ""
    assert "start at 'confirmation', not at the opening" in told.stdout
    assert "refused: payment_link is 2 steps past confirmation" in told.stdout


def test_what_the_readme_shows_of_it_is_what_is_told(store: Service) -> None:
    """But for the dates, which are shifted to now."""

    def plain(text: str) -> str:
        dates = re.sub(r"\b\d{1,2} [A-Z][a-z]+\b|\b\d{1,2}(st|nd|rd|th)\b", "DAY", text)
        return re.sub(r"\s+", " ", dates).strip()

    readme = (Path(__file__).parents[2] / "README.md").read_text()
    excerpt = readme.partition("What `make run` shows")[2].partition("```\n")[2].partition("```")[0]
    told = plain(store.command("demo").stdout)
    steps = re.split(r"^ ?\d+  ", excerpt, flags=re.MULTILINE)[1:]
    assert len(steps) == 3
    for step in steps:
        for line in step.strip().split("\n"):
            assert plain(line) in told, line


def test_a_memory_that_hands_nothing_out_fails_the_demo_at_the_step_that_needs_it(tmp_path: Path) -> None:
    told = Service(tmp_path, policy=None, env={"BORROWER_MEMORY_MODE": "disabled"}).command("demo")
    assert told.returncode == 1
    assert told_steps(told.stdout) == TITLES[:3]
    assert LAST_WORDS not in told.stdout
    assert told.stderr.startswith("failed: step 3: ")


@pytest.mark.parametrize("again", [False, True])
def test_staying_prints_where_and_how_and_what_it_prints_works_as_printed(store: Service, again: bool) -> None:
    """Also on a store on which it was told and tried before."""
    if again:
        with _staying(store) as told:
            for line in _curl_lines(told):
                assert _Asked.of(line).answer().status_code == 200
    with _staying(store) as told:
        url = re.search(r"stays up at (http://127\.0\.0\.1:\d+)", told)
        assert url is not None
        file = re.search(r"is in (\S+)\.$", told, re.MULTILINE)
        assert file is not None
        key = Path(file[1]).read_text().strip()
        assert stat.S_IMODE(os.stat(file[1]).st_mode) == 0o600
        lines = _curl_lines(told)
        assert len(lines) == 3
        for line in lines:
            asked = _Asked.of(line)
            assert asked.url.startswith(url[1])
            assert asked.headers["Authorization"] == f"Bearer {key}"
            answer = asked.answer()
            assert answer.status_code == 200, answer.text
            _by_a_shell(line)
        assert answer.json()["commitment"]["status"] == "proposed"
        assert f"\n  {key}\n" in told
        named = re.findall(r"^  (http://\S+)", told, re.MULTILINE)
        assert named == [f"{url[1]}/docs", f"{url[1]}/ops"]
        assert httpx.get(named[0]).status_code == 200
        entered = httpx.post(f"{named[1]}/sign-in", data={"key": key}, follow_redirects=True)
        assert (entered.status_code, entered.url.path) == (200, "/ops")


@contextlib.contextmanager
def _staying(store: Service) -> Iterator[str]:
    """`demo --stay` until the block ends; what it has printed. Stopped as Ctrl-C does it, with exit code 0."""
    command = [sys.executable, "-u", "-m", "service", "demo", "--stay"]
    log = store.folder / "told"
    with log.open("w") as out:
        process = subprocess.Popen(command, env=store.env, cwd=store.folder, stdout=out, stderr=out)
    try:
        until = time.monotonic() + STAY_SECONDS
        while "/v1/resume -d" not in (told := log.read_text()):
            assert process.poll() is None, told
            assert time.monotonic() < until, told
            time.sleep(0.05)
        yield told
        process.send_signal(signal.SIGINT)
        assert process.wait(STAY_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


def _curl_lines(told: str) -> list[str]:
    """The commands, each with the lines that it goes on in."""
    return [block.strip() for block in told.split("\n\n") if block.strip().startswith("curl ")]


class _Asked:
    """What a `curl` line asks for, read as a shell reads it."""

    def __init__(self, url: str, headers: dict[str, str], data: str | None) -> None:
        self.url, self.headers, self.data = url, headers, data
        self.method = "GET" if data is None else "POST"

    def answer(self) -> httpx.Response:
        return httpx.request(self.method, self.url, headers=self.headers, content=self.data)

    @classmethod
    def of(cls, line: str) -> _Asked:
        words = iter(shlex.split(line.replace("\\\n", " ")))
        assert next(words) == "curl"
        url, headers, data = "", {}, None
        for word in words:
            match word:
                case "-s":
                    continue
                case "-H":
                    name, _, value = next(words).partition(": ")
                    headers[name] = value
                case "-d":
                    data = next(words)
                case _:
                    url = word
        return cls(url, headers, data)


def _by_a_shell(line: str) -> None:
    """As a person does it, where `curl` is at hand; what it asks has been asked without it already."""
    if shutil.which("curl") is None:
        return
    options = "curl --fail-with-body" + line.removeprefix("curl")
    done = subprocess.run(["sh", "-c", options], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert isinstance(json.loads(done.stdout), dict)


# -- a wrong answer ------------------------------------------------------------------------------------------------------


class StandIn:
    """Passes everything on to a real service; while `step` is told, answers to paths that end so are bent."""

    def __init__(self, url: str, step: int, path: str, bend: Bend) -> None:
        self.story: Story | None = None
        self.bent = 0
        stand_in, client = self, httpx.Client(base_url=url, timeout=30)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._pass_on(None)

            def do_POST(self) -> None:
                self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

            def _pass_on(self, body: bytes | None) -> None:
                headers = {name: self.headers[name] for name in ("Authorization", "Content-Type")}
                answer = client.request(self.command, self.path, content=body, headers=headers)
                status, document = answer.status_code, answer.json()
                assert stand_in.story is not None
                if stand_in.story.steps == step and re.search(path, self.path):
                    document = deepcopy(document)
                    bend(document)
                    stand_in.bent += 1
                    status = document.pop("http_status", status)
                raw = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                """Nothing on standard error."""

        self._client = client
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
        self._client.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("story")) as service:
        yield service


def _set(**changes: Any) -> Bend:
    return lambda answer: answer.update(changes)


def _set_within(name: str, **changes: Any) -> Bend:
    return lambda answer: answer[name].update(changes)


BORROWER = r"/v1/borrowers/[^/]+$"
BENT: list[tuple[int, str, str, Bend]] = [
    (1, "the due is not merged yet", "/v1/events$", _set(status="accepted")),
    (1, "the due is refused", "/v1/events$", _set(http_status=403)),
    (2, "a warning", "/v1/summaries$", _set(warnings=[{"code": "amount_withheld"}])),
    (2, "text confirms", BORROWER, _set_within("commitment", status="confirmed")),
    (2, "another amount", BORROWER, _set_within("commitment", amount="1250.00")),
    (3, "from the opening again", "/v1/resume$", _set(state="opening")),
    (3, "somebody else", "/v1/resume$", _set(borrower_id="B-1")),
    (3, "not verified", "/v1/resume$", _set_within("identity", holds=False)),
    (4, "the jump is granted", "/v1/resume$", _set(state="payment_link")),
    (4, "no reason", "/v1/resume$", _set(refusals=[])),
    (5, "the call is not merged yet", "/v1/summaries$", _set(http_status=202)),
    (5, "still proposed", "/v1/resume$", lambda a: a["commitment"] and a["commitment"].update(status="proposed")),
    (6, "the chat is refused", "/v1/summaries$", _set(http_status=422)),
    (6, "a rung fell", BORROWER, _set_within("commitment", status="proposed")),
    (7, "two may remind", "/permits$", _set(http_status=201)),
    (7, "refused without a reason", "/permits$", _set(reason=None)),
    (7, "the reminder is not merged yet", "/v1/events$", _set(status="accepted")),
    (8, "voice knows of no link", "/v1/resume$", _set_within("flags", payment_link_shared=False)),
    (9, "still open", "/v1/resume$", _set_within("cycle", status="open")),
    (9, "asked for money again", "/v1/resume$", _set(state="payment_link")),
    (10, "last month's reminder silences this month", "/flags$", _set_within("reminded", value=True)),
    (10, "begins at the end", "/v1/resume$", _set(state="closing")),
]


@pytest.mark.parametrize(
    ("step", "path", "bend"), [(s, p, b) for s, _, p, b in BENT], ids=[f"{s}: {what}" for s, what, _, _ in BENT]
)
def test_one_wrong_answer_fails_the_story_at_its_step(service: Service, step: int, path: str, bend: Bend) -> None:
    stand_in = StandIn(service.url, step, path, bend)
    told: list[str] = []
    try:
        stand_in.story = Story(stand_in.url, service.key(), say=told.append)
        with pytest.raises(StoryFailed, match=f"^step {step}: "):
            play(stand_in.story)
    finally:
        stand_in.close()
    assert stand_in.bent > 0
    assert told_steps("\n".join(told)) == TITLES[:step]


def test_a_stand_in_that_bends_nothing_passes(service: Service) -> None:
    """The control of the test above."""
    stand_in = StandIn(service.url, 99, "", _set(state="wrong"))
    told: list[str] = []
    try:
        stand_in.story = Story(stand_in.url, service.key(), say=told.append)
        play(stand_in.story)
    finally:
        stand_in.close()
    assert told_steps("\n".join(told)) == TITLES
    assert LAST_WORDS in told[-1]


def test_every_step_is_found_out() -> None:
    assert {step for step, *_ in BENT} == set(range(1, len(TITLES) + 1))


# -- a report as an agent's own program makes it ---------------------------------------------------------------------------


def test_a_session_report_of_an_agent_turns_her_proposal_into_a_confirmed_promise(service: Service) -> None:
    if not REPORT.is_file():
        pytest.skip("the vendors' payloads are not beside this checkout")
    report = _moved_to_now(json.loads(REPORT.read_text()))
    due = date.fromisoformat(report["flow"]["state"]["promised_date"])
    who = {"borrower_id": report["transport"]["custom_parameters"]["borrower_ref"]}
    said = {"amount_said": "12,500", "due_date_said": "by the 25th", "quote": "I will pay 12,500 by the 25th"}
    before = datetime.fromisoformat(report["started_at"]) - timedelta(hours=26)
    chat = {"channel": "whatsapp", "conversation_id": "chat-1", "ended_at": before.isoformat(), "outcome": "connected"}
    with service.client() as client:

        def promise() -> tuple[str, str, str]:
            found = client.get(f"/v1/borrowers/{who['borrower_id']}").raise_for_status().json()["commitment"]
            return found["status"], found["amount"], found["due_date"]

        client.post("/v1/summaries", json=chat | who | {"commitment": said}).raise_for_status()
        assert promise() == ("proposed", "12500.00", due.isoformat())
        answer = client.post("/v1/summaries", json=summary_of(report) | who)
        assert (answer.status_code, answer.json()["status"]) == (200, "merged")
        assert answer.json()["warnings"] == []
        assert promise() == ("confirmed", "12500.00", due.isoformat())
        again = client.post("/v1/summaries", json=summary_of(report) | who)
        assert again.json()["status"] == "duplicate"
        known = client.post("/v1/resume", json={"channel": "voice", "direction": "inbound", **who}).json()
        assert known["identity"]["holds"] is False, "a flow's own field verified her"
        assert known["after_identity"] is not None


def _moved_to_now(report: Answer) -> Answer:
    """The same call on the same days of the last month in which it is over, its spoken words moved with it."""
    zone = ZoneInfo("Asia/Kolkata")
    ended, due = (
        datetime.fromisoformat(report["ended_at"]),
        date.fromisoformat(report["flow"]["state"]["promised_date"]),
    )
    month = datetime.now(UTC).astimezone(zone).date().replace(day=1)
    if ended.replace(year=month.year, month=month.month) > datetime.now(UTC):
        month = (month - timedelta(days=1)).replace(day=1)
    moved = due.replace(year=month.year, month=month.month)
    text = json.dumps(report, ensure_ascii=False).replace(f"{due:%Y-%m}-", f"{moved:%Y-%m}-")
    text = text.replace(f"{due:%A}", f"{moved:%A}").replace(f"{due:%B}", f"{moved:%B}")
    assert f"{moved:%A} the twenty-fifth of {moved:%B}" in text
    found: Answer = json.loads(text)
    return found
