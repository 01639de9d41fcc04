"""How a connection to PostgreSQL is opened, with the limits of a session that a server keeps for it."""

from __future__ import annotations

from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from service.database import (
    DatabaseUnavailable,
)
from service.postgres.failures import WORLD, of_driver

CONNECT_SECONDS: Final = 3.0
# So a server knows within some ten seconds that the machine behind a connection is gone, and lets go of its locks.
ANY: Final = (
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;"
    " SET tcp_user_timeout = 10000"
)
READER: Final = f"{ANY}; SET default_transaction_read_only = on"


def engine_of(dsn: str, opening: str) -> AsyncEngine:
    """One that neither pools nor begins or ends transactions: both are ours to do."""

    async def connected() -> Any:
        driver = await asyncpg.connect(
            dsn, timeout=CONNECT_SECONDS, server_settings={"application_name": "borrower-memory"}
        )
        try:
            await driver.execute(opening)
        except BaseException:
            driver.terminate()
            raise
        return driver

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connected,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
    )


def unreachable(error: BaseException) -> BaseException:
    """What kept us from connecting; a database that turns us away is told as such, without the server's words."""
    if not isinstance(error, Exception):
        return error
    found = DatabaseUnavailable("the database cannot be reached")
    driver = of_driver(error)
    if isinstance(driver, asyncpg.InvalidAuthorizationSpecificationError):
        found = DatabaseUnavailable("the database does not let us in: see DATABASE_URL")
    elif isinstance(driver, asyncpg.InvalidCatalogNameError):
        found = DatabaseUnavailable("the database server has no database of this name: see DATABASE_URL")
    elif not isinstance(error, (*WORLD, TimeoutError)):
        return error
    found.__cause__ = error
    return found
