"""librdkafka's own stand-in for a cluster, as a process: for tests of the wire where no real broker can be had.

    python tests/together/mock_broker.py NODES      prints the addresses; then `topic NAME PARTITIONS` on standard input makes one

It speaks Kafka's protocol over real sockets and keeps its entries in memory. It ends with its standard input, so none is left
behind. It must not know the product or any test. The library lies inside the wheel `confluent-kafka`; its functions for this
(`rdkafka_mock.h`) have no Python names, so they are called as they are.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

PRODUCER = 0
REASON_BYTES = 512


class Cluster:
    """As many brokers as there are `nodes`, gone with the process. Raises `ImportError` when the library is not there."""

    def __init__(self, nodes: int) -> None:
        self._library = _library()
        reason = ctypes.create_string_buffer(REASON_BYTES)
        # A cluster belongs to a client, which is used for nothing else.
        client = self._library.rd_kafka_new(PRODUCER, self._library.rd_kafka_conf_new(), reason, REASON_BYTES)
        assert client, reason.value.decode()
        self._cluster = self._library.rd_kafka_mock_cluster_new(client, nodes)
        assert self._cluster, "librdkafka started no cluster"
        self.nodes = nodes

    @property
    def bootstrap(self) -> str:
        told: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return told.decode()

    def make(self, topic: str, partitions: int) -> None:
        failed = self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, self.nodes)
        assert failed == 0, f"librdkafka's error {failed}"


def _library() -> Any:
    from confluent_kafka import cimpl

    # Found through the extension that is linked to it, wherever the wheel of this system puts it.
    library = ctypes.CDLL(cimpl.__file__)
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, answer, *given in (
        ("rd_kafka_conf_new", pointer),
        ("rd_kafka_new", pointer, number, pointer, text, ctypes.c_size_t),
        ("rd_kafka_mock_cluster_new", pointer, pointer, number),
        ("rd_kafka_mock_cluster_bootstraps", text, pointer),
        ("rd_kafka_mock_topic_create", number, pointer, text, number, number),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = answer, given
    return library


def main() -> None:
    cluster = Cluster(int(sys.argv[1]))
    _say(cluster.bootstrap)
    for line in sys.stdin:
        match line.split():
            case ["topic", name, partitions]:
                cluster.make(name, int(partitions))
                _say("made")
            case _:
                raise SystemExit(f"not understood: {line}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
