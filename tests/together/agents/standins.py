"""What agents speak to beside the memory, on loopback: a model that streams what it is told to say, and a platform's own API.

Both keep what they were asked, as it came over the wire: what the model saw, and how the platform was told to begin.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Json = dict[str, Any]


class _Standin:
    """Listens while the block runs."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(asked)
                content_type, said = outer._answer(asked)
                self.send_response(200)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def _answer(self, asked: Json) -> tuple[str, bytes]:
        raise NotImplementedError

    def __enter__(self) -> Any:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"


class StreamingModel(_Standin):
    """An endpoint of OpenAI's form; `says`: one thing after the other, and then the last again."""

    def __init__(self, *says: str) -> None:
        super().__init__()
        self._says = says

    def _answer(self, asked: Json) -> tuple[str, bytes]:
        said = self._says[min(len(self.requests), len(self._says)) - 1]
        head = {"id": "c-1", "object": "chat.completion.chunk", "created": 0, "model": asked["model"]}
        lines = []
        for delta, reason in (({"role": "assistant", "content": said}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            lines.append(f"data: {json.dumps({**head, 'choices': [choice]})}\n\n")
        return "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()

    def saw(self, turn: int = 0) -> list[tuple[str, str]]:
        """Role and text of every message of a request."""
        return [(message["role"], message["content"]) for message in self.requests[turn]["messages"]]


class Platform(_Standin):
    """An API that takes any call and answers always the same."""

    def __init__(self, answers: Json) -> None:
        super().__init__()
        self._answers = json.dumps(answers).encode()

    def _answer(self, asked: Json) -> tuple[str, bytes]:
        return "application/json", self._answers
