"""A tenant with something on every page, told through the API: what the tests of pages walk through, and what is pictured.

Everybody in it is made up. It knows the API and nothing of the pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

Body = dict[str, Any]
Post = Callable[[str, Body], Awaitable[Body]]
"""Posts a body to a path, and gives the answer."""

NASTY = "<script>alert('x')</script>"
ASHA, RAVI, MEENA, KABIR, LEELA = "B-101", "B-102", "B-103", "B-104", "B-105"
NISHA, OMAR = "B-106", "B-107"
"""Told of before the mode was switched, and by vendors (`traffic`)."""


class Stage:
    """Tells the story of five borrowers at times that count back from now."""

    def __init__(self, post: Post, now: datetime, name: str = "e") -> None:
        """`name`: with which the ids of events begin."""
        self._post = post
        self._name = name
        self._now = now
        self._made = 0

    def ago(self, **span: float) -> str:
        return (self._now - timedelta(**span)).isoformat()

    def day(self, days: int) -> str:
        return (self._now + timedelta(days=days)).date().isoformat()

    async def event(self, type_: str, borrower: str, at: str, **own: Any) -> Body:
        self._made += 1
        body = {"event_id": f"{self._name}-{self._made}", "type": type_, "occurred_at": at, "borrower_id": borrower}
        return await self._post("/v1/events", body | own)

    async def told(self, borrower: str, channel: str, conversation: str, at: str, **own: Any) -> Body:
        body = {"channel": channel, "conversation_id": conversation, "ended_at": at, "borrower_id": borrower}
        return await self._post("/v1/summaries", {"outcome": "connected"} | body | own)

    async def resume(self, borrower: str, channel: str, **own: Any) -> Body:
        return await self._post("/v1/resume", {"channel": channel, "borrower_id": borrower} | own)

    async def begun(self, borrower: str, number: str, loan: str, due: int, amount: str) -> None:
        """A due is opened, and a number linked and verified."""
        who = {"kind": "phone", "value": number}
        month = {"cycle_id": "2026-11", "loan_id": loan, "due_date": self.day(due), "amount_due": amount}
        await self.event("cycle.opened", borrower, self.ago(days=12), currency="INR", **month)
        await self.event("identifier.linked", borrower, self.ago(days=12), identifier=who)
        await self.event(
            "identity.verified", borrower, self.ago(days=2, hours=3), identifier=who, method="otp", channel="whatsapp"
        )

    async def play(self) -> None:
        await self._asha()
        await self._ravi()
        await self._meena()
        await self._kabir()
        await self._leela()
        await self._the_rest()

    async def look_on(self) -> None:
        """While the memory is in shadow: two are told of, and asked about on both channels; then they speak on the other."""
        for borrower, number, loan in ((NISHA, "+919000000106", "LN-6"), (OMAR, "+919000000107", "LN-7")):
            who = {"kind": "phone", "value": number}
            await self.begun(borrower, number, loan, 6, "6500.00")
            await self.told(
                borrower, "whatsapp", f"wa-{loan}", self.ago(days=3), summary="They will pay 6,500 next week.",
                commitment={"amount": "6500", "due_date": self.day(4), "status": "proposed"},
            )  # fmt: skip
            for channel in ("voice", "whatsapp"):
                began = await self.resume(borrower, channel, identifier=who)
                await self.resume(borrower, channel, identifier=who, proposal={"state": "payment_link"})
            await self.told(
                borrower, "voice", f"call-{loan}", self.ago(days=1, hours=3), agent="voice-agent 4.9",
                resume_id=began["resume_id"], entered_state="opening", summary="The promise was read back and stands.",
                commitment={"amount": "6500", "due_date": self.day(4), "status": "confirmed", "read_back": True},
            )  # fmt: skip

    async def decide(self) -> None:
        """Two waivers were granted by an offer that has changed since for one of them."""
        for borrower, decision, entity in ((ASHA, "D-1", "LN-1"), (RAVI, "D-2", "LN-2")):
            await self._post(
                "/v1/decisions",
                {"decision_id": decision, "borrower_id": borrower, "kind": "waiver", "entity": entity,
                 "conclusion": "10 % of the late fee is waived", "source": "offers", "source_version": "v12",
                 "decided_at": self.ago(hours=9)},
            )  # fmt: skip
        changed = {"source": "offers", "entity": "LN-1", "version": "v13", "observed_at": self.ago(hours=1)}
        await self._post("/v1/sources", changed)

    async def exhaust(self) -> None:
        """One of whom everything is as long as it may be, and has no place where a line could break."""
        borrower, loan, conversation = "L" * 128, "N" * 128, "c" * 128
        month = {"cycle_id": "m" * 128, "loan_id": loan, "due_date": self.day(2), "amount_due": "999999999.99"}
        await self.event("cycle.opened", borrower, self.ago(days=2), currency="INR", **month)
        await self.event("hold.placed", borrower, self.ago(hours=3), kind="other", reason="r" * 200, loan_id=loan)
        await self.event("fact.stated", borrower, self.ago(hours=2), kind="household", text="f" * 300)
        began = await self.resume(borrower, "voice", loan_id=loan)
        await self.told(
            borrower, "voice", conversation, self.ago(hours=1), disposition="d" * 100, agent="a" * 200, loan_id=loan,
            summary="w" * 2_000, resume_id=began["resume_id"], entered_state="opening",
            commitment={"amount": "999999999.99", "due_date": self.day(1), "status": "proposed", "quote": "q" * 400},
            turns=[{"speaker": "borrower", "text": "q" * 400}],
        )  # fmt: skip
        await self.event(
            "conversation.started", borrower, self.ago(hours=30), channel="voice", conversation_id="o" * 128
        )

    async def _asha(self) -> None:
        """Promises on WhatsApp, agrees on the phone, is reminded and gets her link; asks to be called at six."""
        await self.begun(ASHA, "+919000000101", "LN-1", 5, "12500.00")
        await self.told(
            ASHA, "whatsapp", "wa-7", self.ago(days=1, hours=20), agent="wa-agent 3.2", disposition="promise to pay",
            summary="She verified with a code. She asked about her dues and wrote that she will pay 12,500 by the 5th."
            " Her balance is 41,300. She can be reached on +91 90000 00101 after six.",
            commitment={"amount": "12500", "due_date": self.day(0), "status": "proposed", "quote": "ok I will pay 12500"},
            turns=[
                {"speaker": "agent", "text": "Your November due is 12,500 rupees. When can you pay?"},
                {"speaker": "borrower", "text": "ok I will pay 12500, I prefer to be called after 6 every day"},
            ],
            facts=[{"kind": "preferred_contact_time", "text": "after six in the evening", "confidence": 0.9,
                    "quote": "I prefer to be called after 6 every day"}],
        )  # fmt: skip
        began = await self.resume(ASHA, "voice", identifier={"kind": "phone", "value": "+919000000101"})
        await self.told(
            ASHA, "voice", "call-31", self.ago(days=1, hours=2), agent="voice-agent 5.0", direction="outbound",
            resume_id=began["resume_id"], entered_state=began["state"], language="en-IN",
            summary="The agent read the promise back and she agreed to pay 12,500 today.",
            commitment={"amount": "12500", "due_date": self.day(0), "status": "confirmed", "read_back": True},
            callback={"at": (self._now + timedelta(hours=4)).isoformat(), "quote": "call me at six"},
        )  # fmt: skip
        await self.event(
            "reminder.sent", ASHA, self.ago(hours=5), channel="whatsapp", message_id="m-1", outcome="delivered",
            loan_id="LN-1",
        )  # fmt: skip
        await self.event("fact.stated", ASHA, self.ago(hours=4), kind="payment_method", text="UPI from her own account")
        for proposal in ("payment_link", "confirmation", "no_such_state", "closing"):
            await self.resume(
                ASHA, "voice", identifier={"kind": "phone", "value": "+919000000101"}, proposal={"state": proposal}
            )

    async def _ravi(self) -> None:
        """His promise was broken yesterday; he says he has paid; a resume of his was ignored."""
        await self.begun(RAVI, "+919000000102", "LN-2", -3, "8000.00")
        await self.told(
            RAVI, "voice", "call-32", self.ago(days=4), agent="voice-agent 5.0",
            summary="He agreed to pay 8,000 by Friday.",
            commitment={"amount": "8000", "due_date": self.day(-3), "status": "confirmed", "read_back": True},
        )  # fmt: skip
        await self.event("promise.broken", RAVI, self.ago(hours=9), loan_id="LN-2", due_date=self.day(-3))
        began = await self.resume(RAVI, "whatsapp", identifier={"kind": "phone", "value": "+919000000102"})
        await self.told(
            RAVI, "whatsapp", "wa-8", self.ago(hours=6), agent="wa-agent 3.1", resume_id=began["resume_id"],
            entered_state="opening", summary="He says he paid on Thursday and will send the receipt.",
            payment_claim={"amount": "8000", "quote": "I paid on Thursday"},
        )  # fmt: skip

    async def _meena(self) -> None:
        """Disputes her loan, and has opted out of WhatsApp; one call of hers was never reported."""
        await self.begun(MEENA, "+919000000103", "LN-3", 9, "21000.00")
        await self.event(
            "hold.placed", MEENA, self.ago(days=3), kind="dispute", reason="says the instalment was changed"
        )
        await self.event("contact.opted_out", MEENA, self.ago(days=2), channel="whatsapp")
        await self.event(
            "conversation.started", MEENA, self.ago(days=1, hours=1), channel="voice", conversation_id="call-33"
        )

    async def _kabir(self) -> None:
        """Paid, and the next month is open."""
        await self.begun(KABIR, "+919000000104", "LN-4", 2, "5000.00")
        await self.told(
            KABIR, "whatsapp", "wa-9", self.ago(days=3), summary="He will pay 5,000 on Sunday.",
            commitment={"amount": "5000", "due_date": self.day(1), "status": "proposed"},
        )  # fmt: skip
        await self.event(
            "payment_link.shared", KABIR, self.ago(days=2), channel="whatsapp", message_id="m-2", outcome="read",
            loan_id="LN-4",
        )  # fmt: skip
        await self.event(
            "payment.confirmed",
            KABIR,
            self.ago(hours=3),
            payment_ref="P-9",
            amount="5000",
            currency="INR",
            loan_id="LN-4",
        )

    async def _leela(self) -> None:
        """Whose words are not to be run: everything that a channel may put into a text is put into hers."""
        await self.begun(LEELA, "+919000000105", "LN-5", 7, "3000.00")
        await self.told(
            LEELA, "whatsapp", "wa-10", self.ago(hours=8), disposition=f"=HYPERLINK({NASTY})"[:90], agent=NASTY,
            summary=f"She wrote {NASTY} and {{{{ 7*7 }}}}.", third_party=NASTY,
            commitment={"amount": "1500", "due_date": self.day(3), "status": "proposed", "quote": NASTY},
            turns=[{"speaker": "borrower", "text": f"{NASTY} 1500 by then"}], extra={"note": NASTY},
        )  # fmt: skip
        await self.event("fact.stated", LEELA, self.ago(hours=7), kind="household", text=f"lives with {NASTY}")
        await self.event("hold.placed", LEELA, self.ago(hours=6), kind="other", reason=NASTY, loan_id="LN-5")

    async def _the_rest(self) -> None:
        """A conflict that is set aside, somebody unknown, and deliveries that came again."""
        for place, words in enumerate(("first", "second", "second")):
            await self._post(
                "/v1/summaries",
                {
                    "event_id": "s-1", "channel": "voice", "conversation_id": "call-34", "ended_at": self.ago(hours=2),
                    "borrower_id": KABIR, "outcome": "no_answer", "summary": words,
                } | ({} if place < 2 else {"revision": 1}),
            )  # fmt: skip
        number = {"kind": "phone", "value": "+919000000199"}
        await self._post(
            "/v1/summaries",
            {"channel": "voice", "conversation_id": "call-35", "ended_at": self.ago(hours=1), "identifier": number,
             "outcome": "voicemail"},
        )  # fmt: skip
