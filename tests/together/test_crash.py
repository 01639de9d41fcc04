"""A kill -9 at any moment loses and doubles nothing that was answered; a SIGTERM neither, and ends in time.

The proof is made by `checker` from the raw tables; that it catches what it is there for is tried on tampered copies.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.intake import envelope
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.stamps import Entry
from tests.conftest import FIGURES
from tests.together import checker
from tests.together.checker import Tables
from tests.together.service import Service
from tests.together.stream import Clients, Ledger, Told, requests

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

POSTS = 5_000
KILLS = 20
CLIENTS = 8
WITHIN_SECONDS = 0.03
"""How long after the post that it was chosen by a kill may come: longer than a commit."""
MERGED_WITHIN_SECONDS = 20
STOP_POSTS = 1_500
STOP_LIMIT_SECONDS = 10


@dataclass
class Aftermath:
    """What is left when a stream is over and the service has ended."""

    service: Service
    ledger: Ledger
    tables: Tables
    seconds: float
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.service.folder / "memory.db"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """5,000 posts by 8 clients at once, and 20 kills spread over them, each followed by a start on the same store."""
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    service = Service(tmp_path_factory.mktemp("killed")).start()
    began = time.monotonic()
    try:
        ledger = Ledger()
        clients = Clients(requests(POSTS, chance), lambda: service.url, service.key(), ledger, CLIENTS, seed)
        clients.start()
        for moment in sorted(chance.sample(range(POSTS // 100, POSTS - POSTS // 100), KILLS)):
            while clients.taken < moment and clients.is_busy():
                time.sleep(0.001)
            time.sleep(chance.uniform(0, WITHIN_SECONDS))
            service.kill()
            service.start()
        clients.join()
        _merged_to_the_end(service)
        assert service.stop() == 0
    finally:
        service.kill()
    seconds = time.monotonic() - began
    tables = checker.of_file(service.folder / "memory.db")
    figures = {"seed": seed, "posts": POSTS, "kills": KILLS} | checker.figures(tables, ledger)
    return Aftermath(service, ledger, tables, seconds, figures | {"seconds": round(seconds, 1)})


def _merged_to_the_end(service: Service) -> None:
    until = time.monotonic() + MERGED_WITHIN_SECONDS
    with service.client() as client:
        while client.get("/v1/ops/stats").raise_for_status().json()["unmerged"]:
            assert time.monotonic() < until, "what was accepted is still not merged"
            time.sleep(0.05)


def test_twenty_kills_lose_and_double_nothing_that_was_answered(
    killed: Aftermath, record_property: Callable[[str, object], None]
) -> None:
    record_property(FIGURES, killed.figures)
    assert checker.faults(killed.tables, killed.ledger) == []


def test_the_stream_and_the_kills_were_what_they_were_meant_to_be(killed: Aftermath) -> None:
    """A proof over an easy stream would prove nothing."""
    told, ledger, tables = killed.figures, killed.ledger, killed.tables
    assert told["broke off"] >= KILLS, "kills that met no request prove nothing"
    assert told["epochs"] == [KILLS + 1] * len(tables.fences)
    assert min(told["answers"].values()) > 0
    assert {"merged", "duplicate", "id_conflict"} <= told["answers"].keys()
    assert tables.repeats >= POSTS // 50
    assert set(told["of the writers themselves"]) == checker.INTERNAL
    assert any(key[1].startswith("~phone:") and row["redirected_to"] for key, row in tables.borrowers.items())
    assert len({told.body["type"] for told in ledger.told if "type" in told.body}) >= 10
    assert len(tables.borrowers) >= 200


def test_a_fold_of_the_journal_in_any_order_gives_the_same_bytes(killed: Aftermath) -> None:
    entries: dict[checker.Key, list[Entry]] = defaultdict(list)
    with closing(sqlite3.connect(killed.database)) as connection:
        for tenant, borrower_id, type_, body, stamps in connection.execute(
            "SELECT tenant, borrower_id, type, body, stamps FROM journal"
        ):
            entries[tenant, borrower_id].append(envelope.stored(type_, body, stamps))
    chance = random.Random(killed.figures["seed"])
    for key, own in entries.items():
        chance.shuffle(own)
        record = Record.new(key[1])
        for entry in own:
            record = merge(record, entry, _nothing_was_forgotten)
        assert record.to_bytes() == killed.tables.borrowers[key]["record"], f"{key} depends on the order"


def _nothing_was_forgotten(words: str) -> str:
    raise AssertionError("no words are compared where nothing was forgotten")


def test_a_rebuild_leaves_every_record_as_it_is_to_the_byte(killed: Aftermath, tmp_path: Path) -> None:
    service = _on_a_copy(killed, tmp_path)
    before = _all_rows(tmp_path / "memory.db")
    told = service.command("rebuild")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert (found["changed"], found["removed"]) == (0, 0)
    assert (found["borrowers"], found["entries"]) == (len(killed.tables.borrowers), len(killed.tables.journal))
    assert _all_rows(tmp_path / "memory.db") == before


def test_a_rebuild_mends_a_record_that_was_damaged_and_says_so(killed: Aftermath, tmp_path: Path) -> None:
    """The control of the test above: a rebuild that did nothing would pass it."""
    service = _on_a_copy(killed, tmp_path)
    before = _all_rows(tmp_path / "memory.db")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection, connection:
        connection.execute("UPDATE borrower SET record = ? WHERE borrower_id = 'B-7'", (Record.new("B-7").to_bytes(),))
        connection.execute("DELETE FROM borrower WHERE borrower_id = 'B-8'")
        connection.execute("INSERT INTO identifier VALUES ('acme', 'phone', '+919000000099', 'B-9')")
        connection.execute("UPDATE journey SET stage = 'paid' WHERE borrower_id = 'B-10'")
    assert _all_rows(tmp_path / "memory.db") != before
    found = json.loads(service.command("rebuild").stdout)
    assert found["changed"] == 2
    assert sorted(id_ for _, id_ in found["changed_ids"]) == ["B-7", "B-8"]
    assert _all_rows(tmp_path / "memory.db") == before


def _on_a_copy(killed: Aftermath, folder: Path) -> Service:
    """The same store with the same secret keys, in another folder."""
    for file in killed.service.folder.glob("memory.db*"):
        shutil.copy(file, folder)
    return Service(folder)


def _all_rows(database: Path) -> dict[str, list[Any]]:
    tables = ("borrower", "journey", "identifier", "loan", "started", "journal", "repeat", "set_aside")
    with closing(sqlite3.connect(database)) as connection:
        return {t: sorted(connection.execute(f"SELECT * FROM {t}").fetchall(), key=repr) for t in tables}


# -- the checker is checked ----------------------------------------------------------------------------------------------


def _loses_an_entry(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM journal WHERE event_id = (SELECT event_id FROM journal WHERE type = 'summary')")


def _doubles_an_entry(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO journal SELECT * FROM journal WHERE type = 'summary' LIMIT 1")


def _doubles_an_entry_elsewhere(connection: sqlite3.Connection) -> None:
    """As a second writer would have it: in another place, as another version."""
    connection.execute(
        "CREATE TEMP TABLE again AS SELECT * FROM journal WHERE type = 'summary' AND record_version > 1 LIMIT 1"
    )
    connection.execute("UPDATE again SET log_offset = 1000000, record_version = 999")
    connection.execute("INSERT INTO journal SELECT * FROM again")


def _makes_up_an_entry(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TEMP TABLE more AS SELECT * FROM journal WHERE type = 'summary' LIMIT 1")
    connection.execute("UPDATE more SET event_id = 'nobody-sent-this', log_offset = 1000000")
    connection.execute("INSERT INTO journal SELECT * FROM more")


def _changes_words(connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE journal SET body = CAST(replace(CAST(body AS TEXT), '.00\"', '.01\"') AS BLOB)"
        " WHERE event_id = (SELECT event_id FROM journal WHERE type = 'payment.confirmed')"
    )


def _lets_the_epoch_fall(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE journal SET epoch = 1 WHERE log_offset = (SELECT max(log_offset) FROM journal)")


def _sets_the_fence_back(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE writer_partition SET next_offset = next_offset - 1")


def _raises_a_version(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE borrower SET version = version + 1 WHERE borrower_id = 'B-5'")


def _loses_a_record(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM borrower WHERE borrower_id = 'B-5'")


def _takes_evidence_away(connection: sqlite3.Connection) -> None:
    raw = Record.new("B-5").to_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    connection.execute("UPDATE borrower SET record = ?, content_hash = ? WHERE borrower_id = 'B-5'", (raw, digest))


def _lowers_a_rung(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE journey SET rung = 'proposed' WHERE rung = 'confirmed'")


def _sets_a_flag(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE journey SET reminded = 1")


def _calls_an_entry_poison(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE set_aside SET reason = 'cannot_merge'")


def _forgets_conflicts(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM set_aside")


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        (_loses_an_entry, "lost"),
        (_doubles_an_entry, "doubled"),
        (_doubles_an_entry_elsewhere, "doubled"),
        (_makes_up_an_entry, "made up"),
        (_changes_words, "made up"),
        (_lets_the_epoch_fall, "position"),
        (_sets_the_fence_back, "position"),
        (_raises_a_version, "version"),
        (_loses_a_record, "version"),
        (_takes_evidence_away, "evidence"),
        (_lowers_a_rung, "conclusion"),
        (_sets_a_flag, "conclusion"),
        (_calls_an_entry_poison, "poison"),
        (_forgets_conflicts, "untrue"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__.strip("_"),
)
def test_the_checker_catches(
    killed: Aftermath, tmp_path: Path, tamper: Callable[[sqlite3.Connection], None], found: str
) -> None:
    copy = tmp_path / "tampered.db"
    with closing(sqlite3.connect(killed.database)) as real, closing(sqlite3.connect(copy)) as connection:
        real.backup(connection)
        connection.executescript(
            "ALTER TABLE journal RENAME TO bound; CREATE TABLE journal AS SELECT * FROM bound; DROP TABLE bound;"
        )
        assert checker.faults(checker.of_file(copy), killed.ledger) == []
        with connection:
            tamper(connection)
    kinds = {fault.partition(":")[0] for fault in checker.faults(checker.of_file(copy), killed.ledger)}
    assert found in kinds


def test_the_checker_catches_an_answer_for_what_was_never_stored(killed: Aftermath) -> None:
    first = next(told for told in killed.ledger.told if told.status == 200)
    gone = Told(first.body, 202, first.answer | {"event_id": "accepted-and-gone"})
    believed = Ledger(sent=killed.ledger.sent, told=[*killed.ledger.told, gone])
    assert [fault.partition(":")[0] for fault in checker.faults(killed.tables, believed)] == ["lost"]


# -- a graceful end ------------------------------------------------------------------------------------------------------


def test_sigterm_under_load_ends_in_time_with_0_and_loses_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    service = Service(tmp_path).start()
    try:
        ledger = Ledger()
        posts = requests(STOP_POSTS, random.Random(1))
        clients = Clients(posts, lambda: service.url, service.key(), ledger, CLIENTS, 1)
        clients.start()
        while clients.taken < STOP_POSTS // 3:
            time.sleep(0.001)
        began = time.monotonic()
        seen = _Readiness(service.url)
        assert service.process is not None
        service.process.send_signal(signal.SIGTERM)
        code = service.process.wait(STOP_LIMIT_SECONDS)
        took = time.monotonic() - began
        clients.stop()
        answers = seen.end()
        assert code == 0
        assert answers[-1] != 200, "it calls itself ready after it has ended"
        assert 200 not in answers[answers.index(next(a for a in answers if a != 200)) :], "it was ready once more"
        assert "Traceback" not in (tmp_path / "log").read_text()
        assert clients.taken < STOP_POSTS, "the stream was over before the service was stopped"
        service.start()
        _merged_to_the_end(service)
        assert service.stop() == 0
    finally:
        service.kill()
    tables = checker.of_file(tmp_path / "memory.db")
    record_property(FIGURES, {"seconds to stop": round(took, 2)} | checker.figures(tables, ledger))
    assert checker.faults(tables, ledger) == []
    assert len(ledger.told) >= STOP_POSTS // 3


class _Readiness:
    """What a load balancer sees meanwhile: statuses, and None for a connection that is refused or broken off."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._seen: list[int | None] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        while not self._ended.is_set():
            try:
                self._seen.append(httpx.get(f"{self._url}/readyz", timeout=5).status_code)
            except httpx.TransportError:
                self._seen.append(None)
            time.sleep(0.01)

    def end(self) -> list[int | None]:
        time.sleep(0.1)
        self._ended.set()
        self._thread.join()
        return self._seen
