"""The sweeper: takes chats that are due, has them summarised, and posts each summary as a revision, once.

For each chat, by steps that bear their numbers below:

    1 claim    the row's fence is raised under a lease: one sweeper has the chat, whatever number of them run
    2 look     its lines, the borrower's zone and memory, and what the journal has of this conversation already
    3 decide   a summary that was decided upon before a crash is posted as it is; what the channel has summarised itself is
               left at that; else the summariser makes one
    4 prepare  the summary is stored, sealed, under the fence; whoever has lost the chat stops here
    5 post     through intake, like anybody's summary; the same again is a repeat, a revision that is taken leads to the next
    6 finish   what it covers is noted under the fence; lines that came meanwhile make the chat due again

A crash anywhere leaves a lease that runs out, and nothing lost: lines, claim and decision are rows. A world that is not ready
is tried again later, with the reason listed; a model that is not ready holds nothing up: the rules' summary is posted, and the
model is asked again for a better revision.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog
from sqlalchemy import Connection

from channels import CHANNELS
from channels.chats import Said, said_in
from service import records
from service.chats import claims
from service.chats.claims import Claimed, Stored
from service.chats.revising import is_alive, is_ours, is_told_already
from service.chats.summary import Look, summary_from, summary_of
from service.chats.withdrawn import Withdrawn, promises_withdrawn, withdrawn_from
from service.database import DatabaseUnavailable
from service.errors import IdConflict, Problem, Unavailable
from service.intake import envelope
from service.intake.receive import receive
from service.metrics import Counter
from service.narrative import narrative, previous_step
from service.secrets import CannotOpen
from service.summariser import Summarised, Summariser
from statemachine.entries import Summary
from statemachine.record import UnreadableRecord

if TYPE_CHECKING:
    from service.wiring import Parts

POLL_SECONDS: Final = 1.0
LEASE_SECONDS: Final = 15
"""Renewed while a chat is in hand, however long a model takes; so long a chat waits for one who is gone."""
RENEW_SECONDS: Final = 5.0
CHATS_AT_ONCE: Final = 8
AGAIN_SECONDS: Final = (5.0, 30.0, 120.0, 600.0, 3_600.0)
MODEL_TRIES: Final = 4
"""So often a model that is not ready is asked for a better revision; then the rules' summary stands."""
REVISIONS_TRIED: Final = 5
PURGE_EVERY_SECONDS: Final = 3_600.0
PURGES: Final = 500
"""Of so many chats each, for one tenant."""

log = structlog.get_logger("service.sweeper")


@dataclass(frozen=True, slots=True)
class Source:
    """As whom the sweeper posts: the service itself, for a tenant."""

    parts: Parts
    tenant: str


