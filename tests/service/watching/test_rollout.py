"""Switches of modes are noted when the policy has changed; measures before and since each are what happened then."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from service import audit, modes, rollout
from service.live import ACTION, WHO
from service.modes import Switch, note
from service.policy import Policies, Policy
from service.watching.rollout import rollout as counted
from tests.service.api import Api, Body, api
from tests.service.conftest import Where
from tests.service.embedded import TENANT

ALWAYS = ("00:00", "24:00")


def under(**policy: Any) -> Policies:
    return Policies(Policy(**{"contact_hours": ALWAYS, **policy}))


async def noted(service: Api, hours: float, **policy: Any) -> int:
    """As a process does that starts so many hours ago, under this policy."""
    database = service.behind.database
    return await note(database, under(**policy), service.now - timedelta(hours=hours))


async def modes_of(service: Api) -> dict[str, list[str]]:
    found = await service.behind.database.read(lambda c: modes.switches(c, TENANT))
    return {channel: [switch.mode for switch in of] for channel, of in found.items()}


# -- which mode ------------------------------------------------------------------------------------------------------------


async def test_a_switch_is_noted_once_by_whoever_starts_first(tmp_path: Path, where: Where) -> None:
    async with api(tmp_path, where=where()) as service:
        assert await noted(service, 50, mode={"voice": "disabled", "whatsapp": "shadow"}) == 2
        assert await noted(service, 49, mode={"voice": "disabled", "whatsapp": "shadow"}) == 0
        assert await noted(service, 40, mode={"voice": "shadow", "whatsapp": "shadow"}) == 1
        assert await noted(service, 30, mode="enabled", allow=["B-1"]) == 2
        assert await noted(service, 20, mode="enabled") == 2
        assert await noted(service, 10) == 0
        assert await modes_of(service) == {
            "voice": ["disabled", "shadow", "listed", "enabled"],
            "whatsapp": ["shadow", "listed", "enabled"],
        }


async def test_two_that_start_at_once_are_one_switch_and_another_tenants_is_its_own(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        database, now = service.behind.database, service.now
        for tenant in (TENANT, TENANT, "other"):
            line = audit.Line(tenant, now, modes.WHO, modes.ACTION, detail="voice shadow")
            await database.write(lambda c, line=line: audit.add(c, line))  # type: ignore[misc]
        assert await modes_of(service) == {"voice": ["shadow"], "whatsapp": []}


# -- what was measured -------------------------------------------------------------------------------------------------------


async def talk(
    service: Api, who: str, hours: float, channel: str = "voice", *, start: str | None = None, **own: Any
) -> None:
    """A conversation that ended so many hours ago; `start`: of a resume asked for just before it, which it entered there."""
    if start is not None:
        granted = await service.resume(who, channel, direction="inbound")
        await service.parts.resumes.flush()
        own |= {"resume_id": granted["resume_id"], "entered_state": granted["state"] if start == "granted" else start}
    assert (await service.told(who, hours, channel, **own)).status == 200


def channel(answer: Any, name: str) -> Body:
    (found,) = [of for of in answer["channels"] if of["channel"] == name]
    return dict(found)


async def test_each_conversation_counts_in_the_time_it_ended_in(tmp_path: Path, where: Where) -> None:
    async with api(tmp_path, where=where()) as service:
        await noted(service, 500, mode="disabled")
        await noted(service, 48, mode="enabled")
        for hours in (100, 90, 80, 40):
            await talk(service, "B-1", hours)
        await talk(service, "B-1", 70, outcome="no_answer")
        await talk(service, "B-1", 30, commitment=service.promise())
        await talk(service, "B-1", 20, outcome=None, turns=[{"speaker": "borrower", "text": "haan"}])
        started = {"channel": "voice", "conversation_id": "lost"}
        await service.event("conversation.started", "B-2", 60, **started)
        await service.event("conversation.started", "B-2", 0.5, channel="voice", conversation_id="going on")
        voice = channel(await service.get("/v1/ops/rollout"), "voice")
        assert (voice["mode"], len(voice["switches"])) == ("enabled", 1)
        (switch,) = voice["switches"]
        assert (switch["from"], switch["to"]) == ("disabled", "enabled")
        assert switch["since"] == voice["now"]
        before, since = switch["before"], switch["since"]
        assert (before["connected"], before["with_summary"], before["with_summary_share"]) == (4, 3, 0.75)
        assert before["cold"] == {
            "conversations": 4, "connected": 3, "promises": 0, "connected_share": 0.75, "promises_share": 0.0,
        }  # fmt: skip
        assert (since["connected"], since["with_summary_share"]) == (3, 1.0)
        assert since["cold"]["promises"] == 1
        assert (before["from"], before["to"]) == (None, switch["at"])
        assert (since["from"], since["to"]) == (switch["at"], None)


async def test_a_conversation_counts_by_its_highest_revision_in_whatever_order_they_arrive(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        for revision, outcome in ((2, "no_answer"), (1, "connected"), (3, "busy"), (2, "no_answer")):
            await talk(service, "B-1", 5, conversation_id="c-1", revision=revision, outcome=outcome)
        await talk(service, "B-1", 4, conversation_id="c-2", revision=2)
        await talk(service, "B-1", 4, conversation_id="c-2", revision=1, outcome="no_answer")
        now = channel(await service.get("/v1/ops/rollout"), "voice")["now"]
        assert (now["connected"], now["cold"]["conversations"]) == (1, 2)


async def test_what_began_from_a_granted_start_is_told_apart_and_so_are_starts_that_were_ignored(
    tmp_path: Path,
) -> None:
    async with api(tmp_path) as service:
        await noted(service, 500, mode="shadow")
        await noted(service, 48, mode="enabled")
        await talk(service, "B-1", 100)
        await talk(service, "B-1", 0.3, start="granted", commitment=service.promise())
        await talk(service, "B-1", 0.2, start="dues")
        await talk(service, "B-1", 0.1)
        now = channel(await service.get("/v1/ops/rollout"), "voice")["now"]
        assert (now["entered"], now["ignored"]) == (2, 1)
        assert (now["resumed"]["conversations"], now["resumed"]["promises_share"]) == (2, 0.5)
        assert (now["cold"]["conversations"], now["cold"]["promises_share"]) == (1, 0.0)


async def test_days_to_the_next_conversation_are_counted_to_another_channel_of_the_same_borrower(
    tmp_path: Path,
) -> None:
    async with api(tmp_path) as service:
        await talk(service, "B-1", 96)
        await talk(service, "B-1", 72)
        await talk(service, "B-1", 48, "whatsapp")
        await talk(service, "B-1", 36)
        await talk(service, "B-2", 40, "whatsapp")
        answer = await service.get("/v1/ops/rollout")
        voice, whatsapp = (channel(answer, name)["now"]["next_elsewhere"] for name in ("voice", "whatsapp"))
        assert voice == {"conversations": 2, "median_days": 1.5, "mean_days": 1.5}
        assert whatsapp == {"conversations": 1, "median_days": 0.5, "mean_days": 0.5}


async def test_revisions_are_one_conversation_and_the_highest_tells(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        same = {"channel": "voice", "conversation_id": "c", "borrower_id": "B-1", "ended_at": service.ago(hours=1)}
        await service.post("/v1/summaries", same | {"outcome": None})
        await service.post("/v1/summaries", same | {"outcome": "connected", "revision": 2})
        await service.post("/v1/summaries", same | {"outcome": "connected", "revision": 2})
        now = channel(await service.get("/v1/ops/rollout"), "voice")["now"]
        assert (now["connected"], now["cold"]["conversations"]) == (1, 1)


async def test_a_live_value_that_was_found_counts_on_its_channel_or_on_all(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        for detail in ("voice context 1", "any facts 2"):
            line = audit.Line(TENANT, service.now, WHO, ACTION, "B-1", detail)
            await service.behind.database.write(lambda c, line=line: audit.add(c, line))  # type: ignore[misc]
        answer = await service.get("/v1/ops/rollout")
        assert [channel(answer, name)["now"]["live_values"] for name in ("voice", "whatsapp")] == [3, 2]


async def test_before_any_mode_was_noted_it_is_the_policys_and_nothing_is_divided_by_none(tmp_path: Path) -> None:
    async with api(tmp_path, mode="enabled", allow=["B-9"]) as service:
        answer = await service.get("/v1/ops/rollout")
        assert (answer.status, answer["counted_from"]) == (200, None)
        for of in answer["channels"]:
            assert (of["mode"], of["since"], of["switches"]) == ("listed", None, [])
            assert (of["now"]["with_summary_share"], of["now"]["resumed"]["connected_share"]) == (None, None)


async def test_of_more_than_are_read_it_says_since_when_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.watching.rollout.SUMMARIES", 2)
    async with api(tmp_path) as service:
        for hours in (5, 4, 3):
            service.behind.now = service.now + timedelta(hours=1)
            await talk(service, "B-1", hours / 100)
        answer = await service.get("/v1/ops/rollout")
        assert answer["counted_from"] is not None
        assert channel(answer, "voice")["now"]["connected"] <= 2


async def test_as_a_table_it_has_a_line_for_each_time_and_says_the_same(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await noted(service, 500, mode="shadow")
        await noted(service, 48, mode={"voice": "enabled", "whatsapp": "shadow"})
        await talk(service, "B-1", 20)
        answer = await service.client.get("/v1/ops/rollout?format=csv")
        assert answer.headers["content-type"].startswith("text/csv")
        lines = list(csv.DictReader(io.StringIO(answer.text)))
        assert [(line["channel"], line["mode"]) for line in lines] == [
            ("voice", "shadow"), ("voice", "enabled"), ("whatsapp", "shadow"),
        ]  # fmt: skip
        assert [line["cold_connected"] for line in lines] == ["0", "1", "0"]
        assert (await service.get("/v1/ops/rollout?format=xml")).status == 422


async def test_it_is_a_tenants_own_and_of_who_may_see_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await talk(service, "B-1", 1)
        other = await rollout.measures(service.parts, "other")
        assert all(of["now"]["connected"] == 0 for of in other["channels"])
        del service.client.headers["Authorization"]
        assert (await service.get("/v1/ops/rollout")).status == 401


async def test_what_is_noted_of_modes_bounds_nothing_but_the_times(tmp_path: Path) -> None:
    """Any number of switches: each conversation is in exactly one period."""
    async with api(tmp_path) as service:
        for hours in range(1, 40, 3):
            await talk(service, "B-1", hours)
        at = [service.now - timedelta(hours=h) for h in (35, 25, 15, 15, 5)]
        several = {"voice": [Switch(t, mode) for t, mode in zip(at, "abcde", strict=True)]}
        found = await service.behind.database.read(lambda c: counted(c, TENANT, several, service.now))
        voice = channel(found, "voice")
        periods = [switch["before"] for switch in voice["switches"]] + [voice["now"]]
        assert sum(period["connected"] for period in periods) == 13
        assert [(p["from"], p["to"]) for p in periods] == list(zip([None, *at[1:]], [*at[1:], None], strict=True))
