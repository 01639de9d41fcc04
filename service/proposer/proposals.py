"""Proposals as readers and the writer see them: what a model proposes of a record now, and that another is wanted.

A read is answered at once from what is stored. Where nothing current is, it is noted that a proposal is wanted, a moment later
and once for each version of a record, so that no read waits for it. Only who opted to (`wait`) waits, for others to ask: no
model is asked here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog
from sqlalchemy import Connection

from channels import CHANNELS
from service.database import DatabaseUnavailable, Store
from service.policy import Policies
from service.proposer import rows
from service.proposer.prompts import hash_of
from service.proposer.rows import Key, Stored
from service.resuming.start import NO_MODEL, Proposed

if TYPE_CHECKING:
    from service.writer import Saved

NOTE_SECONDS: Final = 0.02  # a moment, in which several changes of one record come to one want
SETTLE_SECONDS: Final = 0.15
"""How long a record that has changed is left before a model is asked about it: changes often come several at once."""
WAITING_LIMIT: Final = 5_000  # changed records; of more the oldest are asked about when they are read
WAITERS_LIMIT: Final = 1_000  # readers who wait for a model; who comes on top of them is answered at once
POLL_SECONDS: Final = 0.03  # of those that a proposer elsewhere answers
POLLED_AT_ONCE: Final = 500
NOTED_LIMIT: Final = 10_000
READS_AT_ONCE: Final = 16
"""Wants of reads in one transaction: it runs where requests are answered, and a model answers fewer in that time anyway."""
READS_PAUSE_SECONDS: Final = 0.05
READS_WAITING_LIMIT: Final = 1_000
"""Wants of reads that are not noted yet; of more the oldest are dropped, and wanted when they are read again."""
AGAIN_SECONDS: Final = 60.0
"""So long after a model has failed a read asks for another try."""

TIMEOUT: Final[Proposed] = (None, "timeout")
UNAVAILABLE: Final[Proposed] = (None, "unavailable")
_NOT_READY: Final[Proposed] = (None, "not_ready")

log = structlog.get_logger("service.proposals")


class Proposals:
    """Those of one store. `model`: the name of the model there is, if any."""

    def __init__(self, database: Store, policies: Policies, clock: Callable[[], datetime], model: str | None) -> None:
        self._database = database
        self._policies = policies
        self._clock = clock
        self._asks = {channel: hash_of(channel, model) for channel in CHANNELS} if model is not None else {}
        self.stirred = asyncio.Event()
        """Set when something is wanted, for a proposer in this process."""
        self._changed: dict[tuple[str, str], str] = {}
        """By borrower that changed, the loan of the current cycle."""
        self._wanted: dict[Key, None] = {}
        """By readers who wait."""
        self._read: dict[Key, None] = {}
        """By readers who do not, in the order of their reading."""
        self._noted: dict[Key, tuple[int, datetime]] = {}
        self._noting: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self._hurry = asyncio.Event()
        """Set when somebody waits for what is to be noted."""
        self._waiting: dict[asyncio.Future[None], tuple[Key, int, datetime]] = {}
        self._polling: asyncio.Task[None] | None = None

    @property
    def has_model(self) -> bool:
        return bool(self._asks)

    def prompt_hash(self, channel: str) -> str:
        return self._asks[channel]

    # -- reading

    async def proposed(self, key: Key, version: int, now: datetime) -> Proposed:
        """What the model proposes of this version of the record, as far as it is known by now. Raises `DatabaseUnavailable`."""
        if not self._asks:
            return NO_MODEL
        stored = await self._database.read(lambda connection: rows.find(connection, key))
        if stored is None or not self._is_current(stored, key.channel, version, now):
            self._want_of(key, version, now)
            return _NOT_READY
        if stored.failure is None:
            return stored.proposed, None
        if not _is_fresh(stored, now):
            self._want_of(key, version, now)
        return None, stored.failure

    def _is_current(self, stored: Stored, channel: str, version: int, now: datetime) -> bool:
        return (
            stored.record_version == version
            and stored.flow_version == CHANNELS[channel].flow.version
            and stored.prompt_hash == self._asks[channel]
            and now < stored.expires_at
        )

    def is_settled(self, stored: Stored, channel: str, version: int, now: datetime) -> bool:
        """Whether the model has answered what it would be asked now. It says the same again, so an answer that could not be
        read is one, for a while: what stands between may have spoilt it."""
        is_answer = stored.failure is None or (stored.failure == "unreadable" and _is_fresh(stored, now))
        return is_answer and self._is_current(stored, channel, version, now)

    # -- waiting

    async def wait(self, key: Key, version: int, seconds: float) -> bool:
        """Until the model has answered about this version of the record, or has failed since; False when it did not in time.
        Where there is no model, or too many wait, nobody waits.

        Raises `DatabaseUnavailable`.
        """
        if not self._asks or len(self._waiting) >= WAITERS_LIMIT:
            return True
        now = self._clock()
        stored = await self._database.read(lambda connection: rows.find(connection, key))
        if stored is not None and self._answers(stored, key, version, now, since=now):
            return True
        told = asyncio.get_running_loop().create_future()
        self._waiting[told] = (key, version, now)
        self._wanted[key] = None
        self._hurry.set()
        self._note_soon(0.0)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.get_running_loop().create_task(self._poll())
        try:
            async with asyncio.timeout(seconds):
                await told
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(told, None)
        return True

    def _answers(self, stored: Stored, key: Key, version: int, now: datetime, *, since: datetime) -> bool:
        """Whether it is what a reader waits for, who began to at that time: an older failure is no answer to them."""
        settled = self.is_settled(stored, key.channel, version, now)
        return settled or (self._is_current(stored, key.channel, version, now) and stored.answered_at >= since)

    async def look(self) -> None:
        """Tells those who wait what is there for them by now."""
        keys = list(dict.fromkeys(key for key, _, _ in self._waiting.values()))
        now = self._clock()
        for start in range(0, len(keys), POLLED_AT_ONCE):
            some = keys[start : start + POLLED_AT_ONCE]
            found = await self._database.read(lambda connection, some=some: rows.find_each(connection, some))  # type: ignore[misc]
            for told, (key, version, since) in list(self._waiting.items()):
                stored = found.get(key)
                if stored is not None and not told.done() and self._answers(stored, key, version, now, since=since):
                    told.set_result(None)

    async def _poll(self) -> None:
        while self._waiting:
            await asyncio.sleep(POLL_SECONDS)
            with contextlib.suppress(DatabaseUnavailable):  # it is looked again
                await self.look()

    # -- wanting

    def saved(self, saved: Sequence[Saved]) -> None:
        """These records have changed: give it to the writer."""
        if not self._asks:
            return
        for one in saved:
            whose = (one.tenant, one.borrower_id)
            self._changed.pop(whose, None)
            if one.state.redirected_to is None:
                self._changed[whose] = one.state.cycle_of(None).loan_id or ""
        while len(self._changed) > WAITING_LIMIT:
            del self._changed[next(iter(self._changed))]
        self._note_soon(NOTE_SECONDS)

    def _want_of(self, key: Key, version: int, now: datetime) -> None:
        """Notes it once for each version, however often it is read, and again when it has not helped for a while."""
        noted = self._noted.get(key)
        if noted is not None and noted[0] == version and now - noted[1] < timedelta(seconds=AGAIN_SECONDS):
            return
        self._noted.pop(key, None)
        self._noted[key] = (version, now)
        if len(self._noted) > NOTED_LIMIT:
            del self._noted[next(iter(self._noted))]
        self._read.pop(key, None)
        self._read[key] = None
        if len(self._read) > READS_WAITING_LIMIT:
            oldest = next(iter(self._read))
            del self._read[oldest]
            self._noted.pop(oldest, None)
        self._note_soon(NOTE_SECONDS)

    def _note_soon(self, seconds: float) -> None:
        if self._noting is None or self._noting.done():
            self._noting = asyncio.get_running_loop().create_task(self._note(seconds))

    async def _note(self, seconds: float) -> None:
        await self._rest(seconds)
        while self._changed or self._wanted or self._read:
            self._hurry.clear()
            await self.flush(READS_AT_ONCE)
            if self._read:
                await self._rest(READS_PAUSE_SECONDS)

    async def _rest(self, seconds: float) -> None:
        """Unless somebody waits."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()

    async def flush(self, reads: int = READS_WAITING_LIMIT) -> None:
        """Notes what is wanted, of reads so many, the newest. What the database cannot take now is not noted: the next read asks
        again."""
        async with self._flushing:  # what is on its way is noted too when this ends
            await self._flush(reads)

    async def _flush(self, reads: int) -> None:
        changed, self._changed = self._changed, {}
        wanted, self._wanted = self._wanted, {}
        for _ in range(min(reads, len(self._read))):
            wanted[self._read.popitem()[0]] = None
        keys = [
            Key(tenant, borrower_id, channel, loan_id)
            for (tenant, borrower_id), loan_id in changed.items()
            for channel in CHANNELS
            if self._policies.for_tenant(tenant).mode_for(channel, borrower_id) != "disabled"
        ]
        if not keys and not wanted:
            return
        now = self._clock()

        def note(connection: Connection) -> None:
            rows.want_changed(connection, keys, now, timedelta(seconds=SETTLE_SECONDS))
            rows.want(connection, wanted, now)

        try:
            await self._database.write(note)
        except DatabaseUnavailable:
            log.warning("proposals.not_wanted", changed=len(changed), wanted=len(wanted))
            for key in wanted:
                self._noted.pop(key, None)
            return
        self.stirred.set()

    async def close(self) -> None:
        """Notes what is still wanted; before the store closes."""
        if self._polling is not None:
            self._polling.cancel()
        await self.flush()


def _is_fresh(stored: Stored, now: datetime) -> bool:
    return now - stored.answered_at <= timedelta(seconds=AGAIN_SECONDS)
