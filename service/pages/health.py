"""How the service itself stands: the log and its writers, what waits, models, and the addresses that vendors post to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import Connection
from starlette.responses import Response

from service.intake.log import LogChanged, LogUnavailable
from service.pages.drawing import Page
from service.pages.overview import today
from service.pages.page import Visit, page, pages
from service.records import machinery
from service.records.machinery import ModelHour, OfHook, Partition
from service.records.standing import Behind, table_lag

router = pages()

MODEL_MINUTES = 60


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


@dataclass(frozen=True)
class Hooks(Page):
    """Each address of a vendor, and what came through it today."""

    template: ClassVar[str] = "hooks.html.j2"
    hooks: tuple[OfHook, ...]
    aside: Mapping[str, Mapping[str, int]]
    since: datetime


@page(router, "GET", "/ops/hooks")
async def hooks(visit: Visit) -> Response:
    day, tenant = today(visit), visit.tenant

    def look(conn: Connection) -> tuple[tuple[OfHook, ...], dict[str, dict[str, int]]]:
        return machinery.hooks(conn, tenant, day.start), machinery.set_aside_of_vendors(conn, tenant, day.start)

    async def counted() -> tuple[tuple[OfHook, ...], dict[str, dict[str, int]]]:
        return await visit.parts.database.read_slow(look)

    found, aside = await visit.parts.counts.of(f"hooks {tenant}", counted)
    return visit.show(Hooks(found, aside, day.start))
