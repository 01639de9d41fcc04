"""Which Kafka we speak to, and the topics we need there: made where we may, else checked.

A topic is never changed: another count of partitions would put a borrower's next entry into another partition than the
ones before. What stands in a topic is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]
from aiokafka.helpers import create_ssl_context  # type: ignore[import-untyped]

from service.intake.log import LogChanged, LogUnavailable
from service.settings import Settings

ADMIN_SECONDS: Final = 20.0  # for everything that is asked in one go
LARGEST_MESSAGE_BYTES: Final = 8 << 20  # a body of 1 MiB is far below it; a record that joins another may be several
COPIES: Final = 3
DAY_MS: Final = 86_400_000
_MADE, _EXISTS = 0, 36
_NOT_ALLOWED: Final = (29, 31, 44)  # the topic's authorization, the cluster's, a policy


@dataclass(frozen=True)
class Cluster:
    """How every client of ours reaches Kafka. The options hold the password, so they are left out of `repr`."""

    servers: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Cluster:
        options: dict[str, Any] = {"security_protocol": settings.kafka_security_protocol}
        if settings.kafka_security_protocol.endswith("SSL"):
            cafile = settings.kafka_ssl_cafile
            options["ssl_context"] = create_ssl_context(cafile=str(cafile) if cafile else None)
        if settings.kafka_sasl_mechanism and settings.kafka_sasl_username and settings.kafka_sasl_password:
            options["sasl_mechanism"] = settings.kafka_sasl_mechanism
            options["sasl_plain_username"] = settings.kafka_sasl_username
            options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
        return cls(settings.kafka_bootstrap_servers, options)

    def client(self) -> dict[str, Any]:
        """The arguments that every client takes."""
        return {"bootstrap_servers": list(self.servers), "client_id": "borrower-memory", **self.options}


@dataclass(frozen=True, slots=True)
class Topic:
    """One that we need. Its partitions are never changed."""

    name: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of a topic, and in which cluster."""

    cluster_id: str
    partitions: int


def intake_topic(prefix: str, partitions: int) -> Topic:
    return Topic(f"{prefix}.intake", partitions)


def changes_topic(prefix: str, partitions: int) -> Topic:
    """Where changed records are announced; it is public (API 13)."""
    return Topic(f"{prefix}.changes", partitions)


async def found(cluster: Cluster, topic: Topic) -> Found:
    """The topic as it is. Raises `LogUnavailable`, and `LogChanged` when it is missing or of another shape."""
    async with _admin(cluster) as admin:
        return await _checked(admin, topic)


async def make(cluster: Cluster, topics: Sequence[Topic], *, copies: int | None, retention_days: int) -> list[str]:
    """Makes what is missing and checks the rest; the names of those it made.

    `copies` is the replication, None for the smaller of 3 and the brokers. Raises `LogUnavailable`, and `LogChanged` for one
    that has another count of partitions, or is missing and may not be made.
    """
    async with _admin(cluster) as admin:
        there = set(await admin.list_topics())
        missing = [topic for topic in topics if topic.name not in there]
        if missing:
            brokers = len((await admin.describe_cluster())["brokers"])
            count = copies or min(COPIES, brokers)
            asked = [
                NewTopic(t.name, t.partitions, count, topic_configs=_configs(count, retention_days)) for t in missing
            ]
            answer = await admin.create_topics(asked)
            for name, code, *_ in answer.topic_errors:
                if code in _NOT_ALLOWED:
                    wanted = next(t for t in missing if t.name == name)
                    raise LogChanged(
                        f"topic {name} is missing and we may not make it: make it with {wanted.partitions} partitions"
                    )
                if code not in (_MADE, _EXISTS):
                    raise LogUnavailable(f"topic {name} could not be made: Kafka's error {code}")
            await _until_known(admin, missing)
        for topic in topics:
            await _checked(admin, topic)
        return [topic.name for topic in missing]


def _configs(copies: int, retention_days: int) -> dict[str, str]:
    return {
        "cleanup.policy": "delete",  # never compact: the key is the borrower, that would eat history
        "retention.ms": str(retention_days * DAY_MS),
        "max.message.bytes": str(LARGEST_MESSAGE_BYTES),
        "min.insync.replicas": str(2 if copies >= COPIES else 1),
        "unclean.leader.election.enable": "false",
        "message.timestamp.type": "CreateTime",
        "compression.type": "producer",
    }


async def _checked(admin: AIOKafkaAdminClient, topic: Topic) -> Found:
    # All topics are listed, because to ask for one by name makes it where brokers make topics by themselves.
    if topic.name not in await admin.list_topics():
        raise LogChanged(f"topic {topic.name} is not there: run `borrower-memory migrate`")
    (told,) = await admin.describe_topics([topic.name])
    count = len(told["partitions"])
    if count != topic.partitions:
        raise LogChanged(
            f"topic {topic.name} has {count} partitions, KAFKA_PARTITIONS says {topic.partitions}: set it back, or begin"
            " under another KAFKA_TOPIC_PREFIX; a count is never changed"
        )
    return Found((await admin.describe_cluster())["cluster_id"], count)


async def _until_known(admin: AIOKafkaAdminClient, topics: Sequence[Topic]) -> None:
    """A new topic is known a moment after it was made, with all its leaders."""
    while True:
        told = await admin.describe_topics([topic.name for topic in topics])
        if all(len(t["partitions"]) and all(p["leader"] >= 0 for p in t["partitions"]) for t in told):
            return
        await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def _admin(cluster: Cluster) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**cluster.client())
    try:
        async with asyncio.timeout(ADMIN_SECONDS):
            await admin.start()
            yield admin
    except LogUnavailable:
        raise
    except (KafkaError, OSError) as why:  # a TimeoutError is an OSError
        raise LogUnavailable(f"Kafka cannot be reached at {', '.join(cluster.servers)}") from why
    finally:
        with contextlib.suppress(KafkaError, OSError):
            await admin.close()
