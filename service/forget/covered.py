"""Where words of a borrower lie beside the record, the journal and the log, and how each place is cleaned.

Functions of a connection, each over one place and one id: what cannot be cleaned is taken away, what nobody would miss as well.
`PLACES` is the list; a test plants words everywhere and finds none left in any table. Each says how many texts it removed; what
is only a copy that is made again (gists, the index, proposals) counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, FromClause, or_, select, update

from service.chats.rows import CHAT, LINE, names_anybody
from service.forget.entries import FORGOTTEN
from service.hooks import bodies
from service.proposer import rows as proposals
from service.recall import index
from service.records import SET_ASIDE, is_provisional
from service.secrets import CannotOpen, Secrets
from service.tables import Claim, Decision, DecisionUse, Gist, Permit, Resume, ScreeningExample, table_of
from statemachine.forgetting import is_code, mentions
from statemachine.record import Hasher, Tombstone
from statemachine.wire import instant

RESUME, PERMIT, EXAMPLE = table_of(Resume), table_of(Permit), table_of(ScreeningExample)
DECISION, USE, CLAIM = table_of(Decision), table_of(DecisionUse), table_of(Claim)
GIST = table_of(Gist)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What is forgotten, of whom: a tombstone, and under which id words of the borrower lie."""

    tenant: str
    borrower_id: str
    tombstone: Tombstone
    secrets: Secrets
    hasher: Hasher

    def named(self, text: str | None) -> bool:
        """Whether a term stands in it."""
        return text is not None and mentions(text, self.tombstone.words, self.hasher)

    def said(self, text: str | None) -> bool:
        """Whether it is to go: free text."""
        return bool(text) and text != FORGOTTEN and (self.tombstone.everything or self.named(text))

    def label(self, text: str | None) -> bool:
        """Whether what should be a code is to go."""
        if text is None or text == FORGOTTEN:
            return False
        return self.named(text) or (self.tombstone.everything and not is_code(text))

    def whole(self, raw: bytes) -> bool:
        """Whether a text that is kept as bytes is to go as a whole."""
        return bool(raw) and (self.tombstone.everything or self.named(_texts_of(raw)))

    def of(self, table: FromClause) -> tuple[Any, ...]:
        return table.c.tenant == self.tenant, table.c.borrower_id == self.borrower_id


def _texts_of(raw: bytes) -> str:
    """The texts of a stored document, or the bytes as text when they are none."""
    told = raw.decode("utf-8", "replace")
    try:
        document = json.loads(told)
    except (ValueError, RecursionError):
        return told
    found: list[str] = []
    level: list[Any] = [document]
    while level:
        item = level.pop()
        if isinstance(item, dict):
            found += item.keys()
            level += item.values()
        elif isinstance(item, list):
            level += item
        else:
            found.append(str(item))
    return "\n".join(found)


# -- places ---------------------------------------------------------------------------------------------------------------


def chats(connection: Connection, forgetting: Forgetting) -> int:
    """Lines keep their place without their words, so that the same line told again is known. Whoever has the chat in hand has
    lost it, with the summary that was made of it."""
    removed = 0
    until = forgetting.tombstone.at
    wanted = select(CHAT.c.id, CHAT.c.named, CHAT.c.last_at).where(*forgetting.of(CHAT))
    for chat, named, last_at in connection.execute(wanted).all():
        # Who writes since is known by the number alone, while nobody knows whose it is.
        is_over = last_at <= until or not is_provisional(forgetting.borrower_id)
        unnamed = (
            _without_number(named, forgetting.borrower_id) if forgetting.tombstone.everything and is_over else named
        )
        if unnamed != named:
            to_nobody = {} if names_anybody(unnamed) else {"due_at": None, "try_at": None, "summarised": CHAT.c.changes}
            connection.execute(update(CHAT).where(CHAT.c.id == chat).values(named=unnamed, **to_nobody))
        blanked = 0
        its = (LINE.c.tenant == forgetting.tenant, LINE.c.chat == chat, LINE.c.at <= until)
        for line, body in connection.execute(select(LINE.c.line, LINE.c.body).where(*its)).all():
            blank = _without_words(body, forgetting)
            if blank is not None:
                connection.execute(update(LINE).where(*its, LINE.c.line == line).values(body=blank))
                blanked += 1
        if not blanked:
            continue
        removed += blanked
        anew = {"prepared": None, "prepared_changes": None, "fence": CHAT.c.fence + 1}
        free = {"claimed_by": None, "claimed_until": None}
        connection.execute(update(CHAT).where(CHAT.c.id == chat).values(**anew, **free))
    return removed


def _without_number(named: str, borrower_id: str) -> str:
    """Who a chat is, without the number: the borrower, and nobody where only the number told who that was."""
    who = {name: value for name, value in json.loads(named).items() if name != "identifier"}
    return json.dumps(who if is_provisional(borrower_id) else who | {"borrower_id": borrower_id}, sort_keys=True)


def _without_words(sealed: bytes, forgetting: Forgetting) -> bytes | None:
    """A chat's line without its text; None when it may stay."""
    try:
        told = json.loads(forgetting.secrets.open(sealed))
    except CannotOpen:
        return None  # nobody can read it
    if not any(forgetting.said(told.get(name)) for name in ("text", "disposition")):
        return None
    blank = {name: value for name, value in told.items() if name != "disposition"} | {"text": ""}
    return forgetting.secrets.seal(json.dumps(blank).encode())


