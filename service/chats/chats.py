"""Open chats as the rest of the service sees them: messages in, what is open named, a summary asked for.

A chat is of one borrower, resolved as a summary's would be, provisional ids included; when a number is linked, its chats go
along. Lines are sealed: they are people's words in a table that nobody reads for anything else.

What is asked for is written a moment later, so that a read that asks does not wait (DESIGN 10).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import structlog
from sqlalchemy import Connection

from channels.chats import Line, line_of, posted_line
from channels.messages import ChatMessage
from service import naming
from service.chats import rows
from service.database import DatabaseUnavailable, Store
from service.errors import AmbiguousIdentifier, InvalidBody
from service.forget import arriving, covered
from service.intake.envelope import provisional_id
from service.policy import Policies, Policy
from service.secrets import Secrets
from statemachine.elements import WRONG_BORROWER
from statemachine.entries import (
    ConversationEnded,
    ConversationMessage,
    CycleOpened,
    Event,
    Identifier,
    IdentifierLinked,
    IdentifierUnlinked,
    Named,
)

CLOCK_TOLERANCE: Final = timedelta(minutes=5)
"""What is further ahead counts from its arrival, as everywhere (DESIGN 3)."""
MESSAGES_AT_ONCE: Final = 20
"""In one transaction: others have a turn in between."""
LINE_DIGITS: Final = 32
CONVERSATION_DIGITS: Final = 12

log = structlog.get_logger("service.chats")


@dataclass(frozen=True, slots=True)
class _Message:
    """A messenger's message on its way: who it is of, as it names them and as that was resolved, and its line."""

    message: ChatMessage
    named: str
    borrower_id: str
    line: rows.Sealed


