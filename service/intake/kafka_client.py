"""What has to be known of aiokafka's consumer: its settings, how it is held back, whether it is alive, how it ends.

This is the one file that looks into its private parts (aiokafka 0.14).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Final

import structlog
from aiokafka import TopicPartition  # type: ignore[import-untyped]
from aiokafka.errors import (  # type: ignore[import-untyped]
    KafkaError,
)

from service.intake.kafka_topics import Cluster
from service.intake.log import (
    LogStuck,
)

FETCH_WAIT_MS: Final = 100  # the broker's own wait; what is asked for meanwhile waits for it
FETCH_BYTES: Final = 4 << 20  # of one partition, held by the client
STOP_SECONDS: Final = 10.0

log = structlog.get_logger("service.kafka")


def options(cluster: Cluster) -> dict[str, Any]:
    """What both ways of reading have in common."""
    return {
        **cluster.client(),
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_committed",
        "check_crcs": True,
        "fetch_max_wait_ms": FETCH_WAIT_MS,
        "max_partition_fetch_bytes": FETCH_BYTES,
    }


def hold_back(consumer: Any, places: Collection[TopicPartition]) -> None:
    """Paused, and with a position, so that neither an entry nor the want of a position comes before a reader does."""
    consumer.pause(*places)
    for place in places:
        consumer.seek(place, 0)


def check_alive(consumer: Any) -> None:
    """Private to aiokafka 0.14: it tells nobody when a task of its own has ended, and then nothing ever comes again."""
    fetching, coordinator = consumer._fetcher._fetch_task, consumer._coordinator
    if fetching.done() or coordinator._coordination_task.done():
        raise LogStuck("a task inside the Kafka client has ended")
    try:
        coordinator.check_errors()
    except KafkaError as why:
        raise LogStuck(f"the group of writers cannot go on: {type(why).__name__}") from why


async def stopped(consumer: Any) -> None:
    """Bounded: `stop` may wait for brokers that are gone."""
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await consumer.stop()
    except (KafkaError, OSError) as why:
        log.warning("kafka_consumer_abandoned", why=type(why).__name__)
