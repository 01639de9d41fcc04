"""What keeps a second `serve` off a database while the log is a table in it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]
import structlog

from service.database import (
    DatabaseUnavailable,
    InUse,
)
from service.postgres.engine import ANY, CONNECT_SECONDS, unreachable
from service.postgres.failures import WORLD
from service.postgres.schema import ADVISORY

GUARD_SECONDS: Final = 1.0
SERVING: Final = 2

log = structlog.get_logger("service.postgres")


class ServeGuard:
    """Held by `serve` while the log is a table: an advisory lock of the session, which ends with its connection.

    It keeps a second `serve` from starting. It is no fence: when the connection is lost it is taken again, and whoever
    has it meanwhile makes this one unwell, while the fence of each partition keeps them from doing anything twice.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._driver: Any = None
        self._keeping: asyncio.Task[None] | None = None
        self.trouble: str | None = None

    async def take(self) -> None:
        """Raises `InUse`, `DatabaseUnavailable`."""
        if not await self._taken():
            raise InUse("the database is in use by another serve: without Kafka only one at a time")
        self._keeping = asyncio.create_task(self._keep())

    async def release(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        if self._driver is not None:
            self._driver.terminate()
            self._driver = None

    async def _taken(self) -> bool:
        try:
            driver = await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_SECONDS,
                command_timeout=CONNECT_SECONDS,
                server_settings={"application_name": "borrower-memory serve"},
            )
        except (*WORLD, TimeoutError) as error:
            raise unreachable(error)  # noqa: B904 (it has a cause)
        try:
            await driver.execute(ANY)
            if await driver.fetchval(f"SELECT pg_try_advisory_lock({ADVISORY}, {SERVING})"):
                self._driver, driver = driver, None
                return True
            return False
        except (*WORLD, TimeoutError) as error:
            raise unreachable(error)  # noqa: B904 (it has a cause)
        finally:
            if driver is not None:
                driver.terminate()

    async def _keep(self) -> None:
        """Asks after the connection, for one that is lost does not tell of itself."""
        while True:
            await asyncio.sleep(GUARD_SECONDS)
            try:
                await self._driver.execute("SELECT 1")
                self.trouble = None
                continue
            except (*WORLD, TimeoutError):
                self._driver.terminate()
            try:
                has_it = await self._taken()
            except DatabaseUnavailable:
                continue
            trouble = None if has_it else "another serve has taken the database"
            if trouble and trouble != self.trouble:
                log.critical("serve_guard_lost", why=trouble)
            self.trouble = trouble
