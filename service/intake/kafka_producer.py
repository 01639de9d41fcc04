"""Appending to Kafka with deadlines of our own.

An idempotent producer never gives up a message and, once a batch of it was lost, takes none any more (aiokafka #1017); its
`stop` waits for ever for brokers that are gone (#1101). So no send waits longer than `SEND_SECONDS`, and after any failure
the producer is thrown away and another one is made by the next send. What was not answered may have been taken all the same:
ids make that harmless. What a message means is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import structlog
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from service.intake.kafka_topics import LARGEST_MESSAGE_BYTES, Cluster
from service.intake.log import LogBusy, LogUnavailable

SEND_SECONDS: Final = 2.0
IN_FLIGHT_BYTES: Final = 32 << 20  # of messages that were not answered yet
STOP_SECONDS: Final = 5.0
THROW_AWAY_SECONDS: Final = 5.0
BATCH_BYTES: Final = 256 << 10
REQUEST_SECONDS: Final = 5.0

log = structlog.get_logger("service.kafka")


class Message(NamedTuple):
    topic: str
    partition: int
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]] = ()


class KafkaProducer:
    """One process's way to append. It connects with the first send; `close` it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._made: asyncio.Task[Any] | None = None
        self._thrown_away: set[asyncio.Task[None]] = set()
        self._closed = False
        self._in_flight = 0
        self.rebuilt = 0
        """How often a producer was thrown away."""

    async def send(self, messages: Sequence[Message]) -> list[int]:
        """The offset of each, durable on all replicas in sync, those of one partition in their order; -1 where Kafka does
        not say it. Raises `LogUnavailable`; whether something was taken then is not known. `LogBusy` when so much is on its
        way already that nothing of these was sent."""
        if self._closed:
            raise LogUnavailable("the producer is closed")
        size = sum(len(m.key) + len(m.value) for m in messages)
        if self._in_flight and self._in_flight + size > IN_FLIGHT_BYTES:
            raise LogBusy("as much is on its way to Kafka as may be")
        self._in_flight += size
        try:
            return await self._send(messages)
        finally:
            self._in_flight -= size

    async def _send(self, messages: Sequence[Message]) -> list[int]:
        made = self._made = self._made or asyncio.ensure_future(_started(self._cluster))
        futures: list[asyncio.Future[Any]] = []
        try:
            async with asyncio.timeout(SEND_SECONDS):
                producer = await asyncio.shield(made)
                futures += [
                    await producer.send(
                        m.topic, m.value, key=m.key, partition=m.partition, headers=list(m.headers)
                    )
                    for m in messages
                ]  # fmt: skip
                # Not `gather`, which would cancel them: a message goes out whether we wait or not.
                await asyncio.wait(futures)
            return [future.result().offset for future in futures]
        except (KafkaError, OSError, AssertionError) as why:
            # The client asserts what it believes of partitions, also of those that a broken cluster does not know.
            self._throw_away(made, why)
            raise LogUnavailable("Kafka does not take entries just now") from why
        finally:
            for future in futures:
                future.add_done_callback(_seen)

    def _throw_away(self, made: asyncio.Task[Any], why: BaseException) -> None:
        if self._made is not made:
            return  # somebody else's failure was seen first
        self._made = None
        self.rebuilt += 1
        log.warning("kafka_producer_thrown_away", why=type(why).__name__)
        task = asyncio.ensure_future(_abandoned(made))
        self._thrown_away.add(task)
        task.add_done_callback(self._thrown_away.discard)

    async def close(self) -> None:
        """Waits for what is on its way, but not for ever."""
        self._closed = True
        made, self._made = self._made, None
        if made is not None:
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await (await asyncio.shield(made)).stop()
            except (KafkaError, OSError):
                await _abandoned(made)
        if self._thrown_away:
            await asyncio.wait(self._thrown_away)


async def _started(cluster: Cluster) -> AIOKafkaProducer:
    producer = AIOKafkaProducer(
        **cluster.client(),
        acks="all",
        enable_idempotence=True,
        linger_ms=0,
        max_batch_size=BATCH_BYTES,
        max_request_size=LARGEST_MESSAGE_BYTES,
        request_timeout_ms=int(REQUEST_SECONDS * 1000),
    )
    try:
        await producer.start()
    except BaseException:
        await _closed(producer)
        raise
    return producer


async def _abandoned(made: asyncio.Task[Any]) -> None:
    """Ends a producer without the flush that may never end."""
    made.cancel()
    with contextlib.suppress(KafkaError, OSError, asyncio.CancelledError):
        await _closed(await made)


async def _closed(producer: Any) -> None:
    """`stop` without its flush. The sender is private to aiokafka 0.14; there is no public way to give messages up."""
    with contextlib.suppress(KafkaError, OSError):
        async with asyncio.timeout(THROW_AWAY_SECONDS):
            producer._closed = True
            if producer._sender is not None:
                await producer._sender.close()
            await producer.client.close()


def _seen(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
