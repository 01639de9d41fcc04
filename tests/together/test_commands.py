"""The command line as people run it: what it does to a store, what it refuses, and with which code it ends (API 2, 12, 13)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from service.keys import SCOPES
from tests.together.service import Service, ago, running

pytestmark = pytest.mark.process

DONE, FAILED, WRONG_USAGE = 0, 1, 2
STOP_LIMIT_SECONDS = 10


@pytest.fixture
def store(tmp_path: Path) -> Service:
    """A fresh folder; nothing is started."""
    return Service(tmp_path)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One that runs, for commands beside it that change nothing for each other."""
    with running(tmp_path_factory.mktemp("commands")) as service:
        yield service


# -- serving -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serving_says_where_once_it_is_ready_and_a_stop_is_no_failure(store: Service, number: signal.Signals) -> None:
    store.start()
    try:
        assert httpx.get(f"{store.url}/readyz").json() == {
            "status": "ready",
            "checks": {"database": "ok", "writer": "ok"},
        }
        assert store.stop(number) == DONE
    finally:
        store.kill()
    assert stat.S_IMODE(os.stat(store.folder / "memory.db").st_mode) == 0o600


def test_a_client_that_never_ends_its_request_does_not_keep_the_service_from_ending(store: Service) -> None:
    """It is answered 503 when its time is over; what is merged later was durable before it was answered."""
    store.start()
    try:
        place = httpx.URL(store.url)
        with socket.create_connection((place.host, place.port), STOP_LIMIT_SECONDS) as slow:
            head = f"POST /v1/summaries HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {store.key()}\r\n"
            slow.sendall(f'{head}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{{"channel":'.encode())
            time.sleep(0.2)
            assert store.process is not None
            store.process.send_signal(signal.SIGTERM)
            assert store.process.wait(STOP_LIMIT_SECONDS) == DONE
            got = slow.recv(65_536).decode()
    finally:
        store.kill()
    assert got.startswith("HTTP/1.1 503 ")
    assert "retry-after: 1" in got.lower()
    assert "Traceback" not in (store.folder / "log").read_text()


def test_the_installed_command_is_the_module(store: Service) -> None:
    command = Path(sys.executable).with_name("borrower-memory")
    words = ([str(command)], [sys.executable, "-m", "service"])
    told = [
        subprocess.run([*w, "floor", "table"], env=store.env, capture_output=True, check=True).stdout for w in words
    ]
    assert told[0] == told[1] != b""


def test_only_one_may_serve_and_a_rebuild_waits_its_turn(service: Service) -> None:
    for command in ("serve", "rebuild"):
        told = service.command(command)
        assert (told.returncode, told.stdout) == (FAILED, "")
        assert f"in use by process {service.process.pid}" in told.stderr  # type: ignore[union-attr]
    with service.client() as client:
        assert client.get("/readyz").status_code == 200


def test_a_port_that_is_taken_is_a_failure_in_one_sentence(service: Service, tmp_path: Path) -> None:
    port = service.url.rpartition(":")[2]
    told = Service(tmp_path, env={"BORROWER_MEMORY_PORT": port}).command("serve")
    assert told.returncode == FAILED
    assert told.stderr.splitlines()[-1].startswith("failed: ")
    assert "Traceback" not in told.stderr


def test_a_file_that_is_no_database_is_a_failure_and_stays_as_it_is(store: Service) -> None:
    assert store.command("migrate").returncode == DONE
    (store.folder / "memory.db").write_bytes(b"not a database, and of some length, so that it is looked at" * 20)
    before = (store.folder / "memory.db").read_bytes()
    for command in ("serve", "migrate"):
        told = store.command(command)
        assert told.returncode == FAILED
        assert told.stderr.splitlines()[-1].startswith("failed: memory.db is damaged or is no SQLite file")
    assert (store.folder / "memory.db").read_bytes() == before