class Sweeper:
    """One of any number of sweepers. `run` it and `stop` it, or `sweep` once."""

    def __init__(self, parts: Parts, summariser: Summariser, owner: str) -> None:
        self._parts = parts
        self._summariser = summariser
        self._owner = owner
        self._stopping = asyncio.Event()
        self._purged_at = 0.0
        self._troubled = ""
        self._made = Counter(
            "borrower_memory_chats_summarised", "Summaries of chats by who made them", ["by"], registry=parts.registry
        )
        self._failed = Counter(
            "borrower_memory_chats_failed", "Chats that could not be summarised, by reason", ["reason"],
            registry=parts.registry,
        )  # fmt: skip

    # -- running

    async def run(self) -> None:
        """Until `stop`."""
        stirred = self._parts.chats.stirred
        while not self._stopping.is_set():
            stirred.clear()
            try:
                taken = await self.sweep()
                await self._purge()
                self._parts.retention.stir()
                self._troubled = ""
            except DatabaseUnavailable as why:
                self._troubled, taken = "waits for the database", 0
                log.warning("sweeper.waits", why=type(why).__name__)
            except Exception as fault:  # noqa: BLE001 (a fault of ours must be seen, and not end what all chats wait for)
                self._troubled, taken = f"a fault: {type(fault).__name__}", 0
                log.error("sweeper.fault", fault=type(fault).__name__)
            if taken == CHATS_AT_ONCE:
                continue  # there may be more
            waiting = [asyncio.ensure_future(event.wait()) for event in (stirred, self._stopping)]
            await asyncio.wait(waiting, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for one in waiting:
                one.cancel()
        await self._parts.retention.settle()

    async def stop(self) -> None:
        """Ends after the chats in hand."""
        self._stopping.set()

    def health(self) -> str:
        return self._troubled or "ok"

    async def sweep(self) -> int:
        """Summarises what is due, at most `CHATS_AT_ONCE` chats; how many were taken. Raises `DatabaseUnavailable`."""
        lease = timedelta(seconds=LEASE_SECONDS)
        now = self._parts.clock()
        database = self._parts.database
        taken = await database.write(lambda c: claims.claim(c, self._owner, now, lease, CHATS_AT_ONCE))  # 1
        if taken:
            renewing = asyncio.create_task(self._renew(taken))
            try:
                await asyncio.gather(*(self._one(mine) for mine in taken))
            finally:
                renewing.cancel()
        return len(taken)

    async def _renew(self, taken: Sequence[Claimed]) -> None:
        """Keeps what is in hand; what is finished, or somebody else's by now, is not touched."""
        while not self._stopping.is_set():
            await asyncio.sleep(RENEW_SECONDS)
            until = self._parts.clock() + timedelta(seconds=LEASE_SECONDS)
            try:
                await self._parts.database.write(lambda c, until=until: claims.renew(c, taken, until))  # type: ignore[misc]
            except DatabaseUnavailable:
                log.warning("leases.not_renewed", chats=len(taken))

    async def _one(self, mine: Claimed) -> None:
        """What fails is noted with its reason, and tried again; the database itself is told by the next sweep."""
        try:
            await self._summarise(mine)
        except Unavailable:
            await self._failing(mine, "unavailable")
        except DatabaseUnavailable:
            log.warning("chat.left", chat=mine.id, tenant=mine.tenant)  # the lease runs out
        except Problem as problem:
            await self._failing(mine, problem.code)
        except (CannotOpen, UnreadableRecord) as why:
            await self._failing(mine, "unreadable")
            log.error("chat.unreadable", chat=mine.id, tenant=mine.tenant, fault=type(why).__name__)
        except Exception as fault:  # noqa: BLE001 (one chat's fault of ours must not stop the others, and is listed)
            await self._failing(mine, "fault")
            log.error("chat.fault", chat=mine.id, tenant=mine.tenant, fault=type(fault).__name__)

    async def _failing(self, mine: Claimed, reason: str) -> None:
        self._failed.labels(reason).inc()

        def note(conn: Connection) -> bool:
            stored = claims.stored(conn, mine.tenant, mine.id)
            tries = stored.tries if stored else 0
            return claims.fail(conn, mine, reason, self._parts.clock() + _backoff(tries))

        try:
            await self._parts.database.write(note)
        except DatabaseUnavailable:
            log.warning("chat.left", chat=mine.id, tenant=mine.tenant)
            return
        log.warning("chat.failed", chat=mine.id, tenant=mine.tenant, reason=reason)

    # -- one chat

    async def _summarise(self, mine: Claimed) -> None:
        look = await self.look(mine)  # 2
        if look is None:
            return
        chat = look.chat
        if chat.prepared is not None and chat.prepared_changes is not None:  # 3
            body = summary_from(self._parts.secrets.open(chat.prepared))
            await self._post(mine, look, body, chat.prepared_changes, None)
            return
        if look.is_covered:
            await self._finish(mine, chat.changes, look.revision, None, chat)
            return
        said = said_in(look.lines)
        if not said and look.revision == 0:
            await self._finish(mine, chat.changes, 0, None, chat)
            return
        made = await self.made(look, said)
        made, withdrawn = await self._anew(mine.tenant, look, said, made)
        await self._post(mine, look, summary_of(look, said, made, withdrawn), chat.changes, made)

    async def look(self, mine: Claimed) -> Look | None:
        """2: in one read. None for a chat that is gone."""
        parts, now = self._parts, self._parts.clock()
        policy = parts.policies.for_tenant(mine.tenant)

        def read(conn: Connection) -> tuple[records.Stored | None, Look] | None:
            chat = claims.stored(conn, mine.tenant, mine.id)
            if chat is None:
                return None
            borrower_id = records.resolve_id(conn, mine.tenant, chat.borrower_id)
            zone = records.time_zone_of(conn, mine.tenant, borrower_id) or policy.time_zone
            revision, until = claims.newest_revision(conn, mine.tenant, chat)
            theirs = until if revision > chat.revision else None
            look = Look(chat, zone, None, max(revision, chat.revision), theirs, ())
            return records.stored(conn, mine.tenant, borrower_id), look

        found = await parts.database.read_slow(read)
        if found is None:
            return None
        record, look = found
        memory = parts.reader.known(mine.tenant, record, policy, now) if record is not None else None
        return replace(look, memory=memory, lines=[parts.chats.opened(body) for body in look.chat.lines])

    async def made(self, look: Look, said: Sequence[Said]) -> Summarised:
        """3: what the summariser makes of it."""
        chat = look.chat
        policy = self._parts.policies.for_tenant(chat.tenant)
        now = self._parts.clock()
        handed_out: list[str] = []
        if look.memory is not None:
            cycle = look.memory.cycle_for(None, policy, now)
            state = look.memory.state
            handed_out = [narrative(state, cycle, now=now).text, previous_step(state, cycle, now=now)]
        return await self._summariser.summarise(
            said, CHANNELS[chat.channel], ended_at=look.ended_at, zone=look.zone, handed_out=handed_out
        )

    async def _anew(
        self, tenant: str, look: Look, said: Sequence[Said], made: Summarised
    ) -> tuple[Summarised, Withdrawn]:
        """3: without a promise that an earlier summary told, and the earlier ones of ours of which words were taken back."""
        chat, draft = look.chat, made.draft
        if not look.revision:
            return made, Withdrawn()
        told = await self._parts.database.read_slow(lambda conn: claims.told(conn, tenant, chat))
        ours = [report for report in told if is_ours(report[1])]
        withdrawn = Withdrawn()
        if any(line.kind != "said" for line in look.lines):
            is_all = len(look.lines) < claims.LINES_READ
            since = None if is_all else min(line.at for line in look.lines)
            withdrawn = withdrawn_from(ours, said, made.turns, since=since)
        at, state = draft.promised_at, look.memory.state if look.memory is not None else None
        if draft.commitment is None or at is None or state is None:
            return made, withdrawn
        conversation = (chat.channel, chat.conversation_id)
        alive = is_alive(state, conversation, json.loads(chat.named), at, look.ended_at)
        if is_told_already(at, told, promises_withdrawn(ours, withdrawn), alive=alive):
            made = replace(made, draft=replace(draft, commitment=None, promised_at=None))
        return made, withdrawn

    async def previews(self, tenant: str | None, most: int) -> AsyncIterator[dict[str, Any]]:
        """What would be posted of each chat that is behind, over or not; nothing is claimed, stored or posted."""
        for one in await self._parts.database.read_slow(lambda c: claims.with_lines(c, tenant, most)):
            look = await self.look(one)
            if look is None:
                continue
            said = said_in(look.lines)
            made = await self.made(look, said)
            made, withdrawn = await self._anew(one.tenant, look, said, made)
            shown: dict[str, Any] = {"tenant": one.tenant, "borrower_id": look.chat.borrower_id, "by": made.by}
            shown |= {"model_failed": made.failed, "rule_broken": made.refused, "covered": look.is_covered}
            body = json.loads(envelope.body_bytes(summary_of(look, said, made, withdrawn)))
            yield shown | {"summary": body}

    async def _post(self, mine: Claimed, look: Look, body: Summary, changes: int, made: Summarised | None) -> None:
        """4 and 5, with the next revision when somebody else has taken this one. What was `made` before is stored already."""
        is_stored = made is None
        for _ in range(REVISIONS_TRIED):
            if not is_stored:
                sealed = self._parts.secrets.seal(envelope.body_bytes(body))
                prepared = await self._parts.database.write(lambda c, s=sealed: claims.prepare(c, mine, s, changes))  # type: ignore[misc]
                if not prepared:
                    log.info("chat.lost", chat=mine.id, tenant=mine.tenant)
                    return
            (result,) = await receive(Source(self._parts, mine.tenant), [(body, ())])
            if result.problem is None:
                await self._finish(mine, changes, body.revision, made, look.chat)
                return
            if not isinstance(result.problem, IdConflict):
                raise result.problem
            is_stored = False
            body = body.model_copy(update={"revision": body.revision + 1})
        raise Unavailable

    async def _finish(self, mine: Claimed, changes: int, revision: int, made: Summarised | None, chat: Stored) -> None:
        """6."""
        now = self._parts.clock()
        policy = self._parts.policies.for_tenant(mine.tenant)
        failed = made.failed if made is not None else None
        tries = chat.tries + 1 if failed else 0
        again = now + _backoff(tries) if failed and tries < MODEL_TRIES else None
        quiet = timedelta(minutes=policy.quiet_minutes)
        reason = failed or (made.refused if made is not None else None)

        def note(conn: Connection) -> bool:
            return claims.finish(
                conn, mine, changes=changes, revision=revision, now=now, quiet=quiet, tries=tries, reason=reason,
                again_at=again,
            )  # fmt: skip

        if await self._parts.database.write(note) and made is not None:
            self._made.labels(made.by).inc()
            log.info("chat.summarised", chat=mine.id, tenant=mine.tenant, by=made.by, revision=revision, why=reason)

    # -- what is old

    async def _purge(self) -> None:
        """Lines are kept as long as turns are (policy)."""
        now = asyncio.get_running_loop().time()
        if self._purged_at and now - self._purged_at < PURGE_EVERY_SECONDS:
            return
        self._purged_at = now
        database, policies = self._parts.database, self._parts.policies
        for tenant in await database.read_slow(claims.tenants):
            before = self._parts.clock() - timedelta(days=policies.for_tenant(tenant).retention.turns)
            for _ in range(PURGES):
                if not await database.write(lambda c, t=tenant, b=before: claims.purge(c, t, b)):  # type: ignore[misc]
                    break


def _backoff(tries: int) -> timedelta:
    return timedelta(seconds=AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)])
