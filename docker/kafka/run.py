#!/usr/bin/env python3
"""Runs real Apache Kafka brokers on loopback without Docker: KRaft, one node or three, from the published artefacts.

    python docker/kafka/run.py up              one node on free ports, until Ctrl-C
    python docker/kafka/run.py up --nodes 3    three: replication 3, two copies before an answer

Needs Java 17 or newer and, the first time, Maven, which fetches the artefacts into `.kafka/`. Standard library alone, so
that it runs before anything is installed. It must know nothing of the product or its tests; those call `check`,
`prepare` and `node`, and end a node by its process id.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
COMMON = HERE / "server.properties"
CACHE = HERE.parents[1] / ".kafka"

OLDEST_JAVA = 17
HEAP = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC")
SHORT_LIVED = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    # Each start else prints every setting nine times.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaConfig=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.utils=warn",
)
# Below what Linux hands to outgoing connections, so that none takes the port between this choice and the start.
PORTS = range(20_000, 32_000)
FETCH_SECONDS = 600
FORMAT_SECONDS = 60
UP_SECONDS = 90
STOP_SECONDS = 10


class Unavailable(Exception):
    """A broker cannot be run here; the message is the reason, for people."""


# -- what is needed -----------------------------------------------------------------------------------------------


def java() -> str:
    """The path of a Java of at least 17: that of `JAVA_HOME` before that on the PATH."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=f"{home}/bin") if home else None
    path = path or shutil.which("java")
    if path is None:
        raise Unavailable(f"no Java {OLDEST_JAVA} or newer on the PATH")
    told = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise Unavailable(f"Java {OLDEST_JAVA} or newer is needed, {path} says: {told.strip() or 'nothing'}")
    return path


def jars() -> Path:
    """Where the artefacts lie, or will. A changed pom is another folder, so that nothing old is ever run."""
    return CACHE / hashlib.sha256(POM.read_bytes()).hexdigest()[:12]


def check() -> None:
    """Raises `Unavailable` when a broker surely cannot be run. Fetches nothing."""
    java()
    if not jars().exists() and shutil.which("mvn") is None:
        raise Unavailable("no Maven on the PATH to fetch the broker's artefacts with")


def fetch() -> Path:
    """The folder of artefacts, fetched if this is the first time. Safe when two processes do it at once."""
    check()
    if jars().exists():
        return jars()
    CACHE.mkdir(exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="fetching-", dir=CACHE))
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={fresh}")
    try:
        done = subprocess.run(
            ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", str(POM), *goal],
            capture_output=True, text=True, timeout=FETCH_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            told = (done.stdout + done.stderr)[-2000:]
            raise Unavailable(f"Maven could not fetch the broker's artefacts: {told}")
        # Whole or not at all: a broken fetch leaves no folder of that name.
        fresh.rename(jars())
    except OSError:
        # Another process was first, which is as good.
        if not jars().exists():
            raise
    except subprocess.TimeoutExpired:
        raise Unavailable(f"Maven did not fetch the broker's artefacts within {FETCH_SECONDS} s") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return jars()


# -- a folder with one to three nodes -----------------------------------------------------------------------------


def settings(folder: Path, nodes: int, listen: str) -> list[str]:
    """The settings of each node, as the text of its properties file. Clients always come by 127.0.0.1."""
    ports = free_ports(2 * nodes)
    clients, controllers = ports[:nodes], ports[nodes:]
    voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(controllers, 1))
    copies, needed = nodes, min(2, nodes)
    return [
        f"{COMMON.read_text()}\n"
        f"node.id={node}\n"
        f"controller.quorum.voters={voters}\n"
        f"listeners=PLAINTEXT://{listen}:{client},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{client}\n"
        f"log.dirs={folder}/node-{node}\n"
        f"default.replication.factor={copies}\n"
        f"min.insync.replicas={needed}\n"
        f"offsets.topic.replication.factor={copies}\n"
        f"transaction.state.log.replication.factor={copies}\n"
        f"transaction.state.log.min.isr={needed}\n"
        for node, (client, controller) in enumerate(zip(clients, controllers, strict=True), 1)
    ]


