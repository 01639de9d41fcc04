"""A service whose agents draw decisions, the source that they rest on, and how its processes are killed and started again.

The source is a small server that can be asked, moved on and taken away. Nothing here knows what is right.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.together.conftest import Json, Tenant
from tests.together.fleet import Fleet
from tests.together.service import Service, ago

SOURCE_KEY = "of-the-source"
SETTLED_SECONDS = 45


class Source:
    """A lender's source of offers, over HTTP: at a version, or answering nothing of use."""

    def __init__(self) -> None:
        self.version: str | None = "v12"
        self.asked: list[Json] = []
        self.keys: set[str | None] = set()
        source = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                source.keys.add(self.headers.get("Authorization"))
                source.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                body = json.dumps({"version": source.version}).encode() if source.version else b"away"
                self.send_response(200 if source.version else 500)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing of it is to be seen."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def env(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.server.server_port}/versions"
        return {"BORROWER_MEMORY_SOURCE_URL": url, "BORROWER_MEMORY_SOURCE_KEY": SOURCE_KEY}

    def __enter__(self) -> Source:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@dataclass
class World:
    """A service, its source, and how its writer is killed and started again."""

    service: Service
    source: Source
    kill_writer: Callable[[], object]
    start_writer: Callable[[], object]

    def __post_init__(self) -> None:
        self.key = self.service.key()

    @property
    def acme(self) -> Tenant:
        """Of the process that runs now."""
        return Tenant(self.service, key=self.key)

    def decide(
        self, decision_id: str, version: str = "v12", borrower: str = "B-1", minutes: float = 60, **own: Any
    ) -> Json:
        body = {
            "decision_id": decision_id, "borrower_id": borrower, "kind": "waiver", "conclusion": "offer 10% waiver",
            "source": "offers", "source_version": version, "decided_at": ago(minutes=minutes),
        }  # fmt: skip
        told: Json = self.acme.post("/v1/decisions", body | own, status=201)
        return told

    def see(self, version: str, minutes: float) -> int:
        told = {"source": "offers", "version": version, "observed_at": ago(minutes=minutes)}
        return int(self.acme.post("/v1/sources", told)["stale_decisions"])

    def check(self, decision_id: str, status: int, **body: Any) -> Json:
        told: Json = self.acme.post(f"/v1/decisions/{decision_id}/check", body, status=status)
        return told

    def current(self, borrower: str = "B-1") -> set[str]:
        return {item["decision_id"] for item in self.acme.get(f"/v1/borrowers/{borrower}/decisions")["items"]}

    def past(self, decision_id: str, borrower: str = "B-1") -> Json:
        items = self.acme.get(f"/v1/borrowers/{borrower}/decisions", purpose="history")["items"]
        (found,) = [item for item in items if item["decision_id"] == decision_id]
        return found  # type: ignore[no-any-return]

    def corrections(self, status: str | None = None) -> list[Json]:
        items: list[Json] = self.acme.get("/v1/ops/corrections")["items"]
        return [item for item in items if status is None or item["status"] == status]

    def execute(self, *statements: str) -> None:
        """In the database itself, beside the service."""
        if isinstance(self.service, Fleet):
            for statement in statements:
                self.service.rows(statement)
            return
        with contextlib.closing(sqlite3.connect(self.service.folder / "memory.db", timeout=30)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    @contextlib.contextmanager
    def refusing(self, table: str) -> Iterator[None]:
        """Within the block the database takes no row of this table."""
        if isinstance(self.service, Fleet):
            self.execute(
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'broken'; END$$",
                f"CREATE TRIGGER broken BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION broken()",
            )
        else:
            self.execute(f"CREATE TRIGGER broken BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'broken'); END")
        try:
            yield
        finally:
            if isinstance(self.service, Fleet):
                self.execute(f"DROP TRIGGER broken ON {table}", "DROP FUNCTION broken()")
            else:
                self.execute("DROP TRIGGER broken")

    def settled(self) -> list[Json]:
        """Once no correction is pending."""
        end = time.monotonic() + SETTLED_SECONDS
        while pending := self.corrections("pending"):
            assert time.monotonic() < end, pending
            time.sleep(0.2)
        return self.corrections()
