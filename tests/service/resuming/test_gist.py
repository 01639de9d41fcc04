"""A gist that is kept says what would be said now, or it is not used; and without any gist the answers are the same."""

from __future__ import annotations

import ast
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from service.keeper import Keeper
from service.policy import Policy
from service.rebuild import rebuild
from service.resuming import gists
from service.resuming.gist import Gist, basis_of, from_bytes, gist_of, made_by
from service.resuming.gists import Gists, Glimpse
from service.sqlite import SqliteDatabase
from statemachine.merge import merge
from statemachine.state import BorrowerState, derive
from tests.examples import often
from tests.service.api import Api, api
from tests.service.embedded import POLICIES, SECRETS, TENANT, Embedded, embedded, hours, linked, promise, summary
from tests.statemachine.histories import NOON, empty, hasher, histories

POLICY = Policy()
ROOT = Path(__file__).parents[3]
MOMENT = timedelta(microseconds=1)


def gist(state: BorrowerState, policy: Policy = POLICY) -> Gist:
    return gist_of(state, state.cycle_of(None), policy)


@settings(max_examples=often(150), deadline=None)
@given(history=histories, early=st.integers(0, 600), later=st.integers(1, 2_000))
def test_it_stays_what_would_be_made_until_the_time_that_it_names(history: list, early: int, later: int) -> None:  # type: ignore[type-arg]
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    now = NOON + timedelta(hours=early)
    made = gist(derive(record, now, POLICY))
    last = now + timedelta(hours=later)
    if made.until is not None:
        last = min(last, made.until - MOMENT)
    for then in (now + (last - now) / 2, last):
        assert gist(derive(record, then, POLICY)) == made
    assert from_bytes(made.to_bytes()) == made


def test_it_holds_for_its_policy_its_code_its_time_and_its_loan() -> None:
    record = empty()
    made = msgspec.structs.replace(gist(derive(record, NOON, POLICY)), until=NOON + timedelta(hours=1), loan_id="LN-1")
    basis, later = basis_of(POLICY), NOON + timedelta(hours=1)
    assert made.holds(basis, NOON, None)
    assert made.holds(basis, later - MOMENT, "LN-1")
    assert not made.holds(basis, later, None)
    assert not made.holds(basis, NOON, "LN-2")
    assert not made.holds(basis_of(Policy(identity_days=7)), NOON, None)
    assert not made.holds(basis.replace(basis[0], "x", 1), NOON, None)


SAY_NOTHING = {"service/errors.py", "service/settings.py"}
"""Imported by what makes a gist, and with no part in one: refusals of bodies, and how a process is started."""


def test_no_gist_outlives_any_code_that_made_it() -> None:
    made, waiting = set(), ["service.resuming.gist"]
    while waiting:
        if (file := _file_of(waiting.pop())) is None or file in made:
            continue
        made.add(file)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    packages = {ROOT / name / "__init__.py" for name in ("service", "service/resuming")}
    named = {*made_by(), *packages, *(ROOT / name for name in SAY_NOTHING)}
    assert {str(file.relative_to(ROOT)) for file in made - named} == set()
    assert ROOT / "service/strictjson.py" in made, "by which every piece is written"


def _file_of(module: str) -> Path | None:
    place = ROOT / module.replace(".", "/")
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.exists()), None)


def test_bytes_of_another_form_are_no_gist() -> None:
    assert from_bytes(b"") is None
    assert from_bytes(msgspec.msgpack.encode(["x", None, "LN-1"])) is None


async def glimpsed(e: Embedded, borrower_id: str) -> Glimpse | None:
    return await e.look(gists.glimpse, borrower_id)  # type: ignore[no-any-return]


async def test_what_is_saved_gets_its_gist_a_moment_later(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, Gists(POLICIES))
        e.write(saved=keeper.saved)
        await e.post_to("B-1", promise("c-1"), promise("c-2", at=hours(1)))
        await keeper.flush()
        kept = await glimpsed(e, "B-1")
        assert kept is not None
        assert (kept.version, from_bytes(kept.gist)) == (2, gist(await e.state("B-1")))


