"""The page of metrics is what every process tells; labels are bounded, and nothing of a borrower is among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from service.metrics.agents import AGENTS, OTHER, UNTOLD, Agents
from tests.service.metrics.roles import roles

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*?) \| (.*) \|$", re.MULTILINE)
BOUNDED = {
    "action", "agent", "answer", "asker", "became", "by", "channel", "degraded", "fallback", "layer", "method", "mode", "note",
    "outcome", "partition", "read", "reason", "route", "rule", "source", "status", "topic", "type", "used", "vendor", "why",
}  # fmt: skip
"""Labels whose values are words of ours: of an enumeration, a table, or a template of a path; `agent` is bounded below."""


def test_the_page_has_every_metric_of_every_process_and_no_other() -> None:
    told: dict[str, tuple[str, str, str, str]] = {}
    for role, metrics in roles().items():
        for name, metric in metrics.items():
            labels = " ".join(f"`{label}`" for label in metric.labels)
            by = f"{told[name][2]}, {role}" if name in told else role
            told[name] = (metric.kind, labels, by, metric.help)
    page = {name: tuple(row) for name, *row in ROW.findall(PAGE.read_text())}
    assert page == told


def test_no_label_can_have_any_number_of_values() -> None:
    used = {label for metrics in roles().values() for metric in metrics.values() for label in metric.labels}
    assert used == BOUNDED


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        ("voice-agent 2.3", "voice-agent 2.3"), (" Bot/2026.11 ", "bot/2026.11"), ("v2", "v2"), ("a@0.0.94", "a@0.0.94"),
        (None, UNTOLD), ("  ", UNTOLD), ("v1\n", "v1"), ("v1 (of\x00 x)", OTHER), ("a" * 39 + "12", OTHER),
        ("Asha Verma", OTHER), ("आशा 2", OTHER), ("+919000000012", OTHER), ("bot 9000 000 012", OTHER),
        ("90-00-00-00-12", OTHER), ("1 " * 9, OTHER),
    ],
)  # fmt: skip
def test_an_agent_is_a_label_when_it_looks_like_a_version(agent: str | None, label: str) -> None:
    assert Agents().label(agent) == label


def test_so_many_agents_are_told_apart_and_the_first_of_them_for_good() -> None:
    agents = Agents()
    labels = [agents.label(f"bot {n}") for n in range(AGENTS * 3)]
    assert len(set(labels)) == AGENTS + 1
    assert labels[AGENTS:] == [OTHER] * AGENTS * 2
    assert agents.label("bot 0") == "bot 0"
