"""The command line up to where it begins to work: usage, settings, and what is drawn from data. The rest has processes."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from channels import CHANNELS
from service import __main__ as command_line
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
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    return CommandLine(monkeypatch, capsys, tmp_path)


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
    """DESIGN 16, of this version: those of hooks and of summaries come with them."""
    assert {" ".join(words) for words in COMMANDS} == {
        "serve", "writer", "demo", "migrate", "rebuild", "keys", "keys create", "keys list", "keys revoke", "set-aside",
        "set-aside list", "set-aside retry", "flows", "flows draw", "floor", "floor table",
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
        (("set-aside", "list"), "--tenant"),
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
    "command", ["serve", "demo", "migrate", "rebuild", "keys list --tenant a", "set-aside list --tenant a"]
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
