"""A Dockerfile as data, and its build stage carried out in a folder instead of an image.

As much of the language as ours uses; anything else is an error and not passed over. What is not tried here is the base image:
the machine's own Python stands in for it.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RUN_SECONDS = 900


@dataclass(frozen=True)
class Instruction:
    word: str
    options: dict[str, str]
    text: str

    @property
    def words(self) -> list[str]:
        """Of the JSON form, or apart by spaces."""
        return [str(word) for word in json.loads(self.text)] if self.text.startswith("[") else self.text.split()


def instructions(text: str) -> Iterator[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        word, _, rest = line.partition(" ")
        options = {}
        while found := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
            options[found[1]] = found[2]
            rest = rest[found.end() :]
        yield Instruction(word, options, rest.strip())


def stages(text: str) -> list[list[Instruction]]:
    """Each from its FROM on."""
    found: list[list[Instruction]] = []
    for one in instructions(text):
        if one.word == "FROM":
            found.append([])
        found[-1].append(one)
    return found


def environment(stage: Sequence[Instruction]) -> dict[str, str]:
    pairs = [pair.partition("=") for one in stage if one.word == "ENV" for pair in one.words]
    return {name: value for name, _, value in pairs}


@dataclass(frozen=True)
class Context:
    """The files that a build sees: those of `root` that `ignore` lets through, in Docker's order: the last line wins."""

    root: Path
    ignore: Sequence[str]

    def has(self, path: str) -> bool:
        seen = False
        for line in self.ignore:
            if _matches(path, line.lstrip("!")):
                seen = line.startswith("!")
        return seen

    def copy(self, source: str, target: Path) -> None:
        """As COPY does: a folder's files into the target, a file to it."""
        assert self.has(source), f"{source} is kept from the build"
        path = self.root / source
        if path.is_file():
            shutil.copy(path, target)
            return
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(self.root)
            if file.is_file() and self.has(str(inside)):
                to = target / file.relative_to(path)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)


def _matches(path: str, pattern: str) -> bool:
    """Whether the pattern names it or a folder that it is in; `**/` is any folder, and none."""
    parts = path.split("/")
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    if pattern.startswith("**/"):
        return any(fnmatch.fnmatchcase(part, pattern[3:]) for part in parts)
    return any(("/" not in one and fnmatch.fnmatchcase(one, pattern)) or one == pattern for one in above)


@dataclass
class Build:
    """A stage carried out beneath `folder`: a path of the image is that path there."""

    folder: Path
    context: Context
    env: dict[str, str] = field(default_factory=dict)
    at: Path = field(init=False)

    def __post_init__(self) -> None:
        self.at = self.inside("/")
        tools = self.folder / "tools"
        tools.mkdir(parents=True)
        (tools / "python").symlink_to(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
        kept = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")}
        self.env = kept | {"PATH": f"{tools}:{os.defpath}"}

    def inside(self, path: str) -> Path:
        return self.folder / "root" / path.lstrip("/")

    def carry_out(self, stage: Sequence[Instruction]) -> None:
        for one in stage:
            match one.word:
                case "FROM":
                    self.at.mkdir(parents=True)
                case "ENV":
                    self.env |= {
                        name: str(self.inside(value)) if value.startswith("/") else value
                        for name, value in environment([one]).items()
                    }
                case "WORKDIR":
                    self.at = self.inside(one.text)
                    self.at.mkdir(parents=True)
                case "COPY":
                    *sources, target = one.words
                    for source in sources:
                        self.context.copy(source, self.at / target)
                case "RUN":
                    done: Any = subprocess.run(
                        ["/bin/sh", "-c", one.text], cwd=self.at, env=self.env,
                        capture_output=True, text=True, timeout=RUN_SECONDS, check=False,
                    )  # fmt: skip
                    assert done.returncode == 0, f"RUN {one.text}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
                case word:
                    raise AssertionError(f"{word} is not known here")
