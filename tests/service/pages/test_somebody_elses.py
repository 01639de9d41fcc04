"""On a borrower's page what came through a number that was never theirs has its line, and no word of somebody else."""

from __future__ import annotations

from tests.service.api import Api
from tests.service.pages.conftest import Enter
from tests.service.pages.test_pages import words_of


async def test_the_line_says_that_it_was_somebody_elses_and_nothing_of_what_was_said(staged: Api, enter: Enter) -> None:
    staged.made = 1_000  # ids of its own, beside those of the day that is staged
    phone = staged.phone()
    await staged.event("identifier.linked", "B-wrong", hours=20, identifier=phone)
    told = await staged.told(
        hours=9, identifier=phone, summary="Plans a trip to Zanzibar.", disposition="Zanzibar", agent="Zanzibar-1"
    )
    await staged.event("fact.stated", hours=8, identifier=phone, kind="household", text="a house in Zanzibar")
    async with enter() as browser:
        assert "Zanzibar" in words_of(await browser.get("/ops/borrowers/B-wrong"))
        withhold = f"/ops/borrowers/B-wrong/withhold?event_id={told['event_id']}"
        assert "Zanzibar" in words_of(await browser.get(withhold))
        await staged.event("identifier.unlinked", "B-wrong", hours=1, identifier=phone, reason="wrong_borrower")
        page = words_of(await browser.get("/ops/borrowers/B-wrong"))
        assert "Zanzibar" not in await browser.get(withhold, 404)
    assert "Zanzibar" not in page
    assert page.replace("&#39;", "'").count("somebody else's: the number was not theirs") == 2
