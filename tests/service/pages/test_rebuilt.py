"""After a rebuild every page and every gauge tells what it told before: what is shown is what is stored (issue: the room)."""

from __future__ import annotations

from service.metrics.standing import GAUGES
from service.pages.counts import Counts
from service.policy import Policies
from service.rebuild import rebuild
from tests.service.api import Api
from tests.service.embedded import SECRETS
from tests.service.pages.conftest import Browser, Enter
from tests.service.pages.stage import ASHA, KABIR, LEELA, MEENA, RAVI
from tests.service.pages.test_pages import words_of
from tests.service.pages.test_signing import PLACES

LISTS = (
    "/ops/borrowers?stage=paid", "/ops/borrowers?hold=true", "/ops/borrowers?last_channel=whatsapp",
    "/ops/promises?show=week", "/ops/promises?show=broken", "/ops/promises?show=overdue", "/ops/callbacks?today=true",
    "/ops/resumes?ignored=true", "/ops/resumes?crossed=true", "/ops/deliveries?show=events",
    "/ops/deliveries?show=repeats", "/ops/deliveries?show=conflicts",
)  # fmt: skip


async def told(browser: Browser, house: Api) -> dict[str, str]:
    """Every page in words, counted anew, and every gauge that Prometheus is told."""
    house.parts.counts = Counts()
    people = [f"/ops/borrowers/{borrower}" for borrower in (ASHA, RAVI, MEENA, KABIR, LEELA)]
    pages = {path: words_of((await browser.get(path)).partition("<main")[2]) for path in (*PLACES, *LISTS, *people)}
    lines = (await house.client.get("/metrics")).text.splitlines()
    return pages | {"metrics": "\n".join(line for line in lines if line.startswith(tuple(GAUGES)))}


async def test_after_a_rebuild_every_page_and_gauge_says_what_it_said(staged: Api, enter: Enter) -> None:
    async with enter() as browser:
        await browser.send("/ops/borrowers/B-101/withhold?event_id=voice:call-31:1", sentence="1", reason="untrue")
        before = await told(browser, staged)
        assert "borrower_memory_missing_reports 1.0" in before["metrics"]
        now = staged.now
        found = await rebuild(staged.behind.database, SECRETS, Policies(), lambda: now, lambda done, of: None)
        assert (found.changed, found.removed) == (0, 0)
        after = await told(browser, staged)
    for place, words in before.items():
        assert after[place] == words, place
