"""The lock of the one process that serves from a file of SQLite's."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from service.database import InUse


class ServeLock:
    """Held by `serve`, and by whatever must not run beside it. The kernel lets it go when its process ends."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".lock")
        self._handle: int | None = None

    def take(self) -> None:
        """Raises `InUse`."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise InUse(
                f"the database {self._path.stem} is in use by process {holder}: with SQLite only one serve at a time, and"
                " rebuild only while it is stopped"
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
