"""The command line up to where it begins to work: usage, settings, and what is drawn from data. The rest has processes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import structlog
from structlog.testing import capture_logs

from channels import CHANNELS
from service import __main__ as command_line
from service import sqlite
from service.keys import SCOPES
from service.settings import PREFIX

DONE, FAILED, WRONG_USAGE = 0, 1, 2


@dataclass(frozen=True)
class Told:
    code: int
    out: str
    err: str


class CommandLine:
    """`borrower-memory ...` within this process, in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._monkeypatch, self._capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.chdir(folder)

    def __call__(self, *words: str, **settings: str) -> Told:
        for name, value in settings.items():
            self._monkeypatch.setenv(PREFIX + name, value)
        self._monkeypatch.setattr(sys, "argv", ["borrower-memory", *words])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        told = self._capsys.readouterr()
        return Told(int(ended.value.code or DONE), told.out, told.err)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[CommandLine]:
    yield CommandLine(monkeypatch, capsys, tmp_path)
    _log_as_before()


def _log_as_before() -> None:
    """A command sets up the log of its process, which here is every test's; a logger that was used keeps what it then found."""
    structlog.reset_defaults()
    for name, module in list(sys.modules.items()):
        if name.startswith("service") and isinstance(logger := vars(module).get("log"), type(structlog.get_logger())):
            vars(logger).pop("bind", None)


def test_what_a_command_sets_up_for_its_log_ends_with_it(run: CommandLine) -> None:
    run("keys", "list", "--tenant", "acme")
    sqlite.log.warning("told")
    _log_as_before()
    with capture_logs() as logs:
        sqlite.log.info("told")
    assert [line["event"] for line in logs] == ["told"]


def commands(group: click.Group, *before: str) -> list[tuple[str, ...]]:
    """Every command and group there is, by its words."""
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found.append((*before, name))
        if isinstance(command, click.Group):
            found += commands(command, *before, name)
    return found


COMMANDS = commands(command_line.commands)


def test_the_commands_are_those_of_the_design() -> None:
    """DESIGN 16, the reconciler of what hooks lost, and the job that keeps retentions."""
    assert {" ".join(words) for words in COMMANDS} == {
        "serve", "writer", "proposer", "sweeper", "summarise", "reconcile", "demo", "migrate", "rebuild", "keys",
        "keys create", "keys list", "keys revoke", "hooks", "hooks create", "hooks list", "hooks revoke", "hooks try",
        "retention", "set-aside", "set-aside list", "set-aside retry", "flows", "flows draw", "floor", "floor table",
    }  # fmt: skip


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=lambda words: " ".join(words) or "borrower-memory")
def test_every_command_says_what_it_is_for_and_touches_nothing(run: CommandLine, words: tuple[str, ...]) -> None:
    told = run(*words, "--help")
    assert (told.code, told.err) == (DONE, "")
    assert re.search(r"Usage: .*\n\n  [A-Z][^\0]*?\.\n", told.out)
    assert list(run.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "nonsense"),
        (("serve", "--port", "1"), "--port"),
        (("keys", "create", "--tenant", "acme"), "--scopes"),
        (("keys", "revoke"), "KEY_ID"),
        (("keys", "create", "--scopes", "read"), "--tenant"),
        (("set-aside", "list", "--tenant", "acme", "--status", "lost"), "lost"),
        (("set-aside", "retry", "--tenant", "acme", "one"), "one"),
        (("floor", "chart"), "chart"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_2_and_says_what_is_wrong(run: CommandLine, words: tuple[str, ...], said: str) -> None:
    told = run(*words)
    assert (told.code, told.out) == (WRONG_USAGE, "")
    assert said in told.err
    assert list(run.folder.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["serve", "demo", "migrate", "rebuild", "keys list", "set-aside list", "set-aside retry 1"]
)
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PROT", "8000", "unknown setting BORROWER_MEMORY_PROT (is BORROWER_MEMORY_PORT meant?)"),
        ("PORT", "eight", "BORROWER_MEMORY_PORT"),
        ("POLICY_FILE", "nowhere.toml", "BORROWER_MEMORY_POLICY_FILE names a file that is not there"),
        ("SECRET_KEYS", "c2hvcnQ", "BORROWER_MEMORY_SECRET_KEYS"),
        ("DATABASE_URL", "mysql://a/b", "BORROWER_MEMORY_DATABASE_URL must begin with sqlite:/// or postgresql://"),
        ("KAFKA_BOOTSTRAP_SERVERS", "kafka:9092", "with Kafka the records are in PostgreSQL"),
    ],
)
def test_wrong_settings_are_2_in_one_sentence_before_anything_is_touched(
    run: CommandLine, command: str, name: str, value: str, said: str
) -> None:
    told = run(*command.split(), **{name: value})
    assert (told.code, told.out) == (WRONG_USAGE, "")
    assert told.err.startswith("settings: ")
    assert said in told.err
    assert len(told.err.splitlines()) == 1
    assert list(run.folder.iterdir()) == []


def test_a_fault_in_the_defaults_of_the_policy_is_2_and_names_its_key(run: CommandLine) -> None:
    (run.folder / "policy.toml").write_text("[defaults]\nidentity_dayz = 3\n")
    told = run("serve", POLICY_FILE="policy.toml")
    assert (told.code, told.out) == (WRONG_USAGE, "")
    assert "identity_dayz" in told.err


@pytest.mark.parametrize("command", ["floor table", "flows draw"])
def test_an_unknown_setting_stops_what_needs_no_store_too(run: CommandLine, command: str) -> None:
    told = run(*command.split(), PROT="8000")
    assert (told.code, told.out) == (WRONG_USAGE, "")
    assert "unknown setting BORROWER_MEMORY_PROT" in told.err


