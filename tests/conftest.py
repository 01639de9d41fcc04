"""What holds for every test, and what a run tells at its end beside passed and failed: the figures that proofs were made over.

No example of a law fails because it took long: how long one takes depends on who else is at work on the machine.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

FIGURES = "figures"
"""Under this name a test records what it counted: `record_property(FIGURES, {...})`."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each test that recorded figures, also of those that ran in another process."""
    reports: list[pytest.TestReport] = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    for report in reports:
        for name, value in report.user_properties:
            if name == FIGURES and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {json.dumps(value)}")