class Chats:
    """The open chats of all tenants."""

    def __init__(self, database: Store, secrets: Secrets, policies: Policies, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._secrets = secrets
        self._policies = policies
        self._clock = clock
        self._asked: set[int] = set()
        self._asking: asyncio.Task[None] | None = None
        self.stirred = asyncio.Event()
        """Set when something may be due at once, for a sweeper in this process."""

    # -- messages in

    async def take(self, tenant: str, messages: Sequence[ChatMessage]) -> int:
        """Lines of a messenger, in any order and however often; how many were new.

        Raises `AmbiguousIdentifier` and `InvalidBody` for a message that is nobody's in particular (nothing is taken then:
        give such messages one by one), `DatabaseUnavailable`.
        """
        policy = self._policies.for_tenant(tenant)
        quiet = timedelta(minutes=policy.quiet_minutes)
        now = self._clock()
        called = [(message, *self._called(message, policy)) for message in messages]
        whose = await self._database.read(lambda conn: [self._borrower(conn, tenant, named) for _, _, named in called])
        told = [
            _Message(message, _json(who, None), borrower_id, self._sealed(line_of(message), now))
            for (message, who, _), borrower_id in zip(called, whose, strict=True)
        ]
        told.sort(key=lambda one: one.line.at)
        count = 0
        for start in range(0, len(told), MESSAGES_AT_ONCE):
            some = told[start : start + MESSAGES_AT_ONCE]
            count += await self._database.write(lambda conn, some=some: self._taken(conn, tenant, some, now, quiet))  # type: ignore[misc]
        return count

    def _taken(
        self, conn: Connection, tenant: str, messages: Sequence[_Message], now: datetime, quiet: timedelta
    ) -> int:
        """How many were new. Lines of one conversation that has an id go together."""
        chats: dict[tuple[str, str, str], rows.Told] = {}
        count = 0
        for one in messages:
            message, line = one.message, one.line
            conversation = message.conversation_id
            if conversation is None:
                conversation = self._session(conn, tenant, message, one.borrower_id, line, quiet)
                chat = rows.Told(tenant, message.channel, conversation, one.borrower_id, one.named, [line])
                count += rows.take(conn, chat, now, quiet)
                continue
            empty = rows.Told(tenant, message.channel, conversation, one.borrower_id, one.named, [])
            chats.setdefault((message.channel, conversation, one.borrower_id), empty).lines.append(line)
        count += sum(rows.take(conn, chat, now, quiet) for chat in chats.values())
        self._cover(conn, tenant, [one.borrower_id for one in messages])
        return count

    def _cover(self, conn: Connection, tenant: str, borrower_ids: Sequence[str]) -> None:
        """An old line of which the words were forgotten is read by nobody."""
        arriving.cover(conn, tenant, borrower_ids, self._secrets, (covered.chats,))

    async def told(self, tenant: str, events: Sequence[tuple[Event, str]]) -> None:
        """Events that were made durable, each with the borrower it is of: those of a chat are taken, and a link moves chats.

        The same event again changes nothing. Raises `DatabaseUnavailable`.
        """
        policy = self._policies.for_tenant(tenant)
        quiet = timedelta(minutes=policy.quiet_minutes)
        now = self._clock()
        told = self._grouped(tenant, events, now)
        linked = [pair for event, _ in events if (pair := self._linked(event, policy)) is not None]
        if linked:
            linked = await self._database.read(
                lambda conn: [(from_, to) for from_, to in linked if rows.any_of(conn, tenant, from_)]
            )
        wrong = [
            event for event, _ in events if isinstance(event, IdentifierUnlinked) and event.reason == WRONG_BORROWER
        ]
        if not told and not linked and not wrong:
            return

        def add(conn: Connection) -> None:
            for one in told:
                rows.take(conn, one, now, quiet)
            for from_, to in linked:
                rows.rehome(conn, tenant, from_, to)
            for event in wrong:
                self._give_back(conn, tenant, event, policy)
            self._cover(conn, tenant, [*(one.borrower_id for one in told), *(to for _, to in linked)])

        await self._database.write(add)

    def _grouped(self, tenant: str, events: Sequence[tuple[Event, str]], now: datetime) -> list[rows.Told]:
        """What the events tell of each chat."""
        lines: dict[tuple[str, str, str], list[rows.Sealed]] = defaultdict(list)
        ended: dict[tuple[str, str, str], datetime] = {}
        named: dict[tuple[str, str, str], str] = {}
        for event, borrower_id in events:
            if not isinstance(event, ConversationMessage | ConversationEnded):
                continue
            chat = (event.channel, event.conversation_id, borrower_id)
            named.setdefault(chat, _json(event, event.cycle_id))
            if isinstance(event, ConversationMessage):
                lines[chat].append(self._sealed(posted_line(event), now))
            else:
                at = _not_ahead(event.occurred_at, now)
                ended[chat] = max(at, ended.get(chat, at))
        return [rows.Told(tenant, *chat, named[chat], lines[chat], ended.get(chat)) for chat in sorted(named)]

    def _linked(self, event: Event, policy: Policy) -> tuple[str, str] | None:
        """Whose provisional chats are whose now."""
        if isinstance(event, CycleOpened):
            return provisional_id(self._secrets, "loan", event.loan_id), event.borrower_id
        if isinstance(event, IdentifierLinked):
            identifier = naming.identified(event.identifier, policy)
            return provisional_id(self._secrets, identifier.kind, identifier.value), event.borrower_id
        return None

    def _give_back(self, conn: Connection, tenant: str, event: IdentifierUnlinked, policy: Policy) -> None:
        """Chats that came by the number alone were never this borrower's: they are whoever's it is, now or once that is known."""
        identifier = naming.identified(event.identifier, policy)

        def is_by_number(named: Mapping[str, Any]) -> bool:
            if "borrower_id" in named or "identifier" not in named:
                return False
            try:
                return naming.identified(Identifier.model_validate(named["identifier"]), policy) == identifier
            except InvalidBody:  # one of our own numbers by now
                return False

        chats = rows.named_of(conn, tenant, event.borrower_id)
        anothers = [id_ for id_, named in chats if is_by_number(json.loads(named))]
        if anothers:
            nobody = provisional_id(self._secrets, identifier.kind, identifier.value)
            named = naming.find(conn, tenant, naming.Called(None, identifier, None), self._secrets)
            whose = named.borrower_id if named.borrower_id != event.borrower_id else None  # not unlinked yet
            rows.rehome(conn, tenant, event.borrower_id, whose or nobody, anothers)

    @staticmethod
    def _called(message: ChatMessage, policy: Policy) -> tuple[Named, naming.Called]:
        identifier = {"kind": message.identifier[0], "value": message.identifier[1]} if message.identifier else None
        who = Named.model_validate(
            {"borrower_id": message.borrower_id, "identifier": identifier, "loan_id": message.loan_id}
        )
        return who, naming.called(who.borrower_id, who.identifier, who.loan_id, policy)

    def _borrower(self, conn: Connection, tenant: str, called: naming.Called) -> str:
        named = naming.find(conn, tenant, called, self._secrets)
        if named.candidates:
            raise AmbiguousIdentifier(named.candidates)
        return named.borrower_id or named.provisional_id or ""

    def _session(
        self, conn: Connection, tenant: str, message: ChatMessage, borrower_id: str, line: rows.Sealed, quiet: timedelta
    ) -> str:
        """The conversation of a messenger that has no sessions: one that there is, else a new one, whose id says whose it is
        (hashed) and when it began."""
        at = line.at
        found = rows.conversation_at(conn, tenant, message.channel, borrower_id, line.about, at, quiet)
        if found is not None:
            return found
        of = self._secrets.keyed_hash(f"{tenant}\x1f{message.channel}\x1f{borrower_id}", "session")
        return f"{message.provider}-{of[:CONVERSATION_DIGITS]}-{at:%Y%m%dT%H%M%S}"

    # -- lines at rest

    def _sealed(self, line: Line, now: datetime) -> rows.Sealed:
        at = _not_ahead(line.at, now)
        name = self._secrets.keyed_hash("\x1f".join(line.says), "chat line")[:LINE_DIGITS]
        message = line.message_id if line.kind == "said" else line.replaces or line.message_id
        about = self._secrets.keyed_hash(f"{line.provider}\x1f{message}", "chat message")[:LINE_DIGITS]
        body = self._secrets.seal(_line_bytes(line, at))
        return rows.Sealed(name, about, at, line.speaker, line.kind != "said", body)

    def opened(self, body: bytes) -> Line:
        """A stored line. Raises `CannotOpen`."""
        return _line_from(self._secrets.open(body))

    # -- what is open

    async def open_for(self, tenant: str, borrower_id: str, reader: str, now: datetime) -> list[rows.Open]:
        """The chats of this borrower that go on or are not summarised yet, the newest first, and asks for the summary of
        those of other channels than the reader's. Raises `DatabaseUnavailable`."""
        quiet_since = now - timedelta(minutes=self._policies.for_tenant(tenant).quiet_minutes)
        found = await self._database.read(lambda conn: rows.open_of(conn, tenant, borrower_id, quiet_since))
        if found:
            self.ask(found, reader)
        return found

    def ask(self, open_chats: Iterable[rows.Open], reader: str) -> None:
        """Asks for the summary of those that are behind, for a reader of another channel; returns at once."""
        ids = {chat.id for chat in open_chats if chat.is_behind and chat.channel != reader}
        if ids <= self._asked:
            return
        self._asked |= ids
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._write_asked())

    async def _write_asked(self) -> None:
        while self._asked:
            ids, now = sorted(self._asked), self._clock()
            try:
                await self._database.write(lambda conn, ids=ids, now=now: rows.ask(conn, ids, now))  # type: ignore[misc]
            except DatabaseUnavailable:
                log.warning("chats.not_asked", chats=len(ids))  # the next read asks again
            self._asked -= set(ids)
            self.stirred.set()

    async def settle(self) -> None:
        """Until what was asked for is written."""
        if self._asking is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._asking


