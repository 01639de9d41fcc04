"""Opens the store that the settings name: the part of the composition root that commands need without the service.

It stands apart from `wiring`, which knows the API, the writer and Kafka, so that `keys` need not load them.
"""

from __future__ import annotations

from service.database import Store
from service.postgres import PostgresDatabase
from service.settings import Settings
from service.sqlite import SqliteDatabase


async def open_store(settings: Settings, *, serving: bool = False, patient: bool = False) -> Store:
    """The database of the settings: SQLite's is migrated on the way, PostgreSQL's has to be.

    `serving` is for the one process that runs the table log's writer, and for what must not run beside it; `patient` for a
    command whose writes may take minutes. Raises `NotMigrated`, `DamagedDatabase`, `InUse`, `DatabaseUnavailable`.
    """
    path, dsn = settings.database.sqlite_path, settings.database.postgres_dsn
    if path is not None:
        return await SqliteDatabase.open(path, serving=serving)
    assert dsn is not None, "a database is one or the other"
    return await PostgresDatabase.open(dsn, serving=serving, patient=patient)
