"""The image: what its Dockerfile promises, and that its steps work in a clean folder and make something that runs.

No Docker engine is needed: `dockerfile` carries out the lines of the file itself, with a new virtual environment.
"""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker.dockerfile import Build, Context, Instruction, environment, stages

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker/Dockerfile").read_text()
BUILD, LAST = stages(TEXT)
CONTEXT = Context(ROOT, (ROOT / "docker/Dockerfile.dockerignore").read_text().splitlines())
PACKAGES = ("statemachine", "channels", "service", "templates")
START_SECONDS = 60
STOP_SECONDS = 60


def one(word: str, stage: list[Instruction] = LAST) -> Instruction:
    (found,) = [each for each in stage if each.word == word]
    return found


# -- what the file says ------------------------------------------------------------------------------------------------


def test_what_runs_is_not_root_and_hears_signals_itself() -> None:
    user, _, group = one("USER").text.partition(":")
    assert int(user) > 999
    assert int(group) > 999
    assert one("STOPSIGNAL").text == "SIGTERM"
    for word in ("ENTRYPOINT", "CMD"):
        assert one(word).text.startswith("["), "a shell in between would keep signals to itself"
    assert one("ENTRYPOINT").words + one("CMD").words == ["borrower-memory", "serve"]
    assert LAST[-1].word == "CMD"


def test_nothing_is_built_where_it_runs_and_what_is_installed_is_what_was_locked() -> None:
    assert [each.word for each in LAST if each.word in ("RUN", "ADD")] == []
    installs = [each.text for each in BUILD if "pip install" in each.text]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-index" in installs[1], "of ours alone"
    assert environment(BUILD)["PIP_NO_CACHE_DIR"] == "1"
    copied = [each.options["from"] for each in LAST if each.word == "COPY"]
    assert set(copied) == {one("FROM", BUILD).words[-1]}


def test_both_stages_stand_on_the_python_that_is_asked_for() -> None:
    bases = {one("FROM", stage).words[0] for stage in (BUILD, LAST)}
    assert len(bases) == 1
    found = re.fullmatch(r"python:(\d+\.\d+)-slim-[a-z]+", bases.pop())
    assert found is not None
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert asked == f">={found[1]}"


def test_the_build_sees_what_it_copies_and_nothing_else() -> None:
    copied = {source for each in BUILD if each.word == "COPY" for source in each.words[:-1]}
    assert copied == {path.name for path in ROOT.iterdir() if CONTEXT.has(path.name)}
    for kept in (".git/config", "docker/.env", ".borrower-memory/borrower-memory.db", "tests/conftest.py"):
        assert not CONTEXT.has(kept)
    assert CONTEXT.has("service/migrations/alembic.ini")
    assert not CONTEXT.has("service/__pycache__/app.cpython-311.pyc")


# -- what it makes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Image:
    build: Build
    home: Path

    @property
    def app(self) -> Path:
        return self.build.inside(environment(BUILD)["APP"])

    @property
    def libraries(self) -> Path:
        (found,) = self.app.glob("lib/python*/site-packages")
        return found


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    # Not beneath the test's own folder, which other accounts cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    try:
        folder.chmod(0o755)
        build = Build(folder, CONTEXT)
        build.carry_out(BUILD)
        yield Image(build, build.at / "state")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.process
@pytest.mark.timeout(1200)
class TestBuilt:
    def test_what_is_copied_out_of_the_build_is_there(self, image: Image) -> None:
        copies = [each.words for each in LAST if each.word == "COPY"]
        assert {source for source, _ in copies} == {"/opt/borrower-memory", "/build/state"}
        for source, _ in copies:
            assert image.build.inside(source).is_dir()
        assert copies[0][0] == copies[0][1], "a virtual environment stays where it was made"
        assert f"{copies[0][1]}/bin" == environment(LAST)["PATH"].split(":")[0]
        assert copies[1][1] == one("WORKDIR").text == environment(LAST)["HOME"]

    def test_every_file_of_ours_is_in_it(self, image: Image) -> None:
        for package in PACKAGES:
            ours, built = (files(root, package) for root in (image.build.at, image.libraries))
            assert len(ours) > 2
            assert ours == {path for path in built if "__pycache__" not in path}

    def test_there_is_what_was_locked_and_nothing_that_only_builds(self, image: Image) -> None:
        locked = dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
        found = {}
        for file in image.libraries.glob("*.dist-info/METADATA"):
            told = email.message_from_string(file.read_text(errors="replace"))
            found[re.sub(r"[-_.]+", "-", told["Name"]).lower()] = told["Version"]
        assert found.pop("borrower-memory")
        assert found.items() <= locked.items()
        assert not {"pip", "setuptools", "pytest"} & found.keys()
        assert {"fastapi", "aiokafka", "asyncpg", "uvloop"} <= found.keys()

    def test_it_serves_is_seen_to_be_well_and_stops_in_order(self, image: Image) -> None:
        port = _free_port()
        env = {
            "PATH": f"{image.app / 'bin'}:{image.build.env['PATH']}",
            "HOME": str(image.home),
            **{k: v for k, v in environment(LAST).items() if k not in ("PATH", "HOME")},
            # Tests listen on loopback alone.
            "BORROWER_MEMORY_HOST": "127.0.0.1",
            "BORROWER_MEMORY_PORT": str(port),
        }
        check = json.loads(one("HEALTHCHECK").text.removeprefix("CMD "))
        assert "8000" in check[-1]
        check[0], check[-1] = str(image.app / "bin" / check[0]), check[-1].replace("8000", str(port))
        assert subprocess.run(check, env=env, capture_output=True, check=False).returncode != 0, "nobody is there"

        command = [str(image.app / "bin" / one("ENTRYPOINT").words[0]), *one("CMD").words]
        with (image.build.folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=image.home, env=env, stdout=log, stderr=log, **_as_user(image))
        try:
            end = time.monotonic() + START_SECONDS
            while (told := subprocess.run(check, env=env, capture_output=True, text=True, check=False)).returncode != 0:
                said = (image.build.folder / "log").read_text()
                assert process.poll() is None, said
                assert time.monotonic() < end, f"{told.stderr}\n{said}"
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        assert (image.home / ".borrower-memory/borrower-memory.db").is_file()


def files(root: Path, package: str) -> set[str]:
    return {str(file.relative_to(root)) for file in (root / package).rglob("*") if file.is_file()}


def _as_user(image: Image) -> dict[str, object]:
    """As the image's own user, where we may become it and it can reach this machine's Python."""
    if os.geteuid() != 0:
        return {}
    user, group = map(int, one("USER").text.split(":"))
    how: dict[str, object] = {"user": user, "group": group, "extra_groups": ()}
    try:
        subprocess.run([image.app / "bin/python", "-c", ""], check=True, capture_output=True, **how)  # type: ignore[call-overload]
    except (PermissionError, subprocess.CalledProcessError):
        return {}
    os.chown(image.home, user, group)
    return how


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
