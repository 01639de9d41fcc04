"""A process of the service with one thing altered that no fault from outside can bring about.

python altered.py ALTERATION... -- writer

twin       is in a group of its own, so that it holds every partition beside those who hold them already
unfenced   saves whoever owns the partition: the control of every test that two owners do no harm
blocking   blocks its event loop for some seconds at a SIGUSR1
refusing   can merge nothing, as after a release that is broken
"""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

BLOCKED_SECONDS = 5.0


def twin() -> None:
    from service.intake import kafka_log

    client = kafka_log.AIOKafkaConsumer

    def alone(**how: Any) -> Any:
        return client(**how | ({"group_id": how["group_id"] + ".twin"} if "group_id" in how else {}))

    kafka_log.AIOKafkaConsumer = alone


def unfenced() -> None:
    from sqlalchemy import Connection, update

    from service.tables import WriterPartition, table_of
    from service.writer import Fence

    def advance(self: Fence, connection: Connection, to: int, last_entry: str) -> None:
        rows = table_of(WriterPartition)
        of = rows.c.log == self.log, rows.c.partition == self.partition
        connection.execute(update(rows).where(*of).values(next_offset=to, last_entry=last_entry))

    Fence.advance = advance  # type: ignore[method-assign]


def blocking() -> None:
    signal.signal(signal.SIGUSR1, lambda *_: time.sleep(BLOCKED_SECONDS))


def refusing() -> None:
    from service.writer import folding

    def merge(*_: Any) -> Any:
        raise ArithmeticError("a broken release")

    folding.merge = merge


def main() -> None:
    *alterations, program = sys.argv[1:]
    for name in alterations:
        if name != "--":
            {"twin": twin, "unfenced": unfenced, "blocking": blocking, "refusing": refusing}[name]()
    from service.__main__ import main as run

    sys.argv = ["borrower-memory", program]
    sys.exit(run())


if __name__ == "__main__":
    main()
