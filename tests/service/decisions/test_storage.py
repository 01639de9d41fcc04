"""Decisions as they are stored, on both databases: each change once, whoever is at it at the same time, and misses named."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, select

from service.decisions import changes, claims, current, rows
from service.decisions.bodies import DecisionCheck, DecisionTaken, SourceReport
from service.decisions.corrections import Means, Measures
from service.decisions.decisions import Decisions
from service.decisions.reader import NoReader
from service.errors import IdConflict, StaleContext
from service.intake.durable import TableIntake
from service.reading import Reader
from service.recall.corrected import CorrectedIndex
from service.recall.index import INDEXED
from statemachine.decisions import Seen
from tests.service.conftest import Where
from tests.service.embedded import POLICIES, SECRETS, TENANT, Embedded, embedded


@dataclass
class Kept:
    behind: Embedded
    decisions: Decisions

    def body(self, decision_id: str, version: str = "v12", minutes: float = 60, **own: Any) -> DecisionTaken:
        told = {"borrower_id": "B-1", "kind": "waiver", "conclusion": "yes", "source": "offers"} | own
        decided = self.behind.now - timedelta(minutes=minutes)
        return DecisionTaken.model_validate(
            told | {"decision_id": decision_id, "source_version": version, "decided_at": decided}
        )

    async def take(self, decision_id: str, version: str = "v12", minutes: float = 60, **own: Any) -> dict[str, Any]:
        return (await self.decisions.take(TENANT, "k", self.body(decision_id, version, minutes, **own)))[0]

    async def see(self, version: str, minutes: float = 10, **own: Any) -> int:
        at = self.behind.now - timedelta(minutes=minutes)
        told = {"source": "offers", "version": version, "observed_at": at} | own
        return await self.decisions.report(TENANT, "k", SourceReport.model_validate(told))

    async def look(self, job: Callable[[Connection], Any]) -> Any:
        return await self.behind.database.read(job)

    async def stored(self, decision_id: str) -> rows.Stored:
        found: rows.Stored = await self.look(lambda c: rows.decision(c, TENANT, decision_id))
        return found

    def acting(self) -> changes.Acting:
        return self.decisions._means.acting(TENANT, "k")


@contextlib.asynccontextmanager
async def kept(where: Where) -> AsyncIterator[Kept]:
    async with embedded(where()) as behind:
        intake = TableIntake(behind.log, behind.outcomes, behind.writers[0][0])
        measures = Measures(CollectorRegistry())
        index = CorrectedIndex(behind.database, Reader(), POLICIES, behind.clock, SECRETS.keyed_hash)
        means = Means(behind.database, intake, SECRETS, POLICIES, behind.clock, NoReader(), index, measures)
        yield Kept(behind, Decisions(means))


async def test_of_many_at_once_one_is_new_and_the_rest_are_the_same_or_a_conflict(where: Where) -> None:
    async with kept(where) as service:
        body = service.body("D-1")
        other = body.model_copy(update={"conclusion": "no"})
        told = await asyncio.gather(
            *(service.decisions.take(TENANT, "k", b) for b in [body, other] * 6), return_exceptions=True
        )
        new = [answer for answer in told if isinstance(answer, tuple) and answer[1]]
        assert len(new) == 1
        assert sum(isinstance(answer, IdConflict) for answer in told) == 6


async def test_whoever_notices_at_the_same_time_it_is_corrected_once(where: Where) -> None:
    async with kept(where) as service:
        await service.take("D-1")
        checks = (service.decisions.check(TENANT, "k", "D-1", DecisionCheck(source_version="v13")) for _ in range(6))
        told = await asyncio.gather(*(service.see("v13") for _ in range(6)), *checks, return_exceptions=True)
        assert sum(answer for answer in told if isinstance(answer, int)) <= 1
        assert sum(isinstance(answer, StaleContext) for answer in told) == 6
        assert not [answer for answer in told if isinstance(answer, Exception) and not isinstance(answer, StaleContext)]
        assert len(await service.look(lambda c: rows.list_corrections(c, TENANT, None, 10, None))) == 1
        await service.behind.settled()
        service.behind.now += timedelta(minutes=5)
        await service.decisions.corrections.look_after()
        assert (await service.look(lambda c: rows.pending(c)))[0] == 0


async def test_two_who_replace_one_at_once_leave_one_that_did(where: Where) -> None:
    async with kept(where) as service:
        await service.take("D-0")
        await service.see("v13")
        await asyncio.gather(*(service.take(f"D-{n}", "v13", n) for n in range(1, 6)))
        old = await service.stored("D-0")
        assert old.status == "superseded"
        assert old.superseded_by in {f"D-{n}" for n in range(1, 6)}


@pytest.mark.parametrize(
    ("status", "change", "why"),
    [
        ("active", {"decision_id": "D-9"}, "not_found"),
        ("active", {"source_version": "v11"}, "version_conflict"),
        ("stale", {}, "already_corrected"),
        ("superseded", {}, "newer_decision"),
    ],
)
async def test_a_change_that_touches_no_row_is_classified(
    where: Where, status: str, change: dict[str, str], why: str
) -> None:
    async with kept(where) as service:
        await service.take("D-1")
        if status != "active":
            await service.see("v13")
        if status == "superseded":
            await service.take("D-2", "v13", 5)
        expected = replace(await service.stored("D-1"), **change)  # type: ignore[arg-type]
        acting = service.acting()

        def again(conn: Connection) -> bool:
            return changes.go_stale(conn, acting, expected, "v14")

        assert await service.behind.database.write(again) is False
        assert (acting.missed, acting.stale, acting.events) == ([why], [], [])
        assert (await service.stored("D-1")).status == status


async def test_what_rests_on_an_older_version_is_found_and_nothing_else(where: Where) -> None:
    async with kept(where) as service:
        for number, entity in enumerate([None, "LN-1", "LN-2"]):
            await service.take(f"D-{number}", entity=entity)
        await service.take("D-8", entity="LN-1", source="rates")
        await service.take("D-9", "v13", entity="LN-2", kind="other")

        def seen(conn: Connection) -> None:
            at = service.behind.now
            for entity, version, minutes in (("", "v13", 10), ("LN-1", "v12", 5)):
                told = Seen(version, at - timedelta(minutes=minutes), at)
                rows.keep_seen(conn, TENANT, "offers", entity, told, "k", is_new=True)

        await service.behind.database.write(seen)
        whole = await service.look(lambda c: rows.outdated(c, TENANT, "offers", "", "v13", 10))
        drifted = await service.look(lambda c: rows.drifted(c, 10))
        assert {one.decision_id for one in whole} == {one.decision_id for one in drifted} == {"D-0", "D-2"}
        assert {one.decision_id for one in await service.look(lambda c: current.current_of(c, TENANT, "B-1"))} == {
            "D-1", "D-8", "D-9",
        }  # fmt: skip
        assert await service.look(lambda c: current.is_current(c, TENANT, "B-1", "D-2")) is False
        assert await service.look(lambda c: current.is_current(c, "others", "B-1", "D-1")) is False


async def test_current_ones_are_found_behind_any_number_that_are_not(where: Where) -> None:
    async with kept(where) as service:
        await service.take("D-x", "v13", 500, kind="oldest")
        for number in range(5):
            await service.take(f"D-{number}", "v12", 100 - number, kind=f"k{number}")

        def seen(conn: Connection) -> None:
            told = Seen("v13", service.behind.now, service.behind.now)
            rows.keep_seen(conn, TENANT, "offers", "", told, "k", is_new=True)

        await service.behind.database.write(seen)
        found = await service.look(lambda c: current.current_of(c, TENANT, "B-1", 2))
        assert [one.decision_id for one in found] == ["D-x"]


async def test_claims_are_noted_traced_and_listed(where: Where) -> None:
    async with kept(where) as service:
        claim = {"decision_id": "D-1", "entity": None, "source": "offers", "version": "v12"}
        carried = claims.Carried(
            TENANT, "B-1", "e-1", "voice", "c-1", service.behind.now, (claim, dict.fromkeys(claim))
        )
        only = claims.Carried(TENANT, "B-1", "e-2", "voice", "c-2", service.behind.now, (claim,))
        await service.behind.database.write(lambda c: claims.note(c, [carried, only], service.behind.now))
        assert len((await service.look(lambda c: claims.untraceable(c, TENANT, 10, None))).items) == 3
        await service.take("D-1")
        assert len((await service.look(lambda c: claims.untraceable(c, TENANT, 10, None))).items) == 1
        assert await service.look(lambda c: claims.trusted(c, TENANT, ["e-1", "e-2", "e-3"])) == {"e-2"}
        await service.see("v13")
        assert await service.look(lambda c: claims.trusted(c, TENANT, ["e-1", "e-2"])) == frozenset()


async def test_a_claim_told_under_a_provisional_id_follows_its_redirect(where: Where) -> None:
    """Traced among the decisions of whoever the record turned out to be, and of nobody else."""
    async with kept(where) as service:
        claim = {"decision_id": "D-1", "entity": "LN-1", "source": "offers", "version": "v12"}
        other, unknown = claim | {"entity": None}, claim | {"decision_id": "D-7"}
        told = [
            claims.Carried(TENANT, "~phone:1", f"e-{place}", "voice", f"c-{place}", service.behind.now, (one,))
            for place, one in enumerate((claim, other, unknown))
        ]
        await service.behind.database.write(lambda c: claims.note(c, told, service.behind.now))
        await service.take("D-1", entity="LN-1")

        async def trusted() -> frozenset[str]:
            return await service.look(lambda c: claims.trusted(c, TENANT, ["e-0", "e-1", "e-2"]))  # type: ignore[no-any-return]

        assert await trusted() == frozenset()
        await service.behind.database.write(lambda c: claims.follow(c, TENANT, "~phone:1", "B-2"))
        assert await trusted() == frozenset(), "it is somebody else's decision"
        await service.behind.database.write(lambda c: claims.follow(c, TENANT, "B-2", "B-1"))
        assert await trusted() == {"e-0"}
        page = await service.look(lambda c: claims.untraceable(c, TENANT, 10, None))
        assert [(item["event_id"], item["borrower_id"]) for item in page.items] == [("e-2", "B-1"), ("e-1", "B-1")]
        (copy,) = (await service.look(lambda c: claims.copies(c, TENANT, ["D-1"])))["D-1"]
        assert (copy["conversation_id"], copy["corrected_at"]) == ("c-0", None)


async def test_a_correction_is_done_once_the_index_knows_the_record_as_it_is(where: Where) -> None:
    async with kept(where) as service:
        await service.take("D-1")

        async def known() -> tuple[int | None, int]:
            stands = select(INDEXED.c.version).where(INDEXED.c.tenant == TENANT, INDEXED.c.borrower_id == "B-1")
            return await service.look(lambda c: c.execute(stands).scalar()), await service.behind.version("B-1")

        assert await known() == (None, 1), "nobody keeps it here"
        await service.see("v13")
        assert await known() == (2, 2)
        found = await service.look(lambda c: rows.list_corrections(c, TENANT, "done", 10, None))
        assert [row.decision_id for row in found] == ["D-1"]
        await service.decisions._means.index.corrected(TENANT, "B-1", "D-1")
        await service.decisions._means.index.corrected(TENANT, "B-nobody", "D-1")


async def test_an_index_with_a_fault_holds_up_its_own_answer_and_nobodys_report(where: Where) -> None:
    class Faulty:
        async def corrected(self, tenant: str, borrower_id: str, decision_id: str) -> None:
            raise OSError("no space left on device")

    async with kept(where) as service:
        service.decisions = Decisions(replace(service.decisions._means, index=Faulty()))
        await service.take("D-1")
        assert await service.see("v13") == 1
        (pending,) = await service.look(lambda c: rows.list_corrections(c, TENANT, "pending", 10, None))
        assert (pending.last_reason, pending.index_at) == ("index: a fault, OSError", None)
        assert pending.record_at is not None


async def test_a_rebuild_gives_the_same_records_and_versions(where: Where) -> None:
    from service.rebuild import rebuild

    async with kept(where) as service:
        await service.take("D-1")
        await service.see("v13")
        await service.take("D-2", "v13", 5)
        await service.behind.settled()
        before = await service.behind.all_rows()
        assert await service.behind.version("B-1") == 4  # taken, stale, taken, superseded
        await service.behind.stop_writing()
        found = await rebuild(
            service.behind.database, SECRETS, POLICIES, service.behind.clock, lambda done, total: None
        )
        assert (found.changed, await service.behind.all_rows()) == (0, before)


async def test_what_moves_on_while_it_is_listed_is_withheld_and_no_fault(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first look and the last; and one that should not have been found is withheld and counted."""
    async with kept(where) as service:
        listed = partial(service.decisions.listed, TENANT, "B-1", is_history=False, limit=10, before=None)
        shown = service.decisions._means.measures.shown.labels("decisions")
        await service.take("D-1")
        with monkeypatch.context() as moving:
            moving.setattr(current, "is_current", lambda *_: False)
            assert (found := await listed()) is not None
        assert (found.items, shown._value.get()) == ([], 0)
        assert [item["decision_id"] for item in (await listed()).items] == ["D-1"]  # type: ignore[union-attr]
        await service.see("v13")
        of_borrower = rows.of_borrower
        with monkeypatch.context() as broken:
            broken.setattr(current, "usable", lambda conn, tenant, found: list(found))
            broken.setattr(rows, "of_borrower", lambda *args, **own: of_borrower(*args, **own | {"active_only": False}))
            assert (found := await listed()) is not None
        assert (found.items, shown._value.get()) == ([], 1)
