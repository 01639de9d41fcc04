"""`rebuild` as it is run: every number of the room, and every gauge, is the one it was (DESIGN 13, 16)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from service.metrics.standing import GAUGES
from tests.service.pages.stage import ASHA, KABIR, LEELA, MEENA, NISHA, OMAR, RAVI
from tests.service.pages.test_numbers import LISTS
from tests.service.pages.test_signing import PLACES
from tests.together.room import lived_in
from tests.together.service import Service

pytestmark = pytest.mark.process

PEOPLE = (ASHA, RAVI, MEENA, KABIR, LEELA, NISHA, OMAR)
CASES = tuple(
    f"/ops/rollout/cases?channel=voice&period={n}&measure={what}" for n in (0, 1) for what in ("connected", "cold")
)
OF_THE_PROCESS = ("_epoch", "_seconds")
"""Gauges, by how they end, that tell of a process or grow old by themselves."""


def numbers(service: Service, key: str) -> dict[str, list[str]]:
    """Of each page every number there is, in its order, but for times, for how long, and for who writes since when."""
    with httpx.Client(base_url=service.url, follow_redirects=True, timeout=60) as client:
        client.post("/ops/sign-in", data={"key": key}).raise_for_status()
        found = {}
        for path in (*PLACES, *LISTS, *CASES, *(f"/ops/borrowers/{borrower}" for borrower in PEOPLE)):
            page = client.get(path).raise_for_status().text.partition("<main")[2].partition("</main>")[0]
            for shape in (
                r"<time.*?</time>",
                r'<(\w+) class="[^"]*\bspan\b[^"]*">.*?</\1>',
                r"<ul class=\"plain-list\">.*?</ul>",
            ):
                page = re.sub(shape, " ", page, flags=re.DOTALL)
            if path == "/ops/system":
                page = re.sub(r'<td class="(?:id|num row)">.*?</td>', " ", page)
            if path != "/ops/audit":
                found[path] = re.findall(r"\d[\d,.]*", re.sub(r"<[^>]+>", " ", page))
        lines = client.get("/metrics").text.splitlines()
    of_it = [
        line
        for line in lines
        if line.startswith(tuple(GAUGES)) and not line.split("{")[0].split(" ")[0].endswith(OF_THE_PROCESS)
    ]
    return found | {"metrics": of_it}


def test_after_the_command_every_number_and_gauge_is_what_it_was(tmp_path: Path) -> None:
    with lived_in(tmp_path) as (service, key):
        before = numbers(service, key)
        assert before["/ops/hooks"], "vendors brought something"
        assert "borrower_memory_missing_reports 1.0" in before["metrics"]
        assert service.stop() == 0
        done = service.command("rebuild", timeout=120)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["changed"], told["removed"]) == (0, 0)
        assert told["borrowers"] >= len(PEOPLE)
        service.start()
        after = numbers(service, key)
    assert {path: found for path, found in after.items() if found != before[path]} == {}