def test_help_for_a_new_key_names_every_scope(run: CommandLine) -> None:
    told = run("keys", "create", "--help")
    assert all(scope in told.out for scope in SCOPES)


def test_the_keys_of_all_tenants_are_listed_or_of_one(run: CommandLine) -> None:
    for tenant in ("acme", "zeta"):
        assert run("keys", "create", "--tenant", tenant, "--scopes", "read").code == DONE

    def listed(*words: str) -> list[str]:
        told = run("keys", "list", *words)
        assert (told.code, told.err) == (DONE, "")
        return [json.loads(line)["tenant"] for line in told.out.splitlines()]

    assert sorted(listed()) == ["acme", "zeta"]
    assert listed("--tenant", "zeta") == ["zeta"]
    made = json.loads(run("keys", "list", "--tenant", "acme").out)["created_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", made)


@pytest.mark.parametrize("command", ["keys list", "hooks list", "set-aside list", "summarise --dry-run"])
def test_a_list_of_nobodys_says_that_there_is_nobody(run: CommandLine, command: str) -> None:
    """A name that was mistyped would else look like good news."""
    assert run("keys", "create", "--tenant", "acme", "--scopes", "read").code == DONE
    for tenant, said in (("acne", "there is no tenant acne"), ("acme", "")):
        told = run(*command.split(), "--tenant", tenant)
        assert told.code == DONE
        assert said in told.err
        assert bool(told.err) == bool(said)
        assert bool(told.out) == (command == "keys list" and tenant == "acme")


@pytest.mark.parametrize(("command", "setting"), [("serve", "PORT"), ("sweeper", "METRICS_PORT")])
def test_an_address_that_is_taken_is_1_and_says_which_setting_names_another(
    run: CommandLine, command: str, setting: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = run(command, **{setting: str(port)})
    assert told.code == FAILED
    last = told.err.splitlines()[-1]
    assert last.startswith(f"failed: cannot listen at 127.0.0.1:{port}: address already in use; ")
    assert f"BORROWER_MEMORY_{setting} names another port" in last


def test_a_database_that_is_not_there_is_1_and_says_why_and_where_it_was_looked_for(run: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    told = run("keys", "list", DATABASE_URL=f"postgresql://u:secret@127.0.0.1:{port}/x", SECRET_KEYS="A" * 43 + "=")
    assert (told.code, told.out) == (FAILED, "")
    assert told.err.startswith("failed: the database cannot be reached: ")
    assert f"'127.0.0.1', {port}" in told.err
    assert "BORROWER_MEMORY_DATABASE_URL" in told.err
    assert "secret" not in told.err


@pytest.mark.parametrize("words", [("list",), ("retry", "1")], ids=["list", "retry"])
def test_the_only_tenant_need_not_be_named_and_of_several_one_must(run: CommandLine, words: tuple[str, ...]) -> None:
    expected = DONE if words == ("list",) else FAILED  # there is nothing to try again
    for tenant in (None, "acme", "zeta"):
        if tenant is not None:
            assert run("keys", "create", "--tenant", tenant, "--scopes", "read").code == DONE
        told = run("set-aside", *words)
        if tenant != "zeta":
            assert (told.code, told.out) == (expected, ""), tenant
    assert (told.code, told.out) == (WRONG_USAGE, "")
    assert "--tenant" in told.err
    assert "acme, zeta" in told.err
    assert run("set-aside", *words, "--tenant", "zeta").code == expected


SERVICE = {
    "fastapi",
    "starlette",
    "uvicorn",
    "aiokafka",
    "openai",
    "prometheus_client",
    "service.web.app",
    "service.wiring",
}
ANY_STORE = {"sqlalchemy", "pydantic", "structlog", "phonenumbers"}
LOADED = """
import sys
from service.__main__ import main
try:
    main()
finally:
    print("loaded:", *(set(sys.modules) & set(sys.stdin.read().split())), file=sys.stderr)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        ("--help", SERVICE | ANY_STORE),
        ("serve --help", SERVICE | ANY_STORE),
        ("nonsense", SERVICE | ANY_STORE),
        ("floor table", SERVICE),
        ("keys list", SERVICE),
        ("keys create --tenant acme --scopes read", SERVICE),
        ("migrate", SERVICE),
    ],
)
def test_a_command_loads_only_what_it_needs(tmp_path: Path, words: str, unwanted: set[str]) -> None:
    """In a process of its own, for in this one everything is loaded."""
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, *words.split()],
        input=" ".join(unwanted), capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert ran.returncode == (WRONG_USAGE if words == "nonsense" else DONE), ran.stderr
    assert ran.stderr.splitlines()[-1].split() == ["loaded:"]


def test_the_drawings_are_those_of_the_readme(run: CommandLine) -> None:
    told = run("flows", "draw")
    assert (told.code, told.err) == (DONE, "")
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    blocks = told.out.strip().split("\n\n")
    assert len(blocks) == len(CHANNELS)
    assert all(block in readme for block in blocks)


def test_the_table_of_the_floor_names_every_state_and_every_rule(run: CommandLine) -> None:
    told = run("floor", "table")
    assert (told.code, told.err) == (DONE, "")
    for name, channel in CHANNELS.items():
        assert f"{name}\n" in told.out
        assert all(state.name in told.out for state in channel.flow.states)
    for rule in ("closed_state", "identity_required", "too_far_ahead", "on_hold"):
        assert rule in told.out
