"""The proposer: takes up what is wanted, asks the model, and stores what it answered.

For each want, by steps that bear their numbers below:

    1 claim    under a lease, the newest first, never more than may be asked at once
    2 look     the record as it is; a borrower who may not be handed out, or of whom a current proposal is there, is left
    3 ask      the model, with its deadline; given up as soon as the want is out of date
    4 read     strictly; an answer that could be read in two ways is stored as unreadable, with the way
    5 keep     answer or failure with all that it rests on, if the record still is what was read

A crash leaves a lease that runs out. A model that fails is asked again a few times, later and later, then no more until the
record changes or a read asks. Whether an answer is any good, the floor says when it is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection

from channels import CHANNELS
from channels.classifier import explained
from service import records
from service.database import DatabaseUnavailable, Store
from service.metrics import Counter, Gauge, Histogram
from service.models.asking import Model, ModelFailed
from service.narrative import narrative
from service.policy import Policies
from service.proposer import prompts, rows
from service.proposer.proposals import Proposals
from service.proposer.rows import Answered, Claimed, Key
from service.reading import Reader
from service.resuming.start import standing_of
from service.secrets import Secrets
from statemachine.journey import after_identity
from statemachine.record import UnreadableRecord

CALLS_AT_ONCE: Final = 16
SECONDS: Final = 5.0
"""For one answer; less than a lease lasts. Hardly anybody waits for it, but the calls at once are few."""
REST_SECONDS: Final = 5.0
"""Of a model that fails; then one call tries."""
POLL_SECONDS: Final = 0.25
FAILURES_BEFORE_CARE: Final = 5
CAREFULLY_AT_ONCE: Final = 4
"""Of a model that fails again and again so many are taken up at each look, the newest: to find out of thousands that it still
fails would cost those who read."""
TRIES: Final = 3
AGAIN_SECONDS: Final = (20.0, 120.0)
WANTED_MINUTES: Final = 30
"""What has waited so long is dropped; a read asks again."""
KEPT_DAYS: Final = 7
PURGE_EVERY_SECONDS: Final = 600.0
PURGES: Final = 100

log = structlog.get_logger("service.proposer")


@dataclass(frozen=True, slots=True)
class Look:
    """2: what is asked about, and until when an answer can hold."""

    version: int
    position: str
    briefing: str
    expires_at: datetime


class Proposer:
    """One of any number of proposers. `run` it and `stop` it, or `propose` once. Without a model it only clears up."""

    def __init__(
        self,
        database: Store,
        policies: Policies,
        secrets: Secrets,
        reader: Reader,
        clock: Callable[[], datetime],
        proposals: Proposals,
        model: Model | None,
        registry: CollectorRegistry,
    ) -> None:
        self._database = database
        self._policies = policies
        self._secrets = secrets
        self._reader = reader
        self._clock = clock
        self._proposals = proposals
        self._model = model
        self._going: dict[asyncio.Task[None], Claimed] = {}
        self._stopping = asyncio.Event()
        self._purged_at: float | None = None
        self._failed_in_a_row = 0
        self._looked_at = 0.0
        self._troubled = ""
        self._became = Counter(
            "borrower_memory_proposals", "What came of asking a model where to start",
            ["channel", "outcome"], registry=registry,
        )  # fmt: skip
        self._seconds = Histogram("borrower_memory_proposal_seconds", "Time of a model's answer", registry=registry)
        asking = Gauge("borrower_memory_proposals_asking", "Questions to a model on their way", registry=registry)
        asking.set_function(lambda: float(len(self._going)))

    # -- running

    async def run(self) -> None:
        """Until `stop`."""
        while not self._stopping.is_set():
            self._proposals.stirred.clear()
            try:
                await self._turn()
                self._troubled = ""
            except DatabaseUnavailable as why:
                self._troubled = "waits for the database"
                log.warning("proposer.waits", why=type(why).__name__)
            except Exception as fault:  # noqa: BLE001 (a fault of ours must be seen, and not end what all wait for)
                self._troubled = f"a fault: {type(fault).__name__}"
                log.error("proposer.fault", fault=type(fault).__name__)
            waiting = [asyncio.ensure_future(event.wait()) for event in (self._proposals.stirred, self._stopping)]
            is_full = len(self._going) >= CALLS_AT_ONCE
            others = list(self._going) if is_full else []  # else the turn after a poll is soon enough
            await asyncio.wait([*waiting, *others], timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for one in waiting:
                one.cancel()
        await self._end()

    async def stop(self) -> None:
        """Gives up what is in hand: it is only a proposal, and is wanted still."""
        self._stopping.set()

    def health(self) -> str:
        return self._troubled or "ok"

    async def propose(self) -> int:
        """Asks about what is due, and waits for the answers; how many were asked about."""
        taken = await self.take_up()
        if self._going:
            await asyncio.wait(list(self._going))
        return taken

    async def _turn(self) -> None:
        await self._give_up_superseded()
        now = asyncio.get_running_loop().time()
        if self._failed_in_a_row < FAILURES_BEFORE_CARE:
            await self.take_up()
        elif now - self._looked_at >= POLL_SECONDS:
            self._looked_at = now
            await self.take_up(CAREFULLY_AT_ONCE)
        await self._purge()

    async def take_up(self, most: int = CALLS_AT_ONCE) -> int:
        """1: begins to ask about what is due, as far as there is room; how many."""
        room = min(most, CALLS_AT_ONCE - len(self._going))
        now = self._clock()
        if self._model is None or room <= 0 or not await self._database.read(lambda c: rows.is_any_due(c, now)):
            return 0
        taken = await self._database.write(lambda c: rows.claim(c, now, room))
        for mine in taken:
            task = asyncio.create_task(self._one(mine, self._model))
            self._going[task] = mine
            task.add_done_callback(self._ended)
        return len(taken)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._going.pop(task, None)

    async def _give_up_superseded(self) -> None:
        if not self._going:
            return
        going = list(self._going.values())
        late = await self._database.read(lambda c: rows.superseded(c, going))
        for task, mine in list(self._going.items()):
            if mine in late:
                task.cancel()

    async def _end(self) -> None:
        """What is in hand is given up, and wanted still."""
        going = dict(self._going)
        for task in going:
            task.cancel()
        if not going:
            return
        await asyncio.wait(list(going))
        now = self._clock()

        def let_go(connection: Connection) -> None:
            for mine in going.values():
                rows.give_back(connection, mine, now, mine.tries)

        try:
            await self._database.write(let_go)
        except DatabaseUnavailable:
            log.warning("proposals.left", proposals=len(going))  # the leases run out

    # -- one want

    async def _one(self, mine: Claimed, model: Model) -> None:
        """What fails is noted, and tried again; the database itself is told by the next turn."""
        try:
            await self._propose(mine, model)
        except asyncio.CancelledError:
            self._became.labels(mine.key.channel, "given_up" if self._stopping.is_set() else "superseded").inc()
        except DatabaseUnavailable:
            log.warning("proposal.left", channel=mine.key.channel, tenant=mine.key.tenant)  # the lease runs out
        except Exception as fault:  # noqa: BLE001 (one borrower's fault must not stop the others, and is counted)
            self._became.labels(mine.key.channel, "fault").inc()
            kind = "unreadable record" if isinstance(fault, UnreadableRecord) else type(fault).__name__
            log.error("proposal.fault", channel=mine.key.channel, tenant=mine.key.tenant, fault=kind)
            await self._leave(mine)

    async def _leave(self, mine: Claimed) -> None:
        """It is tried again later, a few times."""
        again = self._again(mine)

        def note(connection: Connection) -> None:
            if again is None:
                rows.finish(connection, mine)
            else:
                rows.give_back(connection, mine, again, mine.tries + 1)

        try:
            await self._database.write(note)
        except DatabaseUnavailable:
            log.warning("proposal.left", channel=mine.key.channel, tenant=mine.key.tenant)

    def _again(self, mine: Claimed) -> datetime | None:
        """When what has failed is tried again, if it is."""
        if mine.tries + 1 >= TRIES:
            return None
        return self._clock() + timedelta(seconds=AGAIN_SECONDS[min(mine.tries, len(AGAIN_SECONDS) - 1)])

    async def _propose(self, mine: Claimed, model: Model) -> None:
        key = mine.key
        look = await self._look(key)  # 2
        if look is None:
            await self._database.write(lambda c: rows.finish(c, mine))
            return
        asked_at, began = self._clock(), time.perf_counter()
        content, failure = "", None
        try:  # 3
            asked = prompts.messages(key.channel, look.position, look.briefing)
            content = await model.complete(asked, seconds=SECONDS, tokens=prompts.TOKENS)
        except ModelFailed as failed:
            failure = failed.reason
        took = time.perf_counter() - began
        state, why = explained(content) if failure is None else (None, None)  # 4
        self._failed_in_a_row = self._failed_in_a_row + 1 if failure is not None else 0
        if why is not None:
            failure = "unreadable"
        answered = Answered(
            record_version=look.version,
            flow_version=CHANNELS[key.channel].flow.version,
            prompt_hash=self._proposals.prompt_hash(key.channel),
            model=model.name,
            proposed=state,
            failure=failure,
            why=why,
            asked_at=asked_at,
            latency_ms=round(took * 1000),
            raw=self._secrets.seal(content.encode("utf-8", "replace")) if content else None,
            expires_at=look.expires_at,
        )
        again = self._again(mine) if failure in ("timeout", "unavailable") else None
        kept = await self._database.write(lambda c: rows.keep(c, mine, answered, again))  # 5
        outcome = (failure or "proposed") if kept else "superseded"
        self._became.labels(key.channel, outcome).inc()
        self._seconds.observe(took)
        level = log.info if failure is None else log.warning
        level(
            "proposal", channel=key.channel, tenant=key.tenant, outcome=outcome, why=why, latency_ms=answered.latency_ms
        )
        await self._proposals.look()

    async def _look(self, key: Key) -> Look | None:
        """None when nothing is to be asked."""
        policy, now = self._policies.for_tenant(key.tenant), self._clock()
        if policy.mode_for(key.channel, key.borrower_id) == "disabled":
            return None

        def read(connection: Connection) -> tuple[records.Stored | None, rows.Stored | None]:
            return records.stored(connection, key.tenant, key.borrower_id), rows.find(connection, key)

        stored, there = await self._database.read(read)
        if stored is None or stored.borrower_id != key.borrower_id:
            return None
        if there is not None and self._proposals.is_settled(there, key.channel, stored.version, now):
            return None
        known = self._reader.known(key.tenant, stored, policy, now)
        cycle = known.cycle_for(key.loan_id or None, policy, now)
        if (cycle.loan_id or "") != key.loan_id:
            return None  # another loan's cycle is the current one by now
        gist = self._reader.gist(key.tenant, stored, key.loan_id or None, policy, now)
        standing = standing_of(gist, key.channel, identity_holds=True, outbound=False)
        until = now + timedelta(days=KEPT_DAYS)
        return Look(
            version=stored.version,
            position=after_identity(CHANNELS[key.channel].flow, standing).name,
            briefing=narrative(known.state, cycle, now=now).text,
            expires_at=until if gist.until is None else min(until, gist.until),
        )

    # -- what is old

    async def _purge(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._purged_at is not None and now - self._purged_at < PURGE_EVERY_SECONDS:
            return
        self._purged_at = now
        at = self._clock()
        since = at - timedelta(minutes=WANTED_MINUTES)
        for _ in range(PURGES):
            if not await self._database.write(lambda c: rows.purge(c, at, since)):
                break
