"""Row 13: too few replicas. It takes three brokers: with one, Kafka asks for no more replicas than there are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka.admin import NewTopic

from tests.conftest import FIGURES
from tests.together import broker, checker
from tests.together.faults.conftest import SETTLED_SECONDS, share
from tests.together.faults.test_kafka_faults import ask, post
from tests.together.fleet import PARTITIONS, fleet
from tests.together.stream import Ledger

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

NOTICED_SECONDS = 12.0
"""After which a silent broker (9 s) is no replica any more."""


def test_13_what_too_few_replicas_have_is_not_acknowledged_but_spooled(
    tmp_path: Path, dsn: str, prefix: str, record_property: Callable[[str, object], None]
) -> None:
    """Each partition is on two of three brokers and must be on two; one goes, and appends to its partitions are refused."""
    ledger = Ledger()
    (tmp_path / "brokers").mkdir()
    (tmp_path / "fleet").mkdir()
    with broker.running(tmp_path / "brokers", 3, ours=True) as brokers:
        topics = [
            NewTopic(f"{prefix}.{name}", PARTITIONS, 2, topic_configs={"min.insync.replicas": "2"})
            for name in ("intake", "changes")
        ]
        ask(brokers, lambda admin: admin.create_topics(topics))
        with fleet(tmp_path / "fleet", brokers.bootstrap, dsn, prefix, writers=1) as running:
            share(running.writers)
            with running.client() as client:
                assert post(ledger, client, "before").status_code in (200, 202)
                brokers.kill(3)
                time.sleep(NOTICED_SECONDS)
                answers: Counter[int] = Counter()
                for n in range(12):
                    answers[post(ledger, client, f"few-{n}", f"B-{n}").status_code] += 1
                spooled = len(running.rows("SELECT 1 FROM outbox WHERE topic = 'intake'"))
                brokers.start(3)
            if not running.writers[-1].running():
                running.write()
            running.merged_to_the_end(SETTLED_SECONDS)
            tables = running.tables()
    record_property(FIGURES, {"answers": dict(answers), "spooled": spooled})
    assert set(answers) <= {200, 202, 503}
    assert spooled > 0, "some partition had too few replicas"
    assert checker.faults(tables, ledger) == []
