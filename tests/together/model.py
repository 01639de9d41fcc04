"""A model behind an endpoint of OpenAI's form that says what it is told to: right, slow, silent, garbage, or an error.

What is asked is kept, so that a test sees what a model was shown. An answer is chosen by a text that stands in the request;
where none does, the summary only says that something was written.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.limits import STAND_IN_POLL_SECONDS

Scripted = str | int | float
"""A content, a status to fail with, or so many seconds of silence."""


def chosen(summary: str, **fields: Any) -> str:
    """An answer of the summariser's form."""
    return json.dumps({"summary": summary, "reached": None, **fields})


class ModelServer:
    """Listens on loopback while the block runs. `answers`: by a text of the request, what is said to it, in turn."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.answers: dict[str, list[Scripted]] = {}
        self.otherwise: Scripted = chosen("The borrower wrote to us.")
        self.decide: Callable[[str], Scripted] | None = None
        """Where a test would rather say it by what is asked."""
        self.pause_seconds = 0.0
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def __enter__(self) -> ModelServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                said = outer._scripted(self.path, json.loads(body))
                outer._stopping.wait(outer.pause_seconds)
                if isinstance(said, float):
                    outer._stopping.wait(said)
                    return
                status, content = (said, "") if isinstance(said, int) else (200, said)
                answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(STAND_IN_POLL_SECONDS,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _scripted(self, path: str, request: dict[str, Any]) -> Scripted:
        assert path == "/v1/chat/completions"
        assert not request.get("stream")
        assert "tools" not in request
        text = "\n".join(message["content"] for message in request["messages"])
        with self._lock:
            self.requests.append(text)
            for mark, answers in self.answers.items():
                if mark in text and answers:
                    return answers.pop(0)
        return self.otherwise if self.decide is None else self.decide(text)


def wait_for(server: ModelServer, count: int, seconds: float = 10.0) -> None:
    """Until so many requests were made."""
    end = time.monotonic() + seconds
    while len(server.requests) < count and time.monotonic() < end:
        time.sleep(0.01)
