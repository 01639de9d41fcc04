"""What holds for every test, and what a run tells at its end beside passed and failed: the figures that proofs were made over.

No example of a law fails because it took long: how long one takes depends on who else is at work on the machine.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import often

settings.register_profile(
    "patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=often(100)
)
settings.load_profile("patient")

MARKED: Final = {"together": "process", "benchmarks": "benchmark"}
"""The mark that all tests of a folder have. Who leaves the mark out need not load the folder: it takes seconds."""

OBJECTS_BEFORE_LOOKING: Final = 10_000
"""Made before the youngest of them are looked through for garbage: a test that is over leaves little, and Python's 700 cost a
tenth of the run."""

FIGURES = "figures"
"""Under this name a test records what it counted: `record_property(FIGURES, {...})`."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    mark = MARKED.get(collection_path.name)
    return True if mark is not None and f"not {mark}" in config.getoption("markexpr") else None


def pytest_itemcollected(item: pytest.Item) -> None:
    for folder, mark in MARKED.items():
        if folder in item.path.parts and item.get_closest_marker(mark) is None:
            raise pytest.UsageError(f"{item.nodeid}: every test in {folder} is marked {mark}")


def pytest_collection_finish() -> None:
    """What is loaded by now stays: it is no garbage, and nobody looks through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BEFORE_LOOKING, *gc.get_threshold()[1:])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each test that recorded figures, also of those that ran in another process."""
    reports: list[pytest.TestReport] = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    for report in reports:
        for name, value in report.user_properties:
            if name == FIGURES and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {json.dumps(value)}")
