"""One process serves from a file, which is checked when it starts."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from service.database import DamagedDatabase, InUse
from service.sqlite import SqliteDatabase
from tests.service.database.conftest import (
    add,
    numbers,
)


async def test_a_second_serve_is_refused_and_a_command_is_not(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    first = await SqliteDatabase.open(path, serving=True)
    with pytest.raises(InUse, match=f"in use by process {os.getpid()}"):
        await SqliteDatabase.open(path, serving=True)
    command = await SqliteDatabase.open(path)
    assert await command.write(add(1)) == 1
    await command.close()
    assert await first.read(numbers) == [1]
    await first.close()
    again = await SqliteDatabase.open(path, serving=True)
    await again.close()


@pytest.mark.process
async def test_a_process_that_was_killed_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    holds = (
        "import asyncio, pathlib, sys\n"
        "from service.sqlite import SqliteDatabase\n"
        "async def main():\n"
        "    await SqliteDatabase.open(pathlib.Path(sys.argv[1]), serving=True)\n"
        "    print('held', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", holds, str(path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"
    with pytest.raises(InUse, match=f"process {process.pid}"):
        await SqliteDatabase.open(path, serving=True)
    process.kill()
    await process.wait()
    database = await SqliteDatabase.open(path, serving=True)
    await database.close()


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    database = await SqliteDatabase.open(tmp_path / "deep" / "test.db", serving=True)
    await database.write(add(1))
    assert {p.stat().st_mode & 0o077 for p in (tmp_path / "deep").iterdir()} == {0}
    await database.close()


@pytest.mark.parametrize("spoil", ["no database at all", "a page in the middle"])
async def test_a_damaged_file_is_named_at_the_start(tmp_path: Path, spoil: str) -> None:
    path = tmp_path / "test.db"
    if spoil == "no database at all":
        path.write_bytes(b"a letter, and a long one, that somebody put there" * 100)
    else:
        await (await SqliteDatabase.open(path)).close()
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2 : len(whole) // 2 + 20_000] = b"\xff" * 20_000
        path.write_bytes(whole)
    with pytest.raises(DamagedDatabase):
        await SqliteDatabase.open(path, serving=True)
