"""What holds for every test, and what a run tells at its end beside passed and failed: the figures that proofs were made over.

No example of a law fails because it took long: how long one takes depends on who else is at work on the machine.

What a unit test writes is written to memory where there is some: each of thousands waits for a disk several times, and none
of them cuts the power. Tests with real processes, and benchmarks, have the disk.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import often

OBJECTS_BEFORE_LOOKING: Final = 10_000
"""Made before the youngest of them are looked through for garbage: a test that is over leaves little, and Python's 700 cost a
tenth of the run."""

settings.register_profile(
    "patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=often(100)
)
settings.load_profile("patient")
gc.set_threshold(OBJECTS_BEFORE_LOOKING)

MARKED: Final = {"together": "process", "benchmarks": "benchmark"}
"""The mark that all tests of a folder have. Who leaves the mark out need not load the folder: it takes seconds."""

FIGURES = "figures"
"""Under this name a test records what it counted: `record_property(FIGURES, {...})`."""


MEMORY: Final = Path("/dev/shm")
"""A folder in memory on Linux. In a container it may be too small for anything, and then it is not used."""
MEMORY_NEEDED_BYTES: Final = 512 * 1024 * 1024
"""Free. A test's folder goes when the test is over; the largest has some ten megabytes."""


@pytest.fixture(scope="session")
def memory() -> Path | None:
    """Where there is room in memory, if anywhere."""
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED_BYTES
    return MEMORY if roomy else None


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, memory: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder of the test's own: in memory, or on the disk for what has to do with one."""
    if memory is None or any(request.node.get_closest_marker(mark) for mark in MARKED.values()):
        yield tmp_path_factory.mktemp("test")
    else:
        with TemporaryDirectory(prefix="borrower-memory-", dir=memory) as folder:
            yield Path(folder)


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


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each test that recorded figures, also of those that ran in another process."""
    reports: list[pytest.TestReport] = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    for report in reports:
        for name, value in report.user_properties:
            if name == FIGURES and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {json.dumps(value)}")
