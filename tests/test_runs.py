"""No test is in no run, or in two: `make check` and what `make test` adds to it choose among all marks that there are."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
MARKS = [
    declared.partition(":")[0]
    for declared in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
]


def chosen_by(target: str) -> str:
    """The expression of marks by which this target runs tests."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    (expression,) = re.findall(r'pytest .*-m "?([^"\n]+?)"?(?: -s)?$', recipe[1], re.MULTILINE)
    return str(expression)


def test_each_test_is_in_one_run_whatever_its_marks() -> None:
    runs = {target: chosen_by(target) for target in ("check", "test", "bench")}
    for marked in product((True, False), repeat=len(MARKS)):
        marks = dict(zip(MARKS, marked, strict=True))
        chosen = [target for target, expression in runs.items() if eval(expression, {}, marks)]
        assert len(chosen) == 1, (marks, chosen)


def test_what_make_test_runs_begins_with_what_make_check_runs() -> None:
    assert re.search(r"^test:.*\bcheck\b", MAKEFILE, re.MULTILINE)
    assert re.search(r"^step .* make test$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