def prepare(folder: Path, nodes: int) -> list[Path]:
    """Writes `node-1.properties` and so on into an existing folder and formats their storage; the files written."""
    written = [folder / f"node-{node}.properties" for node in range(1, nodes + 1)]
    for path, text in zip(written, settings(folder, nodes, "127.0.0.1"), strict=True):
        path.write_text(text)
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    tool = [java(), *SHORT_LIVED, QUIET, "-cp", f"{fetch()}/*", "kafka.tools.StorageTool"]
    for path in written:
        done = subprocess.run(
            [*tool, "format", f"--cluster-id={cluster}", "--config", str(path)],
            capture_output=True, text=True, timeout=FORMAT_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            told = (done.stdout + done.stderr)[-2000:]
            raise Unavailable(f"the broker's storage could not be formatted: {told}")
    return written


def command(properties: Path) -> list[str]:
    """What runs one node in the foreground; its log goes to standard error."""
    return [java(), *HEAP, *LOGGING, "-cp", f"{fetch()}/*", "kafka.Kafka", str(properties)]


def bootstrap(files: Sequence[Path]) -> str:
    """The addresses for clients, as a Kafka client takes them."""
    found = [re.search(r"^advertised\.listeners=PLAINTEXT://(\S+)$", path.read_text(), re.M) for path in files]
    return ",".join(one[1] for one in found if one)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, held all at once while choosing so that no two are the same."""
    with contextlib.ExitStack() as held:
        chosen: list[int] = []
        for port in random.sample(PORTS, len(PORTS)):
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                chosen.append(port)
            if len(chosen) == count:
                return chosen
    raise Unavailable(f"fewer than {count} free ports in {PORTS}")


# -- for people ---------------------------------------------------------------------------------------------------


def up(folder: Path, nodes: int) -> None:
    """Starts the nodes that the folder holds, or new ones; tells where, and ends them with Ctrl-C or SIGTERM."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(folder.glob("node-*.properties")) or prepare(folder, nodes)
    if len(files) != nodes:
        raise Unavailable(f"{folder} holds {len(files)} nodes, not {nodes}")
    processes: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for path in files:
            with path.with_suffix(".log").open("ab") as log:
                processes.append(subprocess.Popen(command(path), stdout=log, stderr=log))
        _wait_until_all_answer(bootstrap(files), processes, folder)
        pids = " ".join(str(process.pid) for process in processes)
        _say(f"bootstrap servers {bootstrap(files)}\nprocess ids {pids}\nlogs {folder}/node-*.log")
        for process in processes:
            process.wait()
    except KeyboardInterrupt:
        _say("stopping")
    finally:
        _end(processes)


def _wait_until_all_answer(addresses: str, processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    end = time.monotonic() + UP_SECONDS
    for address in addresses.split(","):
        host, port = address.split(":")
        while True:
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                break
            if time.monotonic() > end or any(process.poll() is not None for process in processes):
                raise Unavailable(f"the broker did not come up, see {folder}/node-*.log")
            time.sleep(0.1)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    end = time.monotonic() + STOP_SECONDS
    for process in processes:
        # The last nodes of a cluster wait for a controller that has gone already: they are not asked twice.
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Real Kafka brokers on loopback, without Docker.")
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("check", help="can a broker be run here? Says why not")
    words.add_parser("fetch", help="fetch the artefacts, if they are not here yet")
    for word, told in (("prepare", "format new nodes in a folder"), ("up", "start nodes and keep them until Ctrl-C")):
        one = words.add_parser(word, help=told)
        one.add_argument("--folder", type=Path, required=word == "prepare", help="default: a new one, gone afterwards")
        one.add_argument("--nodes", type=int, choices=(1, 3), default=1)
    containers = words.add_parser("settings", help="write settings alone, for nodes that run in containers")
    containers.add_argument("--folder", type=Path, required=True)
    containers.add_argument("--data", type=Path, required=True, help="where a container keeps its data")
    containers.add_argument("--nodes", type=int, choices=(1, 3), default=1)
    node = words.add_parser("node", help="become one prepared node, in the foreground")
    node.add_argument("properties", type=Path)
    return parser


def main() -> None:
    given = _parser().parse_args()
    match given.word:
        case "check":
            check()
        case "fetch":
            _say(str(fetch()))
        case "prepare":
            _say(bootstrap(prepare(given.folder.resolve(), given.nodes)))
        case "settings":
            files = [given.folder / f"node-{node}.properties" for node in range(1, given.nodes + 1)]
            for path, text in zip(files, settings(given.data, given.nodes, "0.0.0.0"), strict=True):
                path.write_text(text)
            _say(bootstrap(files))
        case "node":
            become(command(given.properties.resolve()))
        case "up" if given.folder:
            up(given.folder.resolve(), given.nodes)
        case "up":
            with tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as folder:
                up(Path(folder), given.nodes)


def become(argv: list[str]) -> NoReturn:
    """This process turns into the broker, so that whoever started it holds the broker's own process id."""
    os.execv(argv[0], argv)


if __name__ == "__main__":
    try:
        main()
    except Unavailable as reason:
        sys.exit(str(reason))
