"""Who may write into a text for a model: the table is whole, and no request has a byte that nobody answers for (DESIGN 10)."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from channels import CHANNELS
from channels.chats import Said
from service.models.asking import Message
from service.models.endpoint import Endpoint
from service.summariser import Summariser
from service.web.app import application
from service.writers import PAGE, PLACES, TEXTS, page
from service.written import Piece
from statemachine.volatility import TOOLS, WRITERS, Volatility, Writer
from tests.service.api import Api, api
from tests.service.proposer.conftest import MODEL, promised, proposer, settled
from tests.together.model import ModelServer, chosen

ROOT = Path(__file__).parents[2]
T = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)


# -- the table -----------------------------------------------------------------------------------------------------------


def test_the_page_is_the_table() -> None:
    """While working, lines that merely moved are written anew; anything else, and in CI these too, has to be committed."""
    told, now = PAGE.read_text(), page()
    if told != now and _without_lines(told) == _without_lines(now) and not os.environ.get("CI"):
        PAGE.write_text(now)
        return
    assert told == now, "out of date: `make format` writes it"


def _without_lines(text: str) -> str:
    return re.sub(r":[0-9]+`", "`", text)


def test_every_writer_has_a_place_and_every_text_a_writer() -> None:
    assert PLACES.keys() == set(Writer)
    assert {text for its in PLACES.values() for text in its.into} == set(TEXTS)
    assert all(its.places and its.writes for its in PLACES.values())


def test_what_may_be_replayed_is_never_live() -> None:
    """Instructions may be replayed, measurements never: what stands still in a prompt is written by nobody who reads."""
    still = {
        Writer.INSTRUCTION, Writer.RECORD, Writer.FACT, Writer.REPORT, Writer.DECISION, Writer.FRAME,
        Writer.SUMMARISE, Writer.PROPOSE,
    }  # fmt: skip
    assert [name for name in still if WRITERS[name] is Volatility.LIVE] == []
    assert WRITERS[Writer.READING] is Volatility.LIVE


def test_every_call_of_ours_that_an_agent_can_be_answered_from_has_its_volatility() -> None:
    document = application(SimpleNamespace(observe=None)).openapi()  # type: ignore[arg-type]
    calls = {
        operation["operationId"]
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if path.startswith("/v1/") and not path.startswith("/v1/ops/")
    }
    assert calls - {str(tool) for tool in TOOLS} == set(), "add a row to statemachine.volatility.TOOLS"


def test_messages_are_made_where_the_table_says_and_nowhere_else() -> None:
    found = set()
    for file in sorted((ROOT / "service").rglob("*.py")):
        tree = ast.parse(file.read_text())
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "service.models.asking"
            for alias in node.names
        }
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if "Message" in imported & calls:
            found.add(file.relative_to(ROOT).as_posix())
    assert found == {"service/summariser.py", "service/proposer/prompts.py"}


# -- what models are asked -------------------------------------------------------------------------------------------------


class Watched:
    """A model behind an endpoint; keeps the pieces of what is sent to it."""

    name = MODEL

    def __init__(self, server: ModelServer) -> None:
        self._endpoint = Endpoint(server.url, MODEL, None)
        self.sent: list[tuple[Piece, ...]] = []

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        pieces: list[Piece] = []
        for message in messages:
            pieces += [Piece(Writer.FRAME, "\n")] * bool(pieces) + list(
                message.content.pieces
            )  # as the server joins them
        self.sent.append(tuple(pieces))
        return await self._endpoint.complete(messages, seconds=seconds, tokens=tokens)

    async def close(self) -> None:
        await self._endpoint.close()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path, model=MODEL) as opened:
        yield opened


def of(pieces: Sequence[Piece], writer: Writer) -> str:
    return "\n".join(piece.text for piece in pieces if piece.writer == writer)


async def test_no_byte_of_a_summarisers_request_is_without_a_writer() -> None:
    said = [
        Said("borrower", "kitna baaki hai?", T),
        Said("agent", "Your outstanding is 12,400.", T + timedelta(minutes=1), ("get_dues",), T),
        Said("borrower", "25 ko 5000 de dungi", T + timedelta(minutes=2)),
    ]
    with ModelServer() as server:
        server.otherwise = chosen("Her balance is 12,400.")  # refused, so that it is asked again
        model = Watched(server)
        made = await Summariser(model).summarise(said, CHANNELS["whatsapp"], ended_at=T, zone="Asia/Kolkata")
        await model.close()
    assert made.refused is not None
    assert ["".join(piece.text for piece in sent) for sent in model.sent] == server.requests
    assert len(server.requests) == 2
    first, second = model.sent
    assert of(first, Writer.CONVERSATION) == "BORROWER: kitna baaki hai?\nBORROWER: 25 ko 5000 de dungi"
    assert "withheld" in of(first, Writer.WITHHELD)
    assert of(second, Writer.REFUSED)
    assert {piece.writer for sent in model.sent for piece in sent} <= PLACES.keys()
    assert not any("12,400" in request for request in server.requests)
    assert not any(word in of(second, Writer.SUMMARISE) for word in ("kitna", "5000", "12,400"))


async def test_no_byte_of_a_classifiers_request_is_without_a_writer(service: Api) -> None:
    borrower, _ = await promised(service, summary="She will pay 5,000 after her salary. Her balance is 12,400.")
    briefing = (await service.get(f"/v1/borrowers/{borrower}/briefing?channel=voice"))["text"]
    with ModelServer() as server:
        server.otherwise = json.dumps({"state": "reminder"})
        model = Watched(server)
        await settled(service)
        assert await proposer(service, model).propose() == len(CHANNELS)  # type: ignore[arg-type]
        await model.close()
    assert sorted("".join(piece.text for piece in sent) for sent in model.sent) == sorted(server.requests)
    for sent in model.sent:
        assert of(sent, Writer.BRIEFING) == briefing
        assert of(sent, Writer.POSITION) in ("confirmation", "reminder")
        assert {piece.writer for piece in sent} == {"propose", "position", "briefing", "frame"}
        assert not any(word in of(sent, Writer.PROPOSE) for word in ("5,000", "salary"))
        assert "12,400" not in "".join(piece.text for piece in sent)
