"""Two servers under the same load, turn by turn in one run, so that what else the machine does falls on both alike.

What is told is a ratio. The figures themselves say something about one machine at one moment and are shown for orientation,
and so is the server's own time for a request, which what else the machine does disturbs least. An answer counts only when it
is the one that was asked for: 200, with its mark. This file must not know what is asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from tests.benchmarks.load import Load, Taken

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 20.0
WARM_SECONDS = 1.0
ERROR_CHARS = 2_000
"""Of what a load that failed had to say."""


@dataclass
class Side:
    """One server. `requests` are lines of `Load.requests`; each is sent once. `mark` must stand in every answer."""

    name: str
    url: str
    pid: int
    requests: Iterator[str]
    mark: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    rounds: list[Taken] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    """Of the server's own time, for one request."""

    @property
    def per_second(self) -> float:
        return statistics.median(taken.per_second for taken in self.rounds)

    def row(self) -> str:
        p50, p99 = (statistics.median(getattr(t, name) for t in self.rounds) for name in ("p50_ms", "p99_ms"))
        return f"{self.name:<44} {self.per_second:>9.0f} {p50:>8.2f} {p99:>8.2f} {statistics.median(self.cpu_us):>8.0f}"


def race(folder: Path, sides: Sequence[Side], *, connections: int, seconds: float, rounds: int, most: int) -> float:
    """The first side's rate over the second's: the median of the rounds' ratios. `most` requests a second are made ready.

    Raises `AssertionError` for an answer that is not 200 or lacks the mark.
    """
    for side in sides:
        _round(folder, side, connections, WARM_SECONDS, most)
    for side in sides:
        side.rounds.clear()
        side.cpu_us.clear()
    for place in range(rounds):
        for side in sides if place % 2 else reversed(sides):
            _round(folder, side, connections, seconds, most)
    ours, bare = sides
    return statistics.median(o.per_second / b.per_second for o, b in zip(ours.rounds, bare.rounds, strict=True))


def _round(folder: Path, side: Side, connections: int, seconds: float, most: int) -> None:
    file = folder / "requests"
    with file.open("w") as out:
        out.writelines(f"{line}\n" for line, _ in zip(side.requests, range(int(most * seconds)), strict=False))
    address = urlsplit(side.url)
    assert address.hostname is not None
    assert address.port is not None
    load = Load(address.hostname, address.port, side.headers, str(file), side.mark, connections, seconds)
    before = _cpu_seconds(side.pid)
    command = [sys.executable, "-m", "tests.benchmarks.load"]
    told = subprocess.run(
        command, cwd=ROOT, input=json.dumps(asdict(load)), capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-ERROR_CHARS:]
    taken = Taken(**json.loads(told.stdout))
    assert set(taken.statuses) == {"200"}, f"{side.name}: {taken.statuses}"
    assert taken.marked == taken.answered, (
        f"{side.name}: {taken.answered - taken.marked} answers are not as they should be"
    )
    side.rounds.append(taken)
    side.cpu_us.append((_cpu_seconds(side.pid) - before) / taken.answered * 1e6)


def _cpu_seconds(pid: int) -> float:
    """Of all of a process's threads; where the system does not say, 0."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


HEADING = f"{'':<44} {'per s':>9} {'p50 ms':>8} {'p99 ms':>8} {'cpu us':>8}"


def told(title: str, sides: Iterable[Side], ratio: float, goal: float) -> str:
    """A table to be printed, with when it was and how busy the machine."""
    at = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    rows = "\n".join(side.row() for side in sides)
    verdict = "reached" if ratio >= goal else "not reached"
    return f"\n{title} ({at})\n{HEADING}\n{rows}\nratio {ratio:.2f}, goal {goal:.2f}: {verdict}\n"


@contextlib.contextmanager
def baseline(*words: str) -> Iterator[tuple[str, int]]:
    """A server of `baselines`: its address and process id."""
    command = [sys.executable, "-m", "tests.benchmarks.baselines", *words]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(r"listening on (\S+)", line)
        assert found is not None, "the baseline did not start"
        _wait_for(found[1])
        yield found[1], process.pid
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _wait_for(url: str) -> None:
    address = urlsplit(url)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((address.hostname, address.port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("the baseline does not listen")
