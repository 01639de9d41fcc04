"""What a writer's transaction adds when it merges that a decision has changed: the layers that are in its hand, and the news.

The record has a new version with this very transaction, so nothing that was made from an older one is used any more: with it
the record and the stored proposals have answered. Which conversations are going on is looked up, because whoever leads one may
have been told the decision when it began: the announcement names them. It goes out with the transaction, or not at all.

What a decision says is in none of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import msgspec
from sqlalchemy import Connection, select, update

from service.chats.rows import open_of
from service.decisions.rows import CORRECTION
from service.intake.log import Pending
from service.tables import Claim, Started, table_of
from statemachine.stamps import DecisionChanged

SOURCE: Final = "/borrower-memory/decisions/"
OPEN_FOR: Final = timedelta(days=1)
"""So long after its last message a chat without an end may still be led by somebody who remembers."""
OPEN_TOLD: Final = 20
CLAIM, STARTED = table_of(Claim), table_of(Started)


class Publishing(Protocol):
    """Where announcements go, as part of a transaction."""

    def publish_within(self, connection: Connection, items: Sequence[Pending]) -> None: ...


def merged(
    connection: Connection,
    publishing: Publishing,
    changed: Sequence[tuple[str, str, DecisionChanged]],
    now: datetime,
) -> None:
    """Of each change that is being merged: tenant, borrower, what changed."""
    news: list[Pending] = []
    for tenant, borrower_id, body in changed:
        if body.status == "active":
            continue
        going_on = _open_conversations(connection, tenant, borrower_id, now)
        if body.status == "stale":
            _answered(connection, tenant, body, now)
        value = announcement(tenant, borrower_id, body, going_on, now)
        news.append(Pending(tenant, borrower_id, body.event_id, value))
    if news:
        publishing.publish_within(connection, news)


def _answered(connection: Connection, tenant: str, body: DecisionChanged, now: datetime) -> None:
    own = (CORRECTION.c.tenant == tenant, CORRECTION.c.decision_id == body.decision_id)
    this = (*own, CORRECTION.c.observed_version == body.observed_version, CORRECTION.c.record_at.is_(None))
    layers = {"record_at": now, "proposals_at": now, "open_conversations_at": now}
    connection.execute(update(CORRECTION).where(*this).values(layers))
    copies = (CLAIM.c.tenant == tenant, CLAIM.c.decision_id == body.decision_id, CLAIM.c.corrected_at.is_(None))
    connection.execute(update(CLAIM).where(*copies).values(corrected_at=now))


def _open_conversations(connection: Connection, tenant: str, borrower_id: str, now: datetime) -> list[tuple[str, str]]:
    """Channel and id of each, the newest so many."""
    own = (STARTED.c.tenant == tenant, STARTED.c.borrower_id == borrower_id)
    wanted = select(STARTED.c.channel, STARTED.c.conversation_id).where(*own)
    begun = connection.execute(wanted.order_by(STARTED.c.started_at.desc()).limit(OPEN_TOLD))
    chats = open_of(connection, tenant, borrower_id, now - OPEN_FOR)
    found = dict.fromkeys([*((row[0], row[1]) for row in begun), *((c.channel, c.conversation_id) for c in chats)])
    return list(found)[:OPEN_TOLD]


def announcement(
    tenant: str, borrower_id: str, body: DecisionChanged, going_on: Sequence[tuple[str, str]], now: datetime
) -> bytes:
    """A CloudEvent of type `decision.stale` or `decision.superseded`; its id is the same however often it is sent."""
    data: dict[str, Any] = {
        "borrower_id": borrower_id,
        "decision_id": body.decision_id,
        "source": body.source,
        "entity": body.entity,
        "decision_version": body.decision_version,
        "observed_version": body.observed_version,
        "status": body.status,
        "superseded_by": body.superseded_by,
        "open_conversations": [{"channel": channel, "conversation_id": id_} for channel, id_ in going_on],
    }
    return msgspec.json.encode(
        {
            "specversion": "1.0",
            "id": body.event_id.strip(),
            "source": SOURCE + tenant,
            "type": f"decision.{body.status}",
            "subject": borrower_id,
            "time": now.isoformat(timespec="microseconds")[:26] + "Z",
            "datacontenttype": "application/json",
            "data": data,
        }
    )
