"""Real Kafka brokers for tests, by the first way there is: one named in the environment, Docker, Java with Maven.

Tests of the wire alone take librdkafka's stand-in (`mock_broker`) where there is none of these, except in CI.

Knows how brokers are started, ended and broken. It must not know the product, nor any Kafka client: that a node is up
is asked in the protocol's own bytes. `docker/kafka/run.py` knows how a node is set up.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

KAFKA = Path(__file__).parents[2] / "docker" / "kafka"
NAMED = "TEST_KAFKA"
MOCK = "librdkafka's stand-in"

CONNECT_SECONDS = 2.0
UP_SECONDS = 150
STOP_SECONDS = 40
PREPARE_SECONDS = 700
DOCKER_SECONDS = 60
PULL_SECONDS = 600
LOG_TAIL = 3000
ANSWER_BYTES = 1 << 20

# Formats its storage at the first start only, so that a node that is started again finds its own data.
IN_CONTAINER = """set -e
printf %s "$1" > /tmp/server.properties
test -e "$2/meta.properties" ||
  /opt/kafka/bin/kafka-storage.sh format --cluster-id=$3 --config /tmp/server.properties
exec /opt/kafka/bin/kafka-server-start.sh /tmp/server.properties
"""
CLUSTER_IN_CONTAINERS = "Ym9ycm93ZXItbWVtb3J5cw"


class Node(Protocol):
    """One broker process of ours."""

    def start(self) -> None:
        """Starts it, on the address and the data that it had."""

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the broker itself."""

    def wait(self, seconds: float) -> None:
        """Waits until it has ended; an error when it has not by then."""

    def running(self) -> bool:
        """Whether there is such a process, though it may be paused."""

    def log(self) -> str:
        """All it has said."""


@dataclass
class Brokers:
    """A cluster. Nodes are named by their Kafka id, from 1; they are there to be broken, unless somebody else runs it."""

    bootstrap: str
    way: str
    nodes: Mapping[int, Node] = field(default_factory=dict)
    clean: Callable[[], None] = lambda: None
    make: Callable[[str, int], None] | None = None
    """Makes a topic of so many partitions, where a client of Kafka's cannot."""

    def start(self, node: int) -> None:
        """Starts an ended node again and waits until all that run know each other."""
        self.nodes[node].start()
        self.wait_until_up()

    def stop(self, node: int) -> None:
        """Ends a node in order: it hands its partitions over first."""
        self._end(node, signal.SIGTERM)

    def kill(self, node: int) -> None:
        """Ends a node as a power cut does: the others find out by its silence."""
        self._end(node, signal.SIGKILL)

    def pause(self, node: int) -> None:
        """Freezes a node with its connections open."""
        self.nodes[node].signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self.nodes[node].signal(signal.SIGCONT)

    def log(self, node: int) -> str:
        return self.nodes[node].log()

    def members(self) -> set[int]:
        """The ids that the first reachable node counts as up; raises `OSError` when none can be reached."""
        refused: OSError | None = None
        for address in self.bootstrap.split(","):
            try:
                return members(address)
            except OSError as error:
                refused = error
        raise refused or OSError("no address to ask")

    def wait_until_up(self) -> None:
        """Until each node that runs answers and counts every one of them as up."""
        running = {node for node, process in self.nodes.items() if process.running()}
        addresses = dict(enumerate(self.bootstrap.split(","), 1))
        end = time.monotonic() + UP_SECONDS
        for node in sorted(running):
            while True:
                with contextlib.suppress(OSError):
                    if members(addresses[node]) >= running:
                        break
                if time.monotonic() > end or not self.nodes[node].running():
                    raise AssertionError(f"node {node} did not come up: {self.log(node)[-LOG_TAIL:]}")
                time.sleep(0.1)

    def close(self) -> None:
        """Ends all of it. The data are scratch, and the last nodes of a cluster are slow to go in order: they are killed."""
        for node, process in self.nodes.items():
            if process.running():
                self.kill(node)
        self.clean()

    def _end(self, node: int, number: signal.Signals) -> None:
        self.nodes[node].signal(number)
        self.nodes[node].wait(STOP_SECONDS)


@contextlib.contextmanager
def running(folder: Path, nodes: int = 1, *, ours: bool = False, wire: bool = False) -> Iterator[Brokers]:
    """A cluster of so many nodes that ends with the block. `ours`: one that may be broken, so not the named one.

    `wire`: librdkafka's stand-in will do where there is no real one; `needs_real` then skips what it cannot do. Where there
    is none at all, the test is skipped with the reason; where `CI` is set it fails, for there a real one is required.
    """
    brokers, reason = started(folder, nodes, ours=ours)
    if brokers is None:
        if os.environ.get("CI", "").lower() not in {"", "0", "false"}:
            pytest.fail(f"CI requires a real Kafka broker: {reason}")
        if wire:
            brokers, no_mock = mock(folder, nodes)
            reason = f"{reason}; {no_mock}"
        if brokers is None:
            pytest.skip(f"no Kafka broker: {reason}")
    try:
        yield brokers
    finally:
        brokers.close()


