"""What the service is measured against: the least that could answer at all, on the same server, in a process of its own.

    stored      a bare Starlette route that reads the stored bytes of a key with sqlite3 and returns them
    validated   FastAPI routes that validate the body with the service's own models and answer its id

Run as `python -m tests.benchmarks.baselines stored|validated [DATABASE TENANT]`; it prints where it listens.
"""

from __future__ import annotations

import socket
import sqlite3
import sys

import uvicorn
import uvloop
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from statemachine.entries import HardEvent, Summary


def stored(database: str, tenant: str) -> ASGIApp:
    """GET /{key}: the record of a borrower, as its bytes stand in the file."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, cached_statements=8)
    wanted = "SELECT record FROM borrower WHERE tenant = ? AND borrower_id = ?"

    async def read(request: Request) -> Response:
        row = connection.execute(wanted, (tenant, request.path_params["key"])).fetchone()
        return Response(row[0], media_type="application/json")

    return Starlette(routes=[Route("/{key}", read)])


def validated() -> ASGIApp:
    """POST /summaries, POST /events: 200 for a body that checks, as FastAPI reads and writes it."""
    app = FastAPI()

    @app.post("/summaries")
    async def take_summary(body: Summary) -> dict[str, str]:
        return {"event_id": body.id}

    @app.post("/events")
    async def take_event(body: HardEvent) -> dict[str, str]:
        return {"event_id": body.id}

    return app


async def _serve(app: ASGIApp) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sys.stdout.write(f"listening on http://127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, loop="uvloop", http="httptools", lifespan="off", log_config=None, access_log=False)
    await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    name, *arguments = sys.argv[1:]
    uvloop.run(_serve(stored(*arguments) if name == "stored" else validated()))


if __name__ == "__main__":
    main()
