"""A real service in a process of its own, on a store of its own, spoken to over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

ALL_SCOPES = "read,events:agent,events:ledger,events:ops,search:all,privacy,ops"
START_SECONDS = 90
ALWAYS = '[defaults]\ncontact_hours = ["00:00", "24:00"]\n'


class Service:
    """One `serve` process. Loopback only, any free port, everything beneath one folder."""

    def __init__(self, folder: Path, *, policy: str | None = ALWAYS, env: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("BORROWER_MEMORY_")}
        self.env |= {
            "BORROWER_MEMORY_DATABASE_URL": f"sqlite:///{folder}/memory.db",
            "BORROWER_MEMORY_HOST": "127.0.0.1",
            "BORROWER_MEMORY_PORT": "0",
        }
        if policy is not None:
            (folder / "policy.toml").write_text(policy)
            self.env["BORROWER_MEMORY_POLICY_FILE"] = str(folder / "policy.toml")
        self.env |= env or {}
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self._keys: dict[tuple[str, str], str] = {}

    # -- the process ------------------------------------------------------------------------------------

    def start(self) -> Service:
        log = self.folder / "log"
        seen = log.stat().st_size if log.exists() else 0
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service", "serve"], env=self.env, cwd=self.folder, stdout=out, stderr=out
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            told = log.read_bytes()[seen:].decode(errors="replace")
            if found := re.search(r"listening on (http://\S+)", told):
                self.url = found[1]
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the service did not start: {log.read_text(errors='replace')[-2000:]}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends the process; its exit code."""
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.send_signal(number)
        return self.process.wait(30)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def command(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """The command line on this service's store."""
        return subprocess.run(
            [sys.executable, "-m", "service", *words],
            env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    # -- the API ----------------------------------------------------------------------------------------

    def key(self, tenant: str = "acme", scopes: str = ALL_SCOPES) -> str:
        if (tenant, scopes) not in self._keys:
            made = self.command("keys", "create", "--tenant", tenant, "--scopes", scopes)
            assert made.returncode == 0, made.stderr
            self._keys[tenant, scopes] = json.loads(made.stdout)["key"]
        return self._keys[tenant, scopes]

    def client(self, tenant: str = "acme", scopes: str = ALL_SCOPES) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key(tenant, scopes)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


class Worker:
    """A process of another role on the same store, with its health on a port of its own."""

    def __init__(self, service: Service, role: str, name: str) -> None:
        self.path = service.folder / f"{name}.log"
        with self.path.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service", role],
                env=service.env | {"BORROWER_MEMORY_METRICS_PORT": "0"},
                cwd=service.folder,
                stdout=out,
                stderr=out,
            )
        self.url = ""
        end = time.monotonic() + START_SECONDS
        while not self.url:
            told = self.path.read_text(errors="replace")
            if found := re.search(r"listening on (http://\S+)", told):
                self.url = found[1]
            assert self.process.poll() is None, told[-3000:]
            assert time.monotonic() < end, told[-3000:]
            time.sleep(0.02)

    def send(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextlib.contextmanager
def workers(service: Service, role: str, *names: str) -> Iterator[list[Worker]]:
    """So many of them, none of which is left."""
    started: list[Worker] = []
    try:
        started += [Worker(service, role, name) for name in names]
        yield started
    finally:
        for one in started:
            if one.process.poll() is None:
                one.send(signal.SIGKILL)


@contextlib.contextmanager
def running(folder: Path, **how: Any) -> Iterator[Service]:
    """A service that is started, and ended with the block."""
    service = Service(folder, **how).start()
    try:
        yield service
    finally:
        service.stop()


def ago(**span: float) -> str:
    """A time that is past, as the API takes it."""
    return (datetime.now(UTC) - timedelta(**span)).isoformat()
