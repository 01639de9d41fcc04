"""Words planted wherever a borrower's words may lie, and the search for what is left of them: every column of every table,
sealed ones opened, the files of SQLite, and every answer of the API."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from channels.vendors import VENDORS
from service.hooks import bodies, registry
from service.secrets import CannotOpen
from service.tables import METADATA
from tests.service.api import Api
from tests.service.embedded import SECRETS, TENANT

READS = (
    "", "/briefing", "/facts", "/flags", "/timeline?limit=200", "/decisions", "/decisions?purpose=history", "/export",
)  # fmt: skip
LISTS = (
    "/v1/ops/set-aside",
    "/v1/ops/resumes",
    "/v1/ops/missing-reports",
    "/v1/ops/summaries-waiting",
    "/v1/borrowers",
)
TOLD_BY_TOOLS: dict[str, dict[str, Any]] = {
    "get_briefing": {"channel": "voice"},
    "get_decisions": {"purpose": "history"},
    "get_facts": {},
    "get_flags": {},
    "recall": {"query": "wife money waiver", "purpose": "history"},
    "context": {"channel": "voice", "turn_id": "t-1", "question": "who is it?"},
    "resume": {"channel": "voice"},
}


@dataclass
class Planted:
    """One borrower with a word in everything that was told of them, and a number under which more was told before."""

    api: Api
    borrower: str
    word: str
    numbers: tuple[str, ...] = ()
    """Numbers that were linked, in canonical form."""

    async def plant(self) -> None:
        api, word = self.api, self.word
        phone = api.phone()
        self.numbers = (phone["value"],)
        told = await api.told(
            identifier=phone, hours=300, summary=f"Somebody called {word} rang.", turns=_turns(f"mera naam {word} hai"),
        )  # fmt: skip
        assert told["borrower_id"].startswith("~")
        await api.event("identifier.linked", self.borrower, hours=350, identifier=phone)
        quote = f"meri wife {word} salary ke baad 5000 de degi"
        await api.told(
            self.borrower,
            summary=f"His wife {word} handles the money. She will pay on Friday.",
            disposition=f"spoke of {word}",
            agent=f"bot {word}",
            extra={"crm": {f"{word} note": [word]}},
            turns=[*_turns(f"meri wife {word} hai", quote), {"speaker": "agent", "text": f"Thik hai, {word}"}],
            facts=[
                {"kind": "household", "text": f"wife is {word}", "confidence": 0.9, "quote": f"meri wife {word} hai"},
            ],
            commitment=api.promise(quote=quote, amount_said=f"{word} ke 5000", due_date_said=f"{word} ke din"),
            payment_claim={"quote": f"{word} ne bhara"},
            callback={"at_said": f"{word} ke aane par", "quote": f"{word} se baat karo"},
        )  # fmt: skip
        await api.told(self.borrower, outcome="third_party", third_party=f"{word} didi", hours=5)
        await api.event("fact.stated", self.borrower, kind="payer", text=f"{word} pays for her")
        await api.event("hold.placed", self.borrower, kind="dispute", reason=f"{word} says it is wrong")
        await api.event("hold.placed", self.borrower, hours=3, kind="other", reason=f"{word} asks for time")
        await api.event("hold.lifted", self.borrower, hours=2, kind="other", reason=f"{word} called")
        await api.event(
            "promise.retracted", self.borrower, hours=0.2, reason=f"{word} never agreed", conversation_id="c-none"
        )
        begun = {"channel": "voice", "conversation_id": api.name("s"), "entered_state": f"at {word}"}
        await api.event("conversation.started", self.borrower, hours=0.2, **begun)
        await api.event("contact.opted_out", self.borrower, channel="voice", extra={"by": word})
        await api.event("payment.confirmed", self.borrower, payment_ref=api.name("P"), amount="100", currency="INR")
        await api.event("identity.verified", self.borrower, identifier=phone, method="otp", channel="voice", hours=30)
        await api.event("identity.revoked", self.borrower, identifier=phone, reason=f"{word} had the phone")
        spoken = phone["value"].replace("+91", "0")
        await api.told(self.borrower, hours=20, identifier=phone | {"value": spoken}, summary=f"{word} on {spoken}.")
        chat = {"channel": "whatsapp", "conversation_id": api.name("w"), "message_id": api.name("m")}
        await api.event("conversation.message", speaker="borrower", text=f"hello from {word}", identifier=phone, **chat)
        await api.event("conversation.ended", self.borrower, **{n: v for n, v in chat.items() if n != "message_id"})
        clash = {"event_id": api.name("clash"), "type": "fact.stated", "occurred_at": api.ago(hours=2), "kind": "payer"}
        for text in ("mother", f"mother {word}"):
            await api.post("/v1/events", clash | {"borrower_id": self.borrower, "text": text})
        await self._around()

    async def _around(self) -> None:
        """What lies beside the record: starts, permits, decisions, bodies of hooks, examples."""
        api, word = self.api, self.word
        resume = await api.resume(self.borrower, proposal={"state": word})
        await api.told(self.borrower, resume_id=resume["resume_id"], entered_state=f"at {word}", agent=word)
        other = await api.told(self.borrower, hours=0.5, summary=f"{word} again.")
        assert other.status == 200
        made = await api.post(
            "/v1/decisions",
            {
                "decision_id": api.name("D"), "borrower_id": self.borrower, "kind": f"waiver {word}", "source": "offers",
                "conclusion": f"waiver for {word}", "source_version": "v1", "decided_at": api.ago(hours=1), "agent": word,
                "execution_id": f"run of {word}",
            },
        )  # fmt: skip
        assert made.status == 201, made
        use = {"source_version": "v1", "action": f"tell {word}", "execution_id": f"tell {word}"}
        await api.post(f"/v1/decisions/{made['decision_id']}/check", use)
        claim = {"decision_id": made["decision_id"], "source": "offers", "version": "v1", "entity": word}
        await api.told(self.borrower, hours=0.4, summary=f"{word} was told of it.", extra={"claims": [claim]})
        await api.behind.settled()
        await api.parts.resumes.flush()
        example = {
            "tenant": TENANT, "borrower_id": self.borrower, "event_id": "e", "should": "fail", "at": api.now, "by": "asha",
            "sentence": SECRETS.seal(f"{word} has paid.".encode()),
        }  # fmt: skip
        permit = {
            "tenant": TENANT, "permit_id": api.name("p"), "borrower_id": self.borrower, "attempt": 1, "action": "reminder",
            "channel": "voice", "holder": f"run of {word}", "granted_at": api.now - timedelta(hours=2),
            "expires_at": api.now - timedelta(hours=1),
        }  # fmt: skip

        def more(conn: Connection) -> None:
            hook = registry.create(
                conn, VENDORS, SECRETS, api.now, tenant=TENANT, channel="voice", vendor="vapi", secret="s" * 20
            )
            raw = {
                "tenant": TENANT,
                "hook_id": hook.hook_id,
                "channel": "voice",
                "vendor": "vapi",
                "received_at": api.now,
            }
            id_ = bodies.add(conn, **raw, body=SECRETS.seal(f'{{"said": "{word}"}}'.encode()))
            bodies.claim_item(conn, TENANT, api.name("item"), id_, api.now)
            bodies.settle_item(conn, TENANT, f"item-{api.made}", bodies.DONE, borrower_id=self.borrower)
            bodies.finish(conn, id_)
            conn.execute(insert(METADATA.tables["screening_example"]).values(example))
            conn.execute(insert(METADATA.tables["permit"]).values(permit))

        await api.parts.database.write(more)

    async def forget(self, **what: Any) -> dict[str, Any]:
        answer = await self.api.post(f"/v1/borrowers/{self.borrower}/forget", {"reason": f"{self.word} asked", **what})
        assert answer.status == 200, answer
        return dict(answer.document)

    # -- what is left

    async def in_tables(self) -> set[str]:
        """`table.column` of each column in which the word is left."""
        return await self._found_in_tables([self.word.casefold()])

    async def numbers_in_tables(self) -> set[str]:
        """`table.column` of each column in which a number is left, in any of its spellings."""
        return await self._found_in_tables([self._national(number) for number in self.numbers])

    async def _found_in_tables(self, wanted: Sequence[str]) -> set[str]:
        def look(conn: Connection) -> set[str]:
            found = set()
            for table in METADATA.sorted_tables:
                for row in conn.execute(select(table)).mappings():
                    told = {name: _text_of(value) for name, value in row.items()}
                    found |= {f"{table.name}.{name}" for name, text in told.items() if any(w in text for w in wanted)}
            return found

        return await self.api.parts.database.read_slow(look)

    @staticmethod
    def _national(number: str) -> str:
        """What each spelling of an Indian number has in it."""
        return number.removeprefix("+91")

    async def in_answers(self) -> set[str]:
        """The reads in whose answer it is left."""
        return await self._found_in_answers([self.word.casefold()])

    async def numbers_in_answers(self) -> set[str]:
        return await self._found_in_answers([self._national(number) for number in self.numbers])

    async def _found_in_answers(self, wanted: Sequence[str]) -> set[str]:
        api = self.api
        answers = {path: await api.get(path) for path in LISTS}
        answers |= {path: await api.get(f"/v1/borrowers/{self.borrower}{path}") for path in READS}
        for channel in ("voice", "whatsapp"):
            answers[f"resume {channel}"] = await api.resume(self.borrower, channel=channel, direction="inbound")
        for purpose in ("current", "history"):
            asked = {"query": f"wife {self.word} money", "purpose": purpose, "limit": 100}
            answers[f"recall {purpose}"] = await api.post(f"/v1/borrowers/{self.borrower}/recall", asked)
            answers[f"search {purpose}"] = await api.post("/v1/search", asked)
        for tool, own in TOLD_BY_TOOLS.items():
            params = {"name": tool, "arguments": {"borrower_id": self.borrower, **own}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answers[f"tool {tool}"] = await api.post("/mcp", call)
            assert answers[f"tool {tool}"]["result"].get("isError") is not True, tool
        assert {name: a.status for name, a in answers.items() if a.status != 200} == {}
        told = {name: json.dumps(a.document, ensure_ascii=False).casefold() for name, a in answers.items()}
        return {name for name, text in told.items() if any(word in text for word in wanted)}

    def in_files(self, folder: Path, *, numbers: bool = False) -> set[str]:
        """The files in which it is left, as it is written or folded; `numbers`: or a number is."""
        forms = {form.encode() for form in (self.word, self.word.casefold())}
        forms |= {self._national(number).encode() for number in self.numbers if numbers}
        return {f.name for f in folder.iterdir() if f.is_file() and any(form in f.read_bytes() for form in forms)}


def _turns(*texts: str) -> list[dict[str, str]]:
    return [{"speaker": "borrower", "text": text} for text in texts]


def _text_of(value: object) -> str:
    if isinstance(value, bytes):
        with contextlib.suppress(CannotOpen):
            value = SECRETS.open(value)
        assert isinstance(value, bytes)
        return value.decode("utf-8", "replace").casefold()
    return str(value).casefold()
