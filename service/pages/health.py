"""How the service itself stands: the log and its writers, what waits, models, and the addresses that vendors post to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import Connection
from starlette.responses import Response

from service.errors import NotFound
from service.hooks.refused import Refused, refused
from service.intake.log import Behind, LogChanged, LogUnavailable
from service.pages.cases import MODEL_MINUTES
from service.pages.drawing import Page
from service.pages.overview import today
from service.pages.page import Visit, page, pages
from service.pages.queries import OfBodies, OfNothing, listed
from service.pages.tables import csv_of, wants_csv
from service.records import Page as Found
from service.watching import machinery
from service.watching.machinery import ModelHour, OfHook, Partition
from service.watching.standing import table_lag
from service.watching.vendor_bodies import bodies_page

router = pages()

NAME_DIGITS = 16


@dataclass(frozen=True)
class System(Page):
    """Lag, partitions and who has them, what waits for Kafka, and how the model answers."""

    template: ClassVar[str] = "system.html.j2"
    checks: Mapping[str, str]
    uses_kafka: bool
    is_log_readable: bool
    partitions: tuple[Partition, ...]
    lag: Mapping[int, Behind]
    spool: Mapping[str, Behind]
    unread_bodies: int
    model: str
    answers: tuple[ModelHour, ...]
    answered: int
    minutes: int


@page(router, "GET", "/ops/system")
async def system(visit: Visit) -> Response:
    visit.query(OfNothing)
    parts, now, tenant = visit.parts, visit.parts.clock(), visit.tenant
    is_readable = True
    try:
        told = await parts.intake.lag(now)
    except (LogUnavailable, LogChanged):
        is_readable, told = False, {}

    def look(conn: Connection) -> dict[str, Any]:
        return {
            "partitions": machinery.partitions(conn, parts.intake.log_name),
            "lag": table_lag(conn, now) if told is None else told,
            "spool": machinery.spool(conn, now),
            "unread": machinery.unread_bodies(conn, tenant),
            "answers": machinery.model_answers(conn, tenant, now - timedelta(minutes=MODEL_MINUTES)),
        }

    async def counted() -> dict[str, Any]:
        return await parts.database.read_slow(look)

    seen = await parts.counts.of(f"system {tenant}", counted)
    return visit.show(
        System(
            checks=await parts.checks(),
            uses_kafka=parts.settings.uses_kafka,
            is_log_readable=is_readable,
            partitions=seen["partitions"],
            lag=seen["lag"],
            spool=seen["spool"],
            unread_bodies=seen["unread"],
            model=parts.settings.llm_model or "",
            answers=seen["answers"],
            answered=sum(hour.count for hour in seen["answers"]),
            minutes=MODEL_MINUTES,
        )
    )


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a vendor. `name` stands for it in a link: its own id is a secret that lets anybody post."""

    name: str
    hook: OfHook
    refused: Refused | None
    aside: Mapping[str, int]


@dataclass(frozen=True)
class Hooks(Page):
    """Each address of a vendor, and what came through it today."""

    template: ClassVar[str] = "hooks.html.j2"
    addresses: tuple[Address, ...]
    since: datetime


@page(router, "GET", "/ops/hooks")
async def hooks(visit: Visit) -> Response:
    visit.query(OfNothing)
    return visit.show(Hooks(await _addresses(visit), today(visit).start))


async def _addresses(visit: Visit) -> tuple[Address, ...]:
    day, tenant = today(visit), visit.tenant
    await visit.parts.hook_refusals.write(at_once=True)

    def look(conn: Connection) -> tuple[Address, ...]:
        aside = machinery.set_aside_of_vendors(conn, tenant, day.start)
        refusals = refused(conn, tenant, day.start)
        return tuple(
            Address(
                visit.parts.keyed_hash(one.hook_id, "ops hook")[:NAME_DIGITS],
                one,
                refusals.get(one.hook_id),
                aside.get(one.vendor, {}),
            )
            for one in machinery.hooks(conn, tenant, day.start)
        )

    async def counted() -> tuple[Address, ...]:
        return await visit.parts.database.read_slow(look)

    found: tuple[Address, ...] = await visit.parts.counts.of(f"hooks {tenant}", counted)
    return found


@dataclass(frozen=True)
class OneHook(Page):
    """What came through one address today, body by body; of what was refused nothing is kept but how often and why."""

    template: ClassVar[str] = "hook.html.j2"
    address: Address
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    show: str
    since: datetime


@page(router, "GET", "/ops/hooks/{name}")
async def hook(visit: Visit) -> Response:
    wanted, day = visit.query(OfBodies), today(visit)
    address = next((one for one in await _addresses(visit) if one.name == visit.path("name")), None)
    if address is None:
        raise NotFound
    hook_id = address.hook.hook_id

    def look(conn: Connection) -> Found:
        return bodies_page(conn, visit.tenant, hook_id, wanted.show, day.start, wanted.limit, wanted.cursor)

    found = await listed(visit, look)
    if wants_csv(visit):
        rows = [
            {**one, "borrowers": sorted({told["borrower_id"] for told in one["told"] if told["borrower_id"]})}
            for one in found.items
        ]
        return csv_of(visit, "hook", ("received_at", "id", "is_done", "tries", "borrowers"), rows)
    return visit.show(OneHook(address, tuple(found.items), found.next_cursor, wanted.show, day.start))
