"""How a transaction ends: undone with the error in our words, or committed and answered."""

from __future__ import annotations

import asyncpg  # type: ignore[import-untyped]
import structlog

from service.database import (
    DatabaseUnavailable,
    OutcomeUnknown,
)
from service.postgres.failures import WORLD, translated
from service.postgres.lines import Line

log = structlog.get_logger("service.postgres")


async def undone(line: Line, error: BaseException) -> BaseException:
    """The error in our words, when what was done before it is undone."""
    found = translated(error, line)
    if not line.is_lost:
        try:
            await line.driver.execute("ROLLBACK")
        except (*WORLD, TimeoutError):
            line.cut()
    return found


async def committed(line: Line) -> None:
    """Raises `OutcomeUnknown` unless the server has told that it is in, or that it is not."""
    if line.is_lost:
        raise DatabaseUnavailable("the connection was lost before the commit")
    try:
        said = await line.driver.execute("COMMIT")
    except asyncpg.IntegrityConstraintViolationError as error:  # of a constraint that is looked at in the end
        raise translated(error, line)  # noqa: B904 (it is its own cause, or has one)
    except BaseException as error:
        line.cut()
        if not isinstance(error, Exception):
            raise
        log.error("commit_unanswered", error=type(error).__name__)
        raise OutcomeUnknown("the commit was not answered") from error
    if said != "COMMIT":
        raise DatabaseUnavailable("the database undid the transaction")
