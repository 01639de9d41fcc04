"""Throws members out of a Kafka group from outside, so that their next heartbeats are answered: unknown member.

In the protocol's own bytes, for no client can do this to another: who leaves is told by id, and anybody may say it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

ANSWER_SECONDS = 10


def expel_all(bootstrap: str, group: str) -> int:
    """How many members the group had."""
    members = asyncio.run(_members(bootstrap, group))
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS) as connection:
        for number, member in enumerate(members):
            body = struct.pack(">hhih", 13, 1, number, 0) + _text(group) + _text(member)  # LeaveGroup, version 1
            connection.sendall(struct.pack(">i", len(body)) + body)
            (length,) = struct.unpack(">i", _exactly(connection, 4))
            _exactly(connection, length)
    return len(members)


async def _members(bootstrap: str, group: str) -> list[str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answers: list[Any] = await admin.describe_consumer_groups([group])
        return [member[0] for answer in answers for told in answer.groups for member in told[5]]
    finally:
        await admin.close()


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        assert more, "the broker closed the connection"
        got += more
    return got
