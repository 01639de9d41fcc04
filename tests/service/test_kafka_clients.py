"""How our clients reach Kafka and PostgreSQL: settings become their arguments, TLS is real TLS, and memory is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from service import settings
from service.database import DatabaseUnavailable
from service.intake import kafka_producer
from service.intake.kafka_producer import IN_FLIGHT_BYTES, KafkaProducer, Message
from service.intake.kafka_topics import Cluster, Topic, found
from service.intake.log import LogBusy, LogUnavailable
from service.postgres import PostgresDatabase

SERVER = "postgresql://u:p@db.example/bm"
KEYS = {"SECRET_KEYS": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "DATABASE_URL": SERVER}


def configured(**given: str) -> settings.Settings:
    named = {**KEYS, "KAFKA_BOOTSTRAP_SERVERS": "k1:9092,k2:9093", **given}
    return settings.load({f"BORROWER_MEMORY_{name}": value for name, value in named.items()})


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of `localhost`, signed by itself: in one file with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return file


# -- settings become arguments -----------------------------------------------------------------------------------------


def test_without_anything_said_the_wire_is_plain() -> None:
    assert Cluster.of(configured()).client() == {
        "bootstrap_servers": ["k1:9092", "k2:9093"],
        "client_id": "borrower-memory",
        "security_protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_a_name_and_a_password_reach_every_client(protocol: str, mechanism: str) -> None:
    given = {"KAFKA_SASL_MECHANISM": mechanism, "KAFKA_SASL_USERNAME": "u", "KAFKA_SASL_PASSWORD": "p-secret"}
    cluster = Cluster.of(configured(KAFKA_SECURITY_PROTOCOL=protocol, **given))
    told = cluster.client()
    assert (told["security_protocol"], told["sasl_mechanism"]) == (protocol, mechanism)
    assert (told["sasl_plain_username"], told["sasl_plain_password"]) == ("u", "p-secret")
    assert isinstance(told.get("ssl_context"), ssl.SSLContext) == (protocol == "SASL_SSL")
    assert "p-secret" not in repr(cluster)
    AIOKafkaProducer(**told)  # takes them: it checks what belongs together before it connects


def test_tls_proves_the_server_and_its_name_by_the_file_that_is_given(certificate: Path) -> None:
    ours = Cluster.of(configured(KAFKA_SECURITY_PROTOCOL="SSL", KAFKA_SSL_CAFILE=str(certificate.parent / "ca.pem")))
    context = ours.client()["ssl_context"]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert [one["serialNumber"] for one in context.get_ca_certs()] == ["01"]


def test_how_postgresql_is_reached_over_tls_stands_in_its_url() -> None:
    url = f"{SERVER}?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    dsn = configured(DATABASE_URL=url).database.postgres_dsn
    assert dsn is not None
    assert dsn.endswith("/bm?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem")


# -- TLS is real TLS ---------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def tls(certificate: Path, seen: list[bytes]) -> AsyncIterator[int]:
    """A server on loopback that notes what it is told first, and hangs up."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(64))
        writer.close()

    server = await asyncio.start_server(note, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_broker_is_spoken_to_only_when_its_certificate_is_proven(certificate: Path, trusted: bool) -> None:
    seen: list[bytes] = []
    authority = {"KAFKA_SSL_CAFILE": str(certificate.parent / "ca.pem")} if trusted else {}
    async with tls(certificate, seen) as port:
        named = {"KAFKA_BOOTSTRAP_SERVERS": f"localhost:{port}", "KAFKA_SECURITY_PROTOCOL": "SSL"}
        with pytest.raises(LogUnavailable):
            await found(Cluster.of(configured(**named, **authority)), Topic("t", 1))
    assert any(seen) == trusted


async def test_a_database_without_tls_is_not_used_when_tls_is_asked_for() -> None:
    seen: list[bytes] = []

    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(8))
        writer.write(b"N")  # no TLS here
        await writer.drain()
        seen.append(await reader.read(8))
        writer.close()

    server = await asyncio.start_server(refuses, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DatabaseUnavailable):
            await PostgresDatabase.open(f"postgresql://u:p@127.0.0.1:{port}/bm?sslmode=require")
    asked_for_tls = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
    assert set(seen) - {b""} == {asked_for_tls}


# -- how much may be on its way ----------------------------------------------------------------------------------------


class Client:
    """Takes messages and answers when it is told to."""

    def __init__(self) -> None:
        self.sent: list[asyncio.Future[Any]] = []

    async def send(self, *_: Any, **__: Any) -> asyncio.Future[Any]:
        self.sent.append(asyncio.get_running_loop().create_future())
        return self.sent[-1]

    def answer(self) -> None:
        for number, future in enumerate(self.sent):
            if not future.done():
                future.set_result(SimpleNamespace(offset=number))

    async def stop(self) -> None:
        self.answer()


async def test_more_than_may_be_on_its_way_is_told_at_once_and_taken_later(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()

    async def started(_: Cluster) -> Any:
        return client

    monkeypatch.setattr(kafka_producer, "_started", started)
    producer = KafkaProducer(Cluster(("nowhere:1",)))
    large = Message("t", 0, b"k", b"x" * (IN_FLIGHT_BYTES // 2))
    sending = [asyncio.ensure_future(producer.send([large])) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert [type(one.exception()) if one.done() else None for one in sending] == [None, LogBusy, LogBusy]
    client.answer()
    assert await sending[0] == [0]
    again = asyncio.ensure_future(producer.send([large]))
    await asyncio.sleep(0.01)
    client.answer()
    assert await again == [1]
    assert producer.rebuilt == 0
    await producer.close()


async def test_what_alone_is_more_than_that_is_sent_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()

    async def started(_: Cluster) -> Any:
        return client

    monkeypatch.setattr(kafka_producer, "_started", started)
    producer = KafkaProducer(Cluster(("nowhere:1",)))
    sending = asyncio.ensure_future(producer.send([Message("t", 0, b"k", b"x" * (IN_FLIGHT_BYTES + 1))]))
    await asyncio.sleep(0.01)
    client.answer()
    assert await sending == [0]
    await producer.close()
