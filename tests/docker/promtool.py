"""Prometheus' own checker, which Debian's package `prometheus` has; without it tests are skipped, and in CI they fail."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

CHECK_SECONDS = 120


def promtool(*words: str, cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    """What it says of these files."""
    program = shutil.which("promtool")
    if program is None:
        reason = "no promtool on the PATH (Debian's package prometheus has it)"
        if os.environ.get("CI", "").lower() not in {"", "0", "false"}:
            pytest.fail(f"CI requires it: {reason}")
        pytest.skip(reason)
    return subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=CHECK_SECONDS, check=False, cwd=cwd
    )
