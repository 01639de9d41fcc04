"""What the README and the pages behind it claim is true: commands exist, bodies are taken, settings are the settings there are.

Its story is compared with what the demo tells in `together`, its drawings with the flows in `channels`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

from service import __main__ as command_line
from service import policy, settings
from service.policy import Policy
from statemachine.floor import RULES
from tests.service.api import api
from tests.service.test_main import commands

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/agents.md", "docs/running.md", "docs/memory.md", "docs/room.md")
"""Those that are written by hand; what is in `docs` beside them is made, and has tests of its own."""
README = "\n".join((ROOT / page).read_text() for page in PAGES)
MAKEFILE = (ROOT / "Makefile").read_text()


def blocks(kind: str = "") -> Iterator[str]:
    """What stands between fences of this kind."""
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        if found[1] == kind:
            yield found[2]


# -- commands ---------------------------------------------------------------------------------------------------------


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that these words name, and what is left of them."""
    found: click.Command = command_line.commands
    while words and isinstance(found, click.Group):
        assert words[0] in found.commands, f"there is no command {words[0]}"
        found, words = found.commands[words[0]], words[1:]
    return found, words


def test_every_command_line_is_one() -> None:
    lines = re.findall(r"^borrower-memory (.*)$", "\n".join(blocks()), re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        command, rest = command_of(line.split())
        command.make_context(line, rest)  # raises for an option or a value that there is not


def test_the_table_of_commands_is_whole() -> None:
    rows = re.findall(r"^\| (`borrower-memory .*?) \|", README, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(?:borrower-memory )?([^`]+)`", row)}
    groups = {words[0] for words in commands(command_line.commands) if len(words) > 1}
    assert told == {" ".join(words) for words in commands(command_line.commands)} - groups


def test_every_option_that_is_named_is_one() -> None:
    options = {o for c in _all(command_line.commands) for p in c.params for o in p.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    assert named <= options
    assert "--stay" in named


def _all(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from _all(command)


def test_make_has_the_targets_that_are_named_and_no_secret_ones() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)", README, re.MULTILINE))
    assert named == targets - {"setup", "setup-dev", "setup-agents", "setup-bench"}
    assert targets == set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())  # type: ignore[index]


def test_the_python_that_is_asked_for_is_the_one_that_is_needed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer, nothing else" in README
    assert "sys.version_info < (3, 11)" in MAKEFILE


# -- calls ------------------------------------------------------------------------------------------------------------

_CALL = re.compile(r"^(GET|POST) +(/\S+)(?: +(\{.*?\}))?$(?=\n[A-Z]|\n?\Z)", re.MULTILINE | re.DOTALL)


def calls() -> list[tuple[str, str, Any]]:
    found = [
        (method, path, json.loads(body) if body else None)
        for block in blocks()
        for method, path, body in _CALL.findall(block.rstrip())
    ]
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("years_later", [0, 1, 10])
async def test_the_calls_are_taken_as_they_stand_one_after_the_other(tmp_path: Path, years_later: int) -> None:
    """On the evening on which they were written, and by whoever reads them later: then time has gone on, as it is told."""
    assert "written on the evening of 30 November 2026" in README
    async with api(tmp_path) as service:
        service.behind.now = datetime(2026 + years_later, 11, 30, 12, 0, tzinfo=UTC)
        written = []
        for method, path, body in sorted(calls(), key=lambda call: call[1].endswith("/permits")):
            answer = await service.call(method, path, body)
            assert answer.status in (200, 201), (path, answer)
            if path in ("/v1/summaries", "/v1/events"):
                assert (answer["status"], answer["warnings"]) == ("merged", [])
                written.append(path)
        assert written == ["/v1/events", "/v1/events", "/v1/summaries", "/v1/events"]
        promise = (await service.get("/v1/borrowers/B-101"))["commitment"]
        assert (promise["status"], promise["amount"], promise["due_date"]) == ("proposed", "12500.00", "2026-12-05")
        assert promise["overdue"] == (years_later > 0)
        start = await service.resume(identifier={"kind": "phone", "value": "09000000101"})
        assert (start["found"], start["identity"]["holds"]) == (True, years_later == 0)


async def test_the_paths_that_are_named_are_answered(tmp_path: Path) -> None:
    named = set(re.findall(r"`(/[a-z]+)`", README))
    assert named == {"/docs", "/healthz", "/readyz", "/metrics", "/mcp", "/ops"}
    async with api(tmp_path) as service:
        for path in named - {"/mcp"}:
            answer = await service.client.get(path, headers={"Authorization": ""}, follow_redirects=True)
            assert answer.status_code == 200, path
        assert (await service.client.post("/mcp", headers={"Authorization": ""})).status_code == 401


# -- settings ---------------------------------------------------------------------------------------------------------


def test_every_setting_is_in_the_table_or_among_those_that_are_not_used_yet() -> None:
    table = set(
        re.findall(r"`(BORROWER_MEMORY_[A-Z_]+)`", "\n".join(re.findall(r"^\| `BORROWER.*$", README, re.MULTILINE)))
    )
    paragraph = re.search(r"^Checked at start as well, and not used yet: (.*?)\n\n", README, re.MULTILINE | re.DOTALL)
    later = set(re.findall(r"`(BORROWER_MEMORY_[A-Z_]+)`", paragraph[1])) if paragraph else set()
    assert table | later == set(settings.VARIABLES)
    assert not table & later
    everywhere = set(re.findall(r"BORROWER_MEMORY_[A-Z_]*[A-Z]", README))
    assert everywhere == set(settings.VARIABLES)


def test_the_defaults_of_the_table_are_the_defaults(tmp_path: Path) -> None:
    rows = dict(re.findall(r"^\| (`BORROWER_MEMORY_.*?) \| (.*?) \|", README, re.MULTILINE))
    told = {key: value for key, value in rows.items() if value}
    loaded = settings.load({}, directory=tmp_path)
    assert told["`BORROWER_MEMORY_HOST`, `BORROWER_MEMORY_PORT`"] == f"{loaded.host}, {loaded.port}"
    assert told["`BORROWER_MEMORY_LOG_LEVEL`"] == loaded.log_level
    assert told["`BORROWER_MEMORY_METRICS_PORT`"] == str(loaded.metrics_port)
    assert told["`BORROWER_MEMORY_KAFKA_SESSION_SECONDS`"] == str(loaded.kafka_session_seconds)
    assert f"{loaded.kafka_topic_prefix}, {loaded.kafka_partitions}" in told.values()
    assert loaded.kafka_security_protocol in told.values()
    assert f"SQLite in `{settings.DEFAULT_DATABASE.parent}/`" in told["`BORROWER_MEMORY_DATABASE_URL`"]
    assert (loaded.secret_keys, loaded.policy_file, loaded.mode) == (None, None, None)


def test_the_policy_file_is_one_and_its_defaults_are_the_defaults(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    file = tmp_path / "policy.toml"
    file.write_text(text)
    loaded = policy.load(file)
    assert loaded.problems == {}
    assert loaded.defaults == Policy()
    acme = loaded.for_tenant("acme")
    assert (acme.mode_for("voice", "B-101"), acme.mode_for("whatsapp", "B-101")) == ("shadow", "enabled")
    assert acme.mode_for("whatsapp", "B-102") == "disabled"
    assert acme.own_numbers == ("02200000007",)


# -- what it says of the code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(re.findall(r"(?:service|statemachine|channels)/[a-z_/]+", README))))
def test_every_module_that_is_named_is_there(name: str) -> None:
    path = ROOT / name
    assert path.is_dir() or path.with_suffix(".py").is_file()


def test_the_layout_names_what_there_is() -> None:
    layout = next(block for block in blocks() if block.startswith("statemachine/"))
    folders = re.findall(r"^(\w+)/", layout, re.MULTILINE)
    assert folders == ["statemachine", "channels", "service", "templates", "tests"]
    core = re.search(r"^statemachine/ +the pure core: (.*)$", layout, re.MULTILINE)
    assert core is not None
    for name in re.findall(r"\w+", core[1].replace(" and ", " ")):
        path = ROOT / "statemachine" / name
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_the_floor_has_as_many_rules_as_it_is_said_to_have() -> None:
    assert "with five rules" in README
    assert len(RULES) == 5


def _anchors(text: str) -> set[str]:
    """The places within a page to which a link may lead, as the common hosts name them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    prose = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text()), link


def test_every_page_is_led_to_from_the_first() -> None:
    first = (ROOT / "README.md").read_text()
    assert all(f"]({page})" in first for page in PAGES[1:])


def test_no_heading_stands_over_nothing() -> None:
    sections = re.split(r"^#+ .*$", re.sub(r"```.*?```", "code", README, flags=re.DOTALL), flags=re.MULTILINE)[1:]
    headings = re.findall(r"^(#+) .*$", re.sub(r"```.*?```", "code", README, flags=re.DOTALL), re.MULTILINE)
    for level, text, following in zip(headings, sections, [*headings[1:], "#"], strict=True):
        assert text.strip() or len(following) > len(level)
