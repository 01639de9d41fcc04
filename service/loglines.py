"""One JSON line for each unit of work, on standard error.

A line by itself costs a system call, and a busy service says thousands of them a second. So what is said during one turn of
the event loop is written at its end. What is said elsewhere, in a thread or without a loop, is written at once.

What other packages say is told from warnings on, whatever the level: at their finest they repeat requests, and with them what a
borrower said. Of a warning the template is told and not what was put into it, of an exception its type and not its message.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import sys
import threading
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

import msgspec
import structlog

LINES_LIMIT: Final = 256  # kept at most; then they are written, however long the turn still takes
TEMPLATE_CHARACTERS: Final = 200


def log_to_stderr(level: str) -> None:
    """What this process says from now on, from this level on."""
    lines = Lines(sys.stderr.buffer)
    logging.basicConfig(level=max(logging.WARNING, logging.getLevelName(level)), handlers=[Others(lines)], force=True)
    atexit.register(lines.write)
    structlog.configure(
        processors=[_said],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=lambda *_: _Logger(lines),
        cache_logger_on_first_use=True,
    )


class Lines:
    """Lines on their way out."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._waiting: list[bytes] = []
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        """Which will write what waits, at the end of its turn."""

    def add(self, line: bytes) -> None:
        """Never raises, and does not wait for a loop that has ended."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        with self._lock:
            self._waiting.append(line)
            at_once = loop is None or len(self._waiting) >= LINES_LIMIT
            ask = not at_once and self._loop is not loop
            if ask:
                self._loop = loop
        if at_once:
            self.write()
        elif ask and loop is not None:
            loop.call_soon(self.write)

    def write(self) -> None:
        """All that waits, now. Nobody fails because nobody reads it."""
        with self._lock:
            waiting, self._waiting, self._loop = self._waiting, [], None
            if not waiting:
                return
            try:
                self._out.write(b"\n".join(waiting) + b"\n")
                self._out.flush()
            except (OSError, ValueError):  # the reader is gone, or the stream is closed
                return


class Others(logging.Handler):
    """Lines of other packages, in our form and without a value of theirs."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        template = record.msg.partition("\n")[0] if isinstance(record.msg, str) else type(record.msg).__name__
        said = {
            "event": "library",
            "library": record.name,
            "says": template[:TEMPLATE_CHARACTERS],
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            said["fault"] = record.exc_info[0].__name__
        self._lines.add(rendered(None, "", said))


class _Logger:
    """What structlog hands its rendered events to."""

    def __init__(self, lines: Lines) -> None:
        self.msg = lines.add
        self.debug = self.info = self.warning = self.error = self.critical = self.exception = self.msg


def _said(logger: object, level: str, event: MutableMapping[str, Any]) -> bytes:
    """The event with its level and the time, as a line: in one step, for there is one for every request."""
    event["level"] = level
    event["timestamp"] = datetime.now(UTC).isoformat(timespec="microseconds")[:26] + "Z"
    return rendered(logger, level, event)


def rendered(_: object, __: str, event: Mapping[str, Any]) -> bytes:
    """The event as a line. What is no JSON is said as `repr` says it."""
    try:
        return _ENCODER.encode(event)
    except (
        TypeError,
        ValueError,
        OverflowError,
    ):  # half a surrogate, a number of more than 64 bits, keys that are no text
        return json.dumps(event, default=repr, skipkeys=True).encode()


_ENCODER: Final = msgspec.json.Encoder(enc_hook=repr)
