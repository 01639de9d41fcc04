"""What agents of every framework share: that its library is there, a hook to report to, and what became of a start."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.together.conftest import Borrower, Tenant

Json = dict[str, Any]
SECRET = "agents-own-secret"
TOLD_SECONDS = 10


def library(name: str) -> Any:
    """A module of the group `agents`. Without it the tests of its framework are skipped; in CI that is a failure."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if os.environ.get("CI", "").lower() not in {"", "0", "false"}:
            raise
        pytest.skip(f"{missing.name} is not installed: make setup-agents", allow_module_level=True)


class Hook:
    """An address that reports of one framework are posted to."""

    def __init__(self, tenant: Tenant, vendor: str) -> None:
        words = ["hooks", "create", "--tenant", tenant.name, "--channel", "voice", "--vendor", vendor]
        made = subprocess.run(
            [sys.executable, "-m", "service", *words],
            env=tenant.service.env, cwd=tenant.service.folder, input=SECRET, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        self.path: str = json.loads(made.stdout)["path"]
        self.http = tenant.http

    def post(self, report: Json) -> Json:
        """As the agent's own code does, with the hook's secret."""
        answer = self.http.post(self.path, json=report, headers={"Authorization": f"Bearer {SECRET}"})
        assert answer.status_code == 200, answer.text
        told: Json = answer.json()
        return told


def started(borrower: Borrower, resume_id: str) -> Json:
    """What ops sees of an answer of resume: where its conversation was granted to start, and where it did, once it is told."""
    end = time.monotonic() + TOLD_SECONDS
    while True:
        items = borrower.tenant.get("/v1/ops/resumes", borrower_id=borrower.id)["items"]
        found: Json = next(item for item in items if item["resume_id"] == resume_id)
        if found["entered_state"] is not None or time.monotonic() >= end:
            return found
        time.sleep(0.05)
