"""The matrix of a stale decision, through HTTP: whatever happens on the way, nobody is told it as current (DESIGN 12).

AC-61, AC-62 and AC-79 and their kinds. As processes, on both backends,
it is in `tests/together/decisions`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from service.decisions import changes, rows
from service.decisions.corrections import IndexNotReady
from service.decisions.decisions import Decisions
from service.decisions.reader import SourceUnreadable
from service.tables import Proposal, table_of
from tests.service.api import Api, api
from tests.service.decisions.agents import Agents
from tests.service.embedded import TENANT


class Reader:
    """A source that can be asked: at a version, or out of reach."""

    can_read = True

    def __init__(self, version: str | None = None) -> None:
        self.at = version
        self.asked = 0

    async def version(self, tenant: str, source: str, entity: str | None) -> str:
        self.asked += 1
        if self.at is None:
            raise SourceUnreadable("away")
        return self.at

    async def close(self) -> None:
        """Nothing is open."""


class Index:
    """One that does not answer until it is told to."""

    def __init__(self) -> None:
        self.works = False
        self.corrected_ids: list[str] = []

    async def corrected(self, tenant: str, borrower_id: str, decision_id: str) -> None:
        if not self.works:
            raise IndexNotReady("it is being built")
        self.corrected_ids.append(decision_id)


def use(service: Api, **means: object) -> None:
    """The same service with another index, or another source to be asked."""
    service.parts.decisions = Decisions(replace(service.parts.decisions._means, **means))  # type: ignore[arg-type]


async def corrections(service: Api, status: str = "") -> list[dict[str, object]]:
    answer = await service.get("/v1/ops/corrections" + (f"?status={status}" if status else ""))
    return list(answer["items"])


async def count(service: Api, table: object) -> int:
    return await service.behind.database.read(
        lambda c: int(c.execute(select(func.count()).select_from(table)).scalar_one())
    )  # type: ignore[arg-type]


# -- AC-61, AC-62, AC-79 -----------------------------------------------------------------------------------------------


async def test_the_source_moved_on_and_it_is_not_offered_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1", conclusion="offer 10% waiver")
        assert (await agents.see("v13"))["stale_decisions"] == 1
        assert (await agents.check("D-1", "v12", action="grant", execution_id="run-9")).status == 409
        assert await agents.current() == set()
        past = await agents.past("D-1")
        assert (past["status"], past["reason"], past["observed_version"]) == ("stale", "source_moved", "v13")
        assert (past["conclusion"], past["source_version"]) == ("offer 10% waiver", "v12")
        assert past["noticed_by"] == past["recorded_by"]
        (use_,) = past["uses"]
        assert (use_["allowed"], use_["action"], use_["execution_id"]) == (False, "grant", "run-9")
        assert past["uses_count"] == 1


async def test_stale_is_not_the_opposite(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents, reader = Agents(service), Reader(None)
        use(service, sources=reader)
        await agents.decide("D-1")
        await agents.see("v13")
        assert await agents.current() == set()
        past = await agents.listed("history")
        assert [(d["decision_id"], d["status"], d["superseded_by"]) for d in past] == [("D-1", "stale", None)]
        (pending,) = await corrections(service, "pending")
        assert pending["last_reason"] == "source: away"
        assert (await service.get("/v1/ops/stats"))["corrections_open"] == 1
        assert None not in pending["layers"].values()  # type: ignore[attr-defined]
        await agents.decide("D-2", "v13", 5, conclusion="no waiver")
        past = await agents.listed("history")
        assert [(d["decision_id"], d["status"], d["superseded_by"]) for d in past] == [
            ("D-2", "active", None),
            ("D-1", "superseded", "D-2"),
        ]
        reader.at = "v13"
        service.behind.now = service.now.replace(minute=5)
        assert await service.parts.decisions.corrections.look_after() == 1
        assert await corrections(service, "pending") == []
        assert (await service.get("/v1/ops/stats"))["corrections_open"] == 0
        assert await agents.current() == {"D-2"}


async def test_a_late_correction_touches_nothing_newer(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1", "v12", 60)
        await agents.see("v14", 10)
        await agents.decide("D-2", "v14", 5)
        late = await agents.see("v13", 20)
        assert late["stale_decisions"] == 0
        assert await agents.current() == {"D-2"}
        assert (await agents.past("D-1"))["status"] == "superseded"
        assert (await agents.past("D-1"))["superseded_by"] == "D-2"
        assert (await agents.check("D-2", "v14")).status == 200


# -- the rest of the matrix --------------------------------------------------------------------------------------------


async def test_reported_twice_it_is_corrected_once(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")
        told = await asyncio.gather(
            *(agents.see("v13") for _ in range(8)), *(agents.check("D-1", "v13") for _ in range(8))
        )
        assert sum(answer.document.get("stale_decisions", 0) for answer in told) <= 1
        assert len(await corrections(service)) == 1
        assert await count(service, rows.CORRECTION) == 1


async def test_an_entry_that_comes_twice_changes_nothing(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")
        await agents.see("v13")
        before, version = await corrections(service), await agents.version()
        entries = await service.behind.database.read(
            lambda c: c.exec_driver_sql("SELECT * FROM intake").mappings().all()
        )
        again = [e for e in entries if "D-1:v13" in e["event_id"]]
        from service.intake.log import Pending

        await service.behind.told(
            await service.behind.log.append(
                [Pending(e["tenant"], e["borrower_id"], e["event_id"], e["value"]) for e in again]
            )
        )
        assert (await corrections(service), await agents.version()) == (before, version)


async def test_while_the_writer_is_away_it_is_pending_and_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.decisions.decisions.WAIT_SECONDS", 0.02)
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")
        version = await agents.version()
        await service.behind.stop_writing()
        assert (await agents.see("v13"))["stale_decisions"] == 1
        assert await agents.current() == set()
        refused = await agents.check("D-1")
        assert (refused.status, refused["correction"]["status"]) == (409, "pending")
        assert refused["correction"]["layers"]["record"] is None
        assert await agents.version() == version
        service.behind.write()
        await service.behind.settled()
        service.behind.now = service.now.replace(minute=5)
        await service.parts.decisions.corrections.look_after()
        assert await agents.version() == version + 1
        assert await corrections(service, "pending") == []


async def test_when_the_index_fails_it_is_not_done_and_is_asked_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents, index = Agents(service), Index()
        use(service, index=index)
        await agents.decide("D-1")
        await agents.see("v13")
        (pending,) = await corrections(service, "pending")
        assert pending["last_reason"] == "index: it is being built"
        assert {layer for layer, told in pending["layers"].items() if told is None} == {"index"}  # type: ignore[attr-defined]
        assert await agents.current() == set()
        index.works = True
        service.behind.now = service.now.replace(minute=1)
        await service.parts.decisions.corrections.look_after()
        assert index.corrected_ids == ["D-1"]
        assert await corrections(service, "pending") == []


async def test_a_correction_that_cannot_be_committed_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status, correction and entry are in together or not at all; and without them it is unusable all the same."""

    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")

        def full(*_: object) -> object:
            raise OSError("no space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(changes, "internal_id", full)
            assert (await agents.see("v13")).status >= 500
        assert (await agents.past("D-1"))["status"] == "active"
        assert await count(service, rows.CORRECTION) == 0
        assert await agents.current() == {"D-1"}, "the report itself was not taken, so nothing newer is known"
        assert (await agents.see("v13"))["stale_decisions"] == 1


async def test_a_decision_that_crossed_a_report_is_not_told_and_goes_stale_by_itself(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")
        newer = {"version": "v13", "observed_at": service.now, "reported_at": service.now, "reported_by": "k"}
        crossed = rows.VERSION.insert().values(tenant=TENANT, source="offers", entity="", **newer)
        await service.behind.database.write(lambda c: c.execute(crossed))
        assert await agents.current() == set()
        assert (await agents.past("D-1"))["usable"] is False
        assert await service.parts.decisions.corrections.mend_drift() == 1
        assert (await agents.past("D-1"))["status"] == "stale"
        assert await service.parts.decisions.corrections.mend_drift() == 0


async def test_an_unrelated_change_leaves_others_alone(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1", entity="LN-1")
        await agents.decide("D-2", entity="LN-2", kind="plan")
        await agents.decide("D-3", source="rates", source_version="r1", kind="rate")
        await agents.decide("D-4", borrower_id="B-2", entity="LN-1")
        assert (await agents.see("v13", entity="LN-1"))["stale_decisions"] == 2
        assert await agents.current() == {"D-2", "D-3"}
        assert await agents.current("B-2") == set()
        assert (await agents.see("v20"))["stale_decisions"] == 1
        assert await agents.current() == {"D-3"}


async def test_an_entitys_later_version_stands_against_an_earlier_one_of_the_whole_source(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.see("v14", 5, entity="LN-1")
        await agents.decide("D-1", "v14", 4, entity="LN-1")
        assert (await agents.see("v13", 10))["stale_decisions"] == 0
        assert await agents.current() == {"D-1"}
        assert (await agents.see("v15", 1))["stale_decisions"] == 1


async def test_on_an_old_version_it_is_taken_and_stale_at_once(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.see("v13")
        answer = await agents.decide("D-1", "v12", 1)
        assert (answer.status, answer["status"], answer["reason"]) == (201, "stale", "version_was_old")
        assert (answer["observed_version"], answer["correction"]) == ("v13", None)
        assert (await agents.check("D-1", "v12")).status == 409
        assert await agents.current() == set()


async def test_so_it_is_where_a_newer_one_of_its_subject_is_current(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.see("v13")
        assert (await agents.decide("D-2", "v13", 2))["status"] == "active"
        answer = await agents.decide("D-1", "v12", 1)
        assert (answer.status, answer["status"], answer["reason"]) == (201, "stale", "version_was_old")
        assert await agents.current() == {"D-2"}


async def test_while_nobody_has_reported_a_later_decision_on_another_version_replaces(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1", "v12", 60)
        await agents.decide("D-2", "v13", 30)
        assert await agents.current() == {"D-2"}
        assert (await agents.past("D-1"))["superseded_by"] == "D-2"
        late = await agents.decide("D-0", "v11", 90)
        assert (late["status"], late["superseded_by"]) == ("superseded", "D-2")


async def test_one_names_what_it_replaces_of_another_kind_but_never_another_borrowers(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1", "v12", 60)
        await agents.decide("D-9", "v12", 60, borrower_id="B-9")
        await agents.see("v13")
        answer = await agents.decide("D-2", "v13", 5, kind="plan", replaces="D-1")
        assert answer["replaces"] == "D-1"
        assert (await agents.past("D-1"))["superseded_by"] == "D-2"
        answer = await agents.decide("D-3", "v13", 4, kind="other", replaces=["D-8", "D-9"])
        assert (answer.status, answer["errors"]) == (422, [{"field": "replaces.1", "code": "bad_id"}])


async def test_a_source_that_can_be_asked_is_asked_before_anybody_acts(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents, reader = Agents(service), Reader("v12")
        use(service, sources=reader)
        await agents.decide("D-1")
        assert (await agents.check("D-1")).status == 200
        reader.at = None
        assert (await agents.check("D-1"))["code"] == "source_unavailable"
        reader.at = "v13"
        refused = await agents.check("D-1")
        assert (refused.status, refused["observed_version"]) == (409, "v13")
        asked = reader.asked
        assert (await agents.check("D-1")).status == 409
        assert reader.asked == asked, "of one that may not be used nobody need be asked"


async def test_what_the_source_says_is_seen_now_whenever_the_caller_last_saw_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents, reader = Agents(service), Reader("v13")
        use(service, sources=reader)
        await agents.decide("D-1")
        await agents.see("v12", minutes=5)
        refused = await agents.check("D-1", observed_at=service.ago(minutes=50))
        assert (refused.status, refused["observed_version"], refused["decision_status"]) == (409, "v13", "stale")
        assert await agents.current() == set()
        assert (await agents.past("D-1"))["observed_version"] == "v13"


async def test_stored_proposals_die_with_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.decisions.decisions.WAIT_SECONDS", 0.02)
    async with api(tmp_path) as service:
        agents, proposal = Agents(service), table_of(Proposal)
        await agents.decide("D-1")
        await agents.decide("D-2", borrower_id="B-2")
        of = {
            "tenant": TENANT, "channel": "voice", "loan_id": "", "record_version": 1, "flow_version": "f",
            "prompt_hash": "p", "model": "m", "asked_at": service.now, "latency_ms": 1, "expires_at": service.now,
        }  # fmt: skip
        both = [{**of, "borrower_id": borrower} for borrower in ("B-1", "B-3")]
        await service.behind.database.write(lambda c: c.execute(proposal.insert(), both))
        await service.behind.stop_writing()
        await agents.see("v13")
        left = await service.behind.database.read(lambda c: c.execute(select(proposal.c.borrower_id)).scalars().all())
        assert left == ["B-3"]


async def test_many_at_once_are_all_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "STALE_AT_ONCE", 3)
    async with api(tmp_path) as service:
        agents = Agents(service)
        await asyncio.gather(*(agents.decide(f"D-{n}", borrower_id=f"B-{n}", kind=f"k{n}") for n in range(8)))
        assert (await agents.see("v13"))["stale_decisions"] == 8
        assert (await agents.see("v13"))["stale_decisions"] == 0


async def test_a_source_that_is_away_is_asked_once_for_many(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents, reader = Agents(service), Reader(None)
        use(service, sources=reader)
        await asyncio.gather(*(agents.decide(f"D-{n}", borrower_id=f"B-{n}") for n in range(5)))
        await agents.see("v13")
        await service.behind.settled()
        service.behind.now = service.now.replace(minute=1)
        before = reader.asked
        assert await service.parts.decisions.corrections.look_after() == 5
        assert reader.asked == before + 1
        reader.at = "v13"
        service.behind.now = service.now.replace(minute=2)
        await service.parts.decisions.corrections.look_after()
        assert await corrections(service, "pending") == []