def test_tables_of_a_later_version_are_a_failure(store: Service) -> None:
    assert store.command("migrate").returncode == DONE
    with closing(sqlite3.connect(store.folder / "memory.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    told = store.command("serve")
    assert told.returncode == FAILED
    assert "another version" in told.stderr


def test_migrating_makes_the_tables_and_again_changes_nothing(store: Service) -> None:
    for _ in range(2):
        told = store.command("migrate")
        assert (told.returncode, told.stdout) == (DONE, "the database is at this version's tables\n")
    with closing(sqlite3.connect(store.folder / "memory.db")) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"journal", "borrower", "writer_partition"} <= names


# -- keys ----------------------------------------------------------------------------------------------------------------


def test_a_key_is_made_listed_and_revoked(service: Service) -> None:
    made = service.command("keys", "create", "--tenant", "acme", "--scopes", "read,events:agent", "--name", "asha")
    assert (made.returncode, made.stderr) == (DONE, "")
    (line,) = made.stdout.splitlines()
    key = json.loads(line)
    assert key.keys() == {"key", "key_id", "tenant", "scopes", "expires_at"}
    assert (key["tenant"], key["scopes"], key["expires_at"]) == ("acme", ["read", "events:agent"], None)
    assert re.fullmatch(rf"bm_{key['key_id']}_\S{{20,}}", key["key"])

    listed = service.command("keys", "list", "--tenant", "acme").stdout
    assert key["key"] not in listed
    own = next(k for k in map(json.loads, listed.splitlines()) if k["key_id"] == key["key_id"])
    assert own["name"] == "asha"

    header = {"Authorization": f"Bearer {key['key']}"}
    ask = {"channel": "voice", "borrower_id": "B-1"}
    assert httpx.post(f"{service.url}/v1/resume", headers=header, json=ask).status_code == 200
    assert httpx.get(f"{service.url}/v1/ops/stats", headers=header).json()["scope"] == "ops"
    revoked = service.command("keys", "revoke", key["key_id"])
    assert (revoked.returncode, json.loads(revoked.stdout)) == (DONE, {"key_id": key["key_id"], "revoked": True})
    until = time.monotonic() + 5  # API 2
    while True:
        asked_at = time.monotonic()  # not when it was answered, which may take its time
        if httpx.post(f"{service.url}/v1/resume", headers=header, json=ask).status_code == 401:
            break
        assert asked_at < until, "a revoked key still works"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("tenant", "scopes", "said"),
    [("acme", "read,everything", "everything"), ("acme", "", "scope"), ("Acme Ltd", "read", "tenant")],
)
def test_a_key_that_cannot_be_is_wrong_usage(service: Service, tenant: str, scopes: str, said: str) -> None:
    told = service.command("keys", "create", "--tenant", tenant, "--scopes", scopes)
    assert (told.returncode, told.stdout) == (WRONG_USAGE, "")
    assert said in told.stderr


def test_a_key_of_every_scope_can_be_made(service: Service) -> None:
    made = service.command("keys", "create", "--tenant", "all", "--scopes", " , ".join(SCOPES))
    assert json.loads(made.stdout)["scopes"] == list(SCOPES)


def test_revoking_what_is_no_key_fails(store: Service) -> None:
    told = store.command("keys", "revoke", "nobody")
    assert (told.returncode, told.stdout, told.stderr) == (FAILED, "", "no key nobody\n")


def test_a_tenant_without_keys_lists_none(store: Service) -> None:
    told = store.command("keys", "list", "--tenant", "nobody")
    assert (told.returncode, told.stdout) == (DONE, "")


# -- what was set aside ----------------------------------------------------------------------------------------------------


def test_what_was_set_aside_is_listed_and_tried_again_while_nobody_serves(tmp_path: Path) -> None:
    body = {"event_id": "e-1", "borrower_id": "B-1", "channel": "voice", "conversation_id": "c-1", "outcome": "busy"}
    with running(tmp_path) as service, service.client() as client:
        assert client.post("/v1/summaries", json=body | {"ended_at": ago(hours=2)}).status_code == 200
        assert client.post("/v1/summaries", json=body | {"ended_at": ago(hours=3)}).status_code == 409
        listed = service.command("set-aside", "list", "--tenant", "acme")
        assert listed.returncode == DONE
        (item,) = map(json.loads, listed.stdout.splitlines())
        assert (item["reason"], item["event_id"], item["status"]) == ("id_conflict", "e-1", "open")
        busy = service.command("set-aside", "retry", "--tenant", "acme", str(item["id"]))
        assert busy.returncode == FAILED
        assert "in use by process" in busy.stderr
    again = service.command("set-aside", "retry", "--tenant", "acme", str(item["id"]))
    assert again.returncode == DONE, again.stderr
    assert json.loads(again.stdout)["status"] == "refused"
    refused = service.command("set-aside", "list", "--tenant", "acme", "--status", "refused").stdout
    assert json.loads(refused)["id"] == item["id"]


def test_what_is_not_there_cannot_be_tried_again(store: Service) -> None:
    told = store.command("set-aside", "retry", "--tenant", "acme", "7")
    assert (told.returncode, told.stdout) == (FAILED, "")
    nobody, nothing = told.stderr.splitlines()
    assert nobody.startswith("note: there is no tenant acme")
    assert nothing == "nothing is set aside under 7"


# -- rebuild ------------------------------------------------------------------------------------------------------------


def test_a_rebuild_of_an_empty_store_finds_nothing(store: Service) -> None:
    told = store.command("rebuild")
    assert told.returncode == DONE
    assert json.loads(told.stdout) == {"borrowers": 0, "entries": 0, "changed": 0, "changed_ids": [], "removed": 0}