def started(folder: Path, nodes: int = 1, *, ours: bool = False) -> tuple[Brokers | None, str]:
    """A cluster that is up, or None; and by which way, or why none was open. The folder takes settings, data and logs."""
    reasons: list[str] = []
    for way in WAYS:
        if ours and way is named:
            reasons.append(f"the broker of {NAMED} is not ours to break")
            continue
        brokers, reason = way(folder, nodes)
        if brokers is not None:
            return brokers, brokers.way
        reasons.append(reason)
    return None, "; ".join(reasons)


# -- the ways, in their order -------------------------------------------------------------------------------------


def named(_folder: Path, nodes: int) -> tuple[Brokers | None, str]:
    """The cluster that the environment names. One that is named and does not answer is a fault, not a reason to look on."""
    addresses = os.environ.get(NAMED)
    if not addresses:
        return None, f"{NAMED} names none"
    brokers = Brokers(addresses, f"named in {NAMED}")
    found = brokers.members()
    if len(found) < nodes:
        return None, f"{NAMED} names {len(found)} nodes, {nodes} are needed"
    return brokers, ""


def docker(folder: Path, nodes: int) -> tuple[Brokers | None, str]:
    """Containers of Apache's own image, behind one that holds their network: a node that dies keeps its address."""
    if shutil.which("docker") is None:
        return None, "no docker on the PATH"
    if _docker("info", "--format", "{{json .ServerVersion}}").returncode != 0:
        return None, "no Docker engine answers"
    image = f"apache/kafka:{version()}"
    if (
        _docker("image", "inspect", image).returncode != 0
        and _docker("pull", image, seconds=PULL_SECONDS).returncode != 0
    ):
        return None, f"Docker cannot get the image {image}"

    data = Path("/tmp/kafka")
    bootstrap = _run_py("settings", "--folder", str(folder), "--data", str(data), "--nodes", str(nodes))
    published = [
        word for address in bootstrap.split(",") for word in ("--publish", f"{address}:{address.split(':')[1]}")
    ]
    network = _docker_must("run", "--detach", *published, "--entrypoint", "tail", image, "-f", "/dev/null")
    made = [network]

    def clean() -> None:
        _docker_must("rm", "--force", "--volumes", *made)

    try:
        containers: dict[int, Node] = {}
        for node in range(1, nodes + 1):
            settings = (folder / f"node-{node}.properties").read_text()
            words = ("-c", IN_CONTAINER, "sh", settings, f"{data}/node-{node}", CLUSTER_IN_CONTAINERS)
            where = ("--network", f"container:{network}", "--env", "KAFKA_HEAP_OPTS=-Xms128m -Xmx512m")
            made.append(_docker_must("create", *where, "--entrypoint", "sh", image, *words))
            containers[node] = Container(made[-1])
        return _up(Brokers(bootstrap, "Docker", containers, clean)), ""
    except BaseException:
        clean()
        raise


def java(folder: Path, nodes: int) -> tuple[Brokers | None, str]:
    """Processes of this machine, from artefacts that Maven fetched once."""
    try:
        bootstrap = _run_py("prepare", "--folder", str(folder), "--nodes", str(nodes))
    except subprocess.CalledProcessError as error:
        return None, str(error.stderr).strip()
    processes = {node: Process(folder / f"node-{node}.properties") for node in range(1, nodes + 1)}
    return _up(Brokers(bootstrap, "Java", processes)), ""


WAYS: Sequence[Callable[[Path, int], tuple[Brokers | None, str]]] = (named, docker, java)


def mock(folder: Path, nodes: int) -> tuple[Brokers | None, str]:
    """librdkafka's stand-in. It may be paused, but what it holds goes with it; its topics are made by `make`."""
    if importlib.util.find_spec("confluent_kafka") is None:
        return None, "the wheel confluent-kafka is not installed"
    process = Mock(folder / "mock.log", nodes)
    # One process is all of its nodes.
    brokers = Brokers(process.bootstrap, MOCK, {1: process}, process.close, process.make)
    return _up(brokers), ""


def needs_real(brokers: Brokers, what: str) -> None:
    """Skips a test of `what` the stand-in cannot do."""
    if brokers.way == MOCK:
        pytest.skip(f"no real Kafka broker, and {MOCK} has no {what}")


