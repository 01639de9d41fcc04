"""What `serve` sets up around the application."""

import asyncio
from typing import Any

from service.web.serving import HELD_LIMIT_BYTES, OneWrite


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def test_a_head_and_its_body_are_written_together() -> None:
    wire: Any = Wire()
    connection = OneWrite(wire)
    connection.write(b"head ")
    assert wire.written == []
    connection.write(b"body")
    await asyncio.sleep(0)
    assert wire.written == [b"head body"]


async def test_what_is_more_than_may_be_held_is_written_at_once_and_in_order() -> None:
    wire: Any = Wire()
    connection = OneWrite(wire)
    connection.write(b"head ")
    connection.write(b"x" * HELD_LIMIT_BYTES)
    assert wire.written == [b"head " + b"x" * HELD_LIMIT_BYTES]
    connection.write(b"rest")
    await asyncio.sleep(0)
    assert wire.written[1:] == [b"rest"]


async def test_a_head_whose_body_comes_later_does_not_wait_for_it() -> None:
    wire: Any = Wire()
    connection = OneWrite(wire)
    connection.write(b"head ")
    await asyncio.sleep(0)
    assert wire.written == [b"head "]
    for part in (b"1", b"2", b"3"):
        connection.write(part)
    await asyncio.sleep(0)
    assert wire.written == [b"head ", b"123"]


async def test_what_was_said_before_it_is_closed_is_written_and_nothing_to_a_client_that_left() -> None:
    wire: Any = Wire()
    connection = OneWrite(wire)
    connection.write(b"last")
    connection.close()
    assert (wire.written, wire.closed) == ([b"last"], True)
    left: Any = Wire()
    connection = OneWrite(left)
    connection.write(b"too late")
    left.closed = True
    await asyncio.sleep(0)
    assert left.written == []
    assert connection.is_closing()