def _not_ahead(at: datetime, now: datetime) -> datetime:
    return now if at > now + CLOCK_TOLERANCE else at


def _json(who: Named, cycle_id: str | None) -> str:
    identifier = {"kind": who.identifier.kind, "value": who.identifier.value} if who.identifier else None
    told = {"borrower_id": who.borrower_id, "identifier": identifier, "loan_id": who.loan_id, "cycle_id": cycle_id}
    return json.dumps({name: value for name, value in told.items() if value is not None}, sort_keys=True)


def _line_bytes(line: Line, at: datetime) -> bytes:
    fields: dict[str, Any] = {name: getattr(line, name) for name in line.__dataclass_fields__}
    fields |= {"at": at.isoformat(), "tools": list(line.tools)}
    fields["observed_at"] = line.observed_at.isoformat() if line.observed_at else None
    fields["due_date"] = line.due_date.isoformat() if line.due_date else None
    return json.dumps({name: value for name, value in fields.items() if value not in (None, [])}).encode()


def _line_from(raw: bytes) -> Line:
    fields: Mapping[str, Any] = json.loads(raw)
    given = dict(fields)
    given["at"] = datetime.fromisoformat(given["at"]).astimezone(UTC)
    given["tools"] = tuple(given.get("tools", ()))
    if given.get("observed_at"):
        given["observed_at"] = datetime.fromisoformat(given["observed_at"])
    if given.get("due_date"):
        given["due_date"] = date.fromisoformat(given["due_date"])
    return Line(**given)