def _up(brokers: Brokers) -> Brokers:
    try:
        for node in brokers.nodes.values():
            if not node.running():
                node.start()
        brokers.wait_until_up()
    except BaseException:
        brokers.close()
        raise
    return brokers


def version() -> str:
    """The version of Kafka that tests run against, from the one place that names it."""
    found = re.search(r"<kafka\.version>(.+?)</", (KAFKA / "pom.xml").read_text())
    assert found is not None
    return found[1]


# -- one node -----------------------------------------------------------------------------------------------------


class Process:
    """A node that is a process of this machine."""

    def __init__(self, properties: Path) -> None:
        self.properties = properties
        self.path = properties.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert not self.running(), "it runs already"
        with self.path.open("ab") as out:
            command = [sys.executable, str(KAFKA / "run.py"), "node", str(self.properties)]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None, "it was never started"
        self.process.send_signal(number)

    def wait(self, seconds: float) -> None:
        assert self.process is not None, "it was never started"
        self.process.wait(seconds)

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def log(self) -> str:
        return self.path.read_text(errors="replace")


class Mock:
    """The process that is librdkafka's stand-in. It runs from the beginning: its address is its own choice."""

    def __init__(self, path: Path, nodes: int) -> None:
        self.path = path
        with path.open("ab") as out:
            command = [sys.executable, str(Path(__file__).with_name("mock_broker.py")), str(nodes)]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out, text=True
            )
        self.bootstrap = self._answer()

    def start(self) -> None:
        raise AssertionError(f"{MOCK} keeps nothing, so it cannot come back")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float) -> None:
        self.process.wait(seconds)

    def running(self) -> bool:
        return self.process.poll() is None

    def log(self) -> str:
        return self.path.read_text(errors="replace")

    def make(self, topic: str, partitions: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"topic {topic} {partitions}\n")
        self.process.stdin.flush()
        assert self._answer() == "made", self.log()

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        told = self.process.stdout.readline().strip()
        assert told, f"{MOCK} ended: {self.log()[-LOG_TAIL:]}"
        return told


@dataclass(frozen=True)
class Container:
    """A node that is a Docker container, named by its id."""

    id: str

    def start(self) -> None:
        _docker_must("start", self.id)

    def signal(self, number: signal.Signals) -> None:
        _docker_must("kill", "--signal", number.name, self.id)

    def wait(self, seconds: float) -> None:
        _docker_must("wait", self.id, seconds=seconds)

    def running(self) -> bool:
        return json.loads(_docker_must("inspect", "--format", "{{json .State.Running}}", self.id)) is True

    def log(self) -> str:
        told = _docker("logs", self.id)
        return told.stdout + told.stderr


def _docker(*words: str, seconds: float = DOCKER_SECONDS) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"no answer within {seconds} s")


def _docker_must(*words: str, seconds: float = DOCKER_SECONDS) -> str:
    done = _docker(*words, seconds=seconds)
    assert done.returncode == 0, f"docker {words[0]}: {done.stderr}"
    return done.stdout.strip()


def _run_py(*words: str) -> str:
    """What `docker/kafka/run.py` answered; raises `CalledProcessError` with its reason when a broker cannot be run."""
    command = [sys.executable, str(KAFKA / "run.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PREPARE_SECONDS, check=True).stdout.strip()


# -- the protocol, as far as it takes to know who is up -----------------------------------------------------------


def members(address: str) -> set[int]:
    """The ids of the nodes that the one at `host:port` counts as up: a Metadata request, version 5, that asks of no topic.

    Raises `OSError` when nobody answers there, or not in this protocol.
    """
    host, port = address.rsplit(":", 1)
    client = b"borrower-memory-tests"
    ask = struct.pack(">hhih", 3, 5, 1, len(client)) + client + struct.pack(">i?", 0, False)
    with socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(ask)) + ask)
        (length,) = struct.unpack(">i", _exactly(connection, 4))
        if not 0 < length <= ANSWER_BYTES:
            raise OSError(f"{address} does not speak Kafka")
        answer = _exactly(connection, length)
    try:
        _correlation, _throttled, count = struct.unpack_from(">iii", answer)
        found, at = set(), 12
        for _ in range(count):
            node, host_bytes = struct.unpack_from(">ih", answer, at)
            at += 6 + host_bytes + 4
            (rack_bytes,) = struct.unpack_from(">h", answer, at)
            at += 2 + max(0, rack_bytes)
            found.add(node)
    except struct.error as error:
        raise OSError(f"{address} does not speak Kafka") from error
    return found


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise OSError("the connection was closed before the answer was whole")
        got += more
    return got