def set_aside(connection: Connection, forgetting: Forgetting) -> int:
    """What was set aside is refused, without what came."""
    columns = (SET_ASIDE.c.id, SET_ASIDE.c.kind, SET_ASIDE.c.value, SET_ASIDE.c.received_at)
    rows = connection.execute(select(*columns).where(*forgetting.of(SET_ASIDE))).all()
    gone = [
        id_
        for id_, kind, value, received_at in rows
        if (_happened(value) or received_at) <= forgetting.tombstone.at
        and value
        and (kind == "hook" or forgetting.whole(value))
    ]
    if gone:
        withheld = {"status": "refused", "value": b"", "detail": "what came was forgotten"}
        connection.execute(update(SET_ASIDE).where(SET_ASIDE.c.id.in_(gone)).values(withheld))
    return len(gone)


def _happened(raw: bytes) -> datetime | None:
    """When what was set aside happened, as it says itself: an entry of the log, or a body as it was posted."""
    try:
        document = json.loads(raw)
        body = document.get("data", {}).get("body", document)
        return instant(body.get("ended_at") or body.get("occurred_at"))
    except (ValueError, AttributeError, RecursionError):
        return None


def hook_bodies(connection: Connection, forgetting: Forgetting) -> int:
    """All that told of this borrower: a body is a copy of what was merged, and may be about others too."""
    return bodies.forget(connection, forgetting.tenant, [forgetting.borrower_id])


def copies(connection: Connection, forgetting: Forgetting) -> int:
    """What is made of the record, and made again."""
    connection.execute(GIST.delete().where(*forgetting.of(GIST)))
    index.drop(connection, forgetting.tenant, forgetting.borrower_id)
    proposals.forget(connection, forgetting.tenant, forgetting.borrower_id)
    return 0


def resumes(connection: Connection, forgetting: Forgetting) -> int:
    """What agents reported beside the states; a state is a code unless a term names it."""
    _columns(
        connection, forgetting, RESUME, ("resume_id",), said=("agent",), codes=("proposed", "entered_state"), at=("at",)
    )
    return 0


def permits(connection: Connection, forgetting: Forgetting) -> int:
    """Who asked, once a permit has ended: until then its holder may ask again."""
    _columns(connection, forgetting, PERMIT, ("permit_id",), said=("holder",), at=("expires_at",), blank=FORGOTTEN)
    return 0


def decisions(connection: Connection, forgetting: Forgetting) -> int:
    """The words of decisions, of what was concluded by then too; that there was one, of which version, stays."""
    by_then = ("recorded_at", "decided_at")
    own, words = ("decision_id",), ("conclusion",)
    gone = _columns(connection, forgetting, DECISION, own, said=words, codes=("kind",), at=by_then, blank=FORGOTTEN)
    _columns(connection, forgetting, DECISION, own, said=("agent", "execution_id"), at=by_then)
    _columns(
        connection,
        forgetting,
        CLAIM,
        ("event_id", "number"),
        said=(),
        codes=("entity", "source", "version"),
        at=("at",),
    )
    theirs = select(DECISION.c.decision_id).where(*forgetting.of(DECISION))
    uses = (USE.c.tenant == forgetting.tenant, USE.c.decision_id.in_(theirs), USE.c.at <= forgetting.tombstone.at)
    for id_, action, execution_id in connection.execute(
        select(USE.c.id, USE.c.action, USE.c.execution_id).where(*uses)
    ).all():
        changes = {n: None for n, v in (("action", action), ("execution_id", execution_id)) if forgetting.said(v)}
        if changes:
            connection.execute(update(USE).where(USE.c.id == id_).values(changes))
    return gone


def examples(connection: Connection, forgetting: Forgetting) -> int:
    """Sentences that a person copied for whoever writes the rules of screening."""
    gone = []
    for id_, sealed in connection.execute(
        select(EXAMPLE.c.id, EXAMPLE.c.sentence).where(*forgetting.of(EXAMPLE))
    ).all():
        try:
            told = forgetting.secrets.open(sealed).decode()
        except CannotOpen:
            continue
        if forgetting.said(told):
            gone.append(id_)
    if gone:
        connection.execute(EXAMPLE.delete().where(EXAMPLE.c.id.in_(gone)))
    return len(gone)


def _columns(
    connection: Connection,
    forgetting: Forgetting,
    table: FromClause,
    key: Sequence[str],
    *,
    said: Sequence[str],
    codes: Sequence[str] = (),
    at: Sequence[str],
    blank: str | None = None,
) -> int:
    """Blanks columns of this borrower's rows of which one of these times is the tombstone's or before; how many rows."""
    names = (*key, *said, *codes)
    its = (*forgetting.of(table), or_(*(table.c[name] <= forgetting.tombstone.at for name in at)))
    changed = 0
    for row in connection.execute(select(*(table.c[name] for name in names)).where(*its)).mappings().all():
        gone = [name for name in said if forgetting.said(row[name])] + [
            name for name in codes if forgetting.label(row[name])
        ]
        if gone:
            own = (table.c[name] == row[name] for name in key)
            its_row = update(table).where(table.c.tenant == forgetting.tenant, *own)  # type: ignore[arg-type]
            connection.execute(its_row.values(dict.fromkeys(gone, blank)))
            changed += 1
    return changed


Place = Callable[[Connection, Forgetting], int]
PLACES: Final[tuple[Place, ...]] = (chats, set_aside, hook_bodies, copies, resumes, permits, decisions, examples)
AGAIN: Final[tuple[Place, ...]] = tuple(place for place in PLACES if place is not copies)
"""Those that something older may reach after the request, and no writer sees it come."""
