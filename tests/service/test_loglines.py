"""Lines of the log: written together at the end of a turn, never lost for it, and never anybody's failure."""

import asyncio
import io
import json
import logging
import threading

import pytest

from service.loglines import LINES_LIMIT, Lines, Others, rendered


class Out(io.BytesIO):
    """Counts what a real stream would make a system call of."""

    writes = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.writes += 1
        return super().write(data)


async def test_what_is_said_in_one_turn_is_written_at_its_end_at_once() -> None:
    out = Out()
    lines = Lines(out)
    lines.add(b"a")
    lines.add(b"b")
    assert out.getvalue() == b""
    await asyncio.sleep(0)
    assert (out.getvalue(), out.writes) == (b"a\nb\n", 1)
    lines.add(b"c")
    await asyncio.sleep(0)
    assert (out.getvalue(), out.writes) == (b"a\nb\nc\n", 2)


async def test_so_many_are_not_kept_until_a_long_turn_ends() -> None:
    out = Out()
    lines = Lines(out)
    for _ in range(LINES_LIMIT + 1):
        lines.add(b"a")
    assert out.getvalue().count(b"\n") == LINES_LIMIT
    await asyncio.sleep(0)
    assert out.getvalue().count(b"\n") == LINES_LIMIT + 1


async def test_what_is_said_outside_a_loop_is_written_at_once_and_in_its_order() -> None:
    out = Out()
    lines = Lines(out)
    lines.add(b"before")
    thread = threading.Thread(target=lines.add, args=(b"in a thread",))
    thread.start()
    thread.join()
    assert out.getvalue() == b"before\nin a thread\n"
    lines.add(b"after")
    await asyncio.sleep(0)
    assert out.getvalue() == b"before\nin a thread\nafter\n"


def test_a_loop_that_ended_first_holds_nothing_back() -> None:
    out = Out()
    lines = Lines(out)

    async def say(line: bytes, turns: int) -> None:
        lines.add(line)
        for _ in range(turns):
            await asyncio.sleep(0)

    ended = asyncio.new_event_loop()
    ended.call_soon(ended.stop)
    ended.call_soon(lines.add, b"as it stopped")  # and no turn came behind it
    ended.run_forever()
    ended.close()
    asyncio.run(say(b"in the next", 1))
    assert out.getvalue() == b"as it stopped\nin the next\n"


async def test_a_reader_that_is_gone_is_nobodys_failure() -> None:
    out = Out()
    lines = Lines(out)
    out.close()
    lines.add(b"a")
    await asyncio.sleep(0)
    lines.write()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ok", "ok"),
        ("नमस्ते", "नमस्ते"),
        ("half \ud800", "half \ud800"),
        (1 << 70, 1 << 70),
        (range(2), "range(0, 2)"),
        (ValueError("x"), "ValueError('x')"),
    ],
)
def test_whatever_is_said_is_one_line_of_json(value: object, said: object) -> None:
    line = rendered(None, "info", {"event": "request", "value": value})
    assert b"\n" not in line
    assert json.loads(line) == {"event": "request", "value": said}


def test_of_what_other_packages_say_no_value_is_told() -> None:
    out = Out()
    logger = logging.Logger("a.library")
    logger.addHandler(Others(Lines(out)))
    logger.warning("%s cannot be reached by %s", "9000000012", "Asha")
    logger.error(ValueError("Asha said"))
    logger.error("a task failed\nfuture: <Task exception=ValueError('Asha said')>")
    try:
        raise ValueError("Asha said")
    except ValueError:
        logger.exception("it failed: %s", "Asha")
    said = [json.loads(line) for line in out.getvalue().splitlines()]
    assert b"Asha" not in out.getvalue()
    assert [line["says"] for line in said] == [
        "%s cannot be reached by %s",
        "ValueError",
        "a task failed",
        "it failed: %s",
    ]
    assert [line.get("fault") for line in said] == [None, None, None, "ValueError"]
    assert {line["event"] for line in said} == {"library"}
    assert all({"library", "level", "timestamp"} <= line.keys() for line in said)