async def test_one_of_an_older_version_is_not_found(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, Gists(POLICIES))
        e.write(saved=keeper.saved)
        await e.post_to("B-1", promise())
        await keeper.flush()
        await e.stop_writing()
        e.write()  # keeps none
        await e.post_to("B-1", summary("c-2", at=hours(1)))
        assert await glimpsed(e, "B-1") is None


async def test_who_turned_out_to_be_somebody_has_none(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, Gists(POLICIES))
        e.write(saved=keeper.saved)
        by_number = {"identifier": {"kind": "phone", "value": "+919000000001"}}
        await e.post(promise(**by_number))
        await keeper.flush()
        provisional, _ = await e.whose(promise(**by_number))
        assert await glimpsed(e, provisional) is not None
        await e.post(linked("e-1"))
        await e.settled()
        await keeper.flush()
        assert await glimpsed(e, provisional) is None
        assert await glimpsed(e, "B-1") is not None


async def test_a_rebuild_leaves_none(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, Gists(POLICIES))
        e.write(saved=keeper.saved)
        await e.post_to("B-1", promise())
        await keeper.flush()
    database = await SqliteDatabase.open(tmp_path / "memory.db", serving=True)
    await rebuild(database, SECRETS, POLICIES, lambda: hours(24), lambda done, total: None)
    await database.close()
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        assert await glimpsed(e, "B-1") is None


# -- as callers see it ---------------------------------------------------------------------------------------------------------


async def keep(service: Api, borrower: str, loan: bytes | None = None) -> Gist:
    """Keeps the gist of a borrower as it is now; with a loan's id to know it by."""
    policy = service.parts.policies.for_tenant(TENANT)
    version = await service.behind.version(borrower)
    record = await service.behind.record(borrower)
    made = gist_of((state := derive(record, service.now, policy)), state.cycle_of(None), policy)
    if loan is not None:
        made = msgspec.structs.replace(made, who=made.who.replace(b'"loan_id":null', b'"loan_id":"%s"' % loan))
    row = (TENANT, borrower, version, made.to_bytes())
    await service.behind.database.write(lambda c: gists.keep(c, [row]))
    return made


ASKED = [
    {"channel": channel, "direction": direction, **own}
    for channel in ("voice", "whatsapp")
    for direction in ("inbound", "outbound")
    for own in ({}, {"proposal": {"state": "payment_link"}}, {"loan_id": "LN-404"})
]


async def test_answers_are_the_same_with_and_without_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await service.known()
        due = {"due_date": service.day(9), "amount_due": "12500", "currency": "INR"}
        await service.event("cycle.opened", borrower, cycle_id="CY", loan_id="LN-1", hours=100, **due)
        payment = {"payment_ref": "P-1", "amount": "2000", "currency": "INR"}
        await service.told(borrower, hours=30, commitment=service.promise("confirmed"), summary="She asked for time.")
        await service.event("payment.confirmed", borrower, hours=20, **payment)
        await service.event("hold.placed", borrower, kind="other", reason="asked", until=service.ago(hours=-9))
        await service.event("conversation.started", borrower, hours=0.1, channel="whatsapp", conversation_id="c-9")
        who: list[dict[str, object]] = [{"borrower_id": borrower}, {"identifier": phone}]
        questions = [asked | w for asked in ASKED for w in who]
        before = [(await service.post("/v1/resume", question)).document for question in questions]
        assert {a["found"] for a in before} == {True}
        assert {len(a["open_conversations"]) for a in before} == {1}
        await keep(service, borrower)
        after = [(await service.post("/v1/resume", question)).document for question in questions]
        for one, other in zip(before, after, strict=True):
            assert one | {"resume_id": ""} == other | {"resume_id": ""}


async def test_it_is_told_while_it_holds_and_no_longer(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await service.known()

        async def loan() -> object:
            return (await service.resume(identifier=phone))["loan_id"]

        made = await keep(service, borrower, loan=b"MARK")
        assert await loan() == "MARK"
        assert made.until is not None
        service.behind.now = made.until - MOMENT
        assert await loan() == "MARK"
        service.behind.now = made.until  # the verification has lapsed
        assert await loan() is None
        service.behind.now = datetime.fromisoformat(service.ago(days=1))
        assert await loan() == "MARK"
        await service.told(borrower)
        assert await loan() is None
