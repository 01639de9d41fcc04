"""Random histories of one borrower: summaries of both channels, every hard event, revisions, re-sent ids, what is forgotten and
what a person withheld.

Few ids, loans, cycles and times, so that everything meets everything; entries are stamped here as intake would.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from statemachine.elements import CallbackSaid, ClaimSaid, FactSaid
from statemachine.entries import EVENT_TYPES, Summary
from statemachine.forgetting import term_of
from statemachine.merge import merge
from statemachine.record import LIMITS, Limits, Record, Tombstone
from statemachine.stamps import Entry, MemoryForgotten, PromiseTerms, Stamps, TextWithheld
from statemachine.wire import CHANNELS, CONTACT_OUTCOMES, OUTCOMES

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
DUES = (date(2026, 11, 3), date(2026, 11, 6))
WORDS = ("Martha", "next week", "salary late", "the José house")
PHONES = ("phone:+919000000001", "phone:+919000000002")


def hasher(words: str) -> str:
    return hashlib.sha256(("k" + words).encode()).hexdigest()[:16]


class Terms:
    """A policy as `derive` wants it."""

    time_zone = "Asia/Kolkata"
    identity_days = 30
    currency = "INR"
    prose_days = 400


POLICY = Terms()
LATER = NOON + timedelta(days=20)
ENDS = (None, NOON, LATER + timedelta(days=1))

times = st.integers(0, 20).map(lambda n: NOON + timedelta(hours=12 * n))
loans = st.sampled_from([None, None, "LN-1", "LN-2"])
amounts = st.sampled_from([Decimal(1000), Decimal(5000)])


@st.composite
def promises(draw: st.DrawFn) -> PromiseTerms | None:
    if draw(st.booleans()):
        return None
    status = draw(st.sampled_from(["proposed", "proposed", "confirmed"]))
    amount = draw(amounts) if status == "confirmed" or draw(st.booleans()) else None
    due = draw(st.sampled_from(DUES)) if status == "confirmed" or draw(st.booleans()) else None
    quote = draw(st.sampled_from([None, *WORDS]))
    return PromiseTerms(amount=amount, currency="INR" if amount else None, due_date=due, status=status, quote=quote)


def lifted(entry: Entry, limits: Limits = LIMITS) -> Record:
    """A record of this entry alone."""
    return merge(Record.new(entry.stamps.borrower_id), entry, hasher, limits)


def stamped(body: Any, at: datetime, **stamps: Any) -> Entry:
    seed = f"{body.model_dump_json()}|{at}|{sorted((k, str(v)) for k, v in stamps.items())}"
    return Entry(
        body,
        Stamps(
            borrower_id="B-1",
            digest=hashlib.sha256(seed.encode()).hexdigest()[:16],
            effective_at=at,
            received_at=at,
            time_zone="Asia/Kolkata",
            **stamps,
        ),
    )


@st.composite
def summaries(draw: st.DrawFn, outcomes: tuple[str | None, ...] = (*OUTCOMES, None)) -> Entry:
    channel, number = draw(st.sampled_from(CHANNELS)), draw(st.integers(1, 4))
    promise, outcome, at = draw(promises()), draw(st.sampled_from(outcomes)), draw(times)
    body = Summary(
        channel=channel,
        conversation_id=f"c-{number}",
        revision=draw(st.integers(1, 3)),
        ended_at=at,
        loan_id=draw(loans),
        cycle_id=draw(st.sampled_from([None, None, None, "CY-1"])),
        outcome=outcome,
        summary=draw(st.sampled_from([None, "She will see.", f"Her friend {WORDS[0]} called."])),
        reached=draw(st.sampled_from([None, "negotiation"])),
    )
    fact = FactSaid(fact_id=f"f-{number}", kind="goal", text=draw(st.sampled_from(WORDS)))
    return stamped(
        body,
        at,
        promise=promise,
        contact=outcome in CONTACT_OUTCOMES or (outcome is None and promise is not None),
        claim=draw(st.sampled_from([None, ClaimSaid(quote=WORDS[1])])),
        callback=draw(st.sampled_from([None, CallbackSaid(at=at + timedelta(days=2), said=WORDS[1])])),
        facts=draw(st.sampled_from([(), (fact,)])),
        step="negotiate" if body.reached else None,
        through=draw(st.sampled_from([None, *PHONES])),
        withdrawn=draw(st.sampled_from([(), (), (), (f"{channel}:c-{number}:1",)])),
    )


_OWN: dict[str, Any] = {
    "identity.verified": lambda d: {"method": "otp"},
    "identity.revoked": lambda d: {"reason": "fraud"},
    "reminder.sent": lambda d: _message(d),
    "payment_link.shared": lambda d: _message(d),
    "payment.confirmed": lambda d: _payment(d),
    "payment.reversed": lambda d: {"payment_ref": d(st.sampled_from(["P-1", "P-2", "P-9"])), "reason": "bounced"},
    "promise.broken": lambda d: {"due_date": d(st.sampled_from([None, *DUES]))},
    "promise.retracted": lambda d: {"reason": "typed wrong", "conversation_id": d(st.sampled_from([None, "c-1"]))},
    "cycle.opened": lambda d: _cycle(d) | {"due_date": d(st.sampled_from(DUES)), "amount_due": d(amounts), "currency": "INR"},
    "cycle.closed": lambda d: _cycle(d) | {"reason": "other"},
    "contact.opted_out": lambda d: {"channel": d(st.sampled_from([*CHANNELS, "all"]))},
    "contact.opted_in": lambda d: {"channel": d(st.sampled_from(CHANNELS))},
    "hold.placed": lambda d: {"kind": "dispute", "reason": WORDS[2], "until": d(st.sampled_from(ENDS))},
    "hold.lifted": lambda d: {"kind": "dispute", "reason": "settled"},
    "identifier.linked": lambda d: {"borrower_id": "B-1", "time_zone": d(st.sampled_from([None, "Asia/Dubai"]))},
    "identifier.unlinked": lambda d: {"borrower_id": "B-1", "reason": d(st.sampled_from(["wrong_borrower", "changed"]))},
    "conversation.started": lambda d: {"channel": "voice", "conversation_id": f"c-{d(st.integers(1, 6))}"},
    "conversation.message": lambda d: {
        "channel": "voice", "conversation_id": "c-1", "message_id": "m-1", "speaker": "borrower", "text": "ok",
    },
    "conversation.ended": lambda d: {"channel": "voice", "conversation_id": "c-1"},
    "fact.stated": lambda d: {"kind": "goal", "text": d(st.sampled_from(WORDS))},
}  # fmt: skip
assert _OWN.keys() == EVENT_TYPES.keys()


def _message(d: Any) -> dict[str, Any]:
    outcome = d(st.sampled_from(["attempted", "sent", "failed", "delivered", "read"]))
    return {"channel": "whatsapp", "message_id": f"m-{d(st.integers(1, 2))}", "outcome": outcome}


def _payment(d: Any) -> dict[str, Any]:
    """One amount and loan for each reference: two statements that differ are a case of their own."""
    ref, loan, amount = d(st.sampled_from([("P-1", "LN-1", 1000), ("P-2", "LN-2", 5000)]))
    return {
        "payment_ref": ref,
        "amount": Decimal(amount),
        "currency": "INR",
        "loan_id": d(st.sampled_from([None, loan])),
    }


def _cycle(d: Any) -> dict[str, Any]:
    loan, cycle = d(st.sampled_from(["LN-1", "LN-2"])), d(st.sampled_from(["CY-1", "CY-2"]))
    return {"borrower_id": "B-1", "loan_id": loan, "cycle_id": cycle}


@st.composite
def events(draw: st.DrawFn, types: tuple[str, ...] = tuple(EVENT_TYPES)) -> Entry:
    kind, at = draw(st.sampled_from(types)), draw(times)
    own = _OWN[kind](draw)
    phone = draw(st.sampled_from(PHONES))
    model = EVENT_TYPES[kind]
    body: dict[str, Any] = {"event_id": f"{kind}-{draw(st.integers(1, 5))}", "type": kind, "occurred_at": at, **own}
    if "identifier" in model.model_fields and kind.startswith(("identi",)):
        body["identifier"] = {"kind": "phone", "value": phone.split(":", 1)[1]}
        if kind == "identity.revoked" and draw(st.booleans()):
            del body["identifier"]
    body.setdefault("loan_id", draw(loans))
    fact = FactSaid(fact_id=body["text"], kind="goal", text=body["text"]) if kind == "fact.stated" else None
    return stamped(
        model.model_validate(body),
        at,
        identifier=phone if "identifier" in body else None,
        through=None if kind.startswith("identif") else draw(st.sampled_from([None, None, *PHONES])),
        fact=fact,
    )


@st.composite
def forgettings(draw: st.DrawFn) -> Entry:
    at = draw(times)
    everything = draw(st.booleans())
    words = () if everything else (term_of(draw(st.sampled_from(WORDS)), hasher),)
    stone = Tombstone(
        at=at, event_id=f"forget-{draw(st.integers(1, 3))}-{at}-{words}", everything=everything, words=words
    )
    return stamped(MemoryForgotten(event_id=stone.event_id, tombstone=stone, type="memory.forgotten"), at)


@st.composite
def judgements(draw: st.DrawFn) -> Entry:
    """A person withholds a text, or lets it be shown again."""
    at, shown = draw(times), draw(st.booleans())
    sentence = draw(st.sampled_from(["She will see.", f"Her friend {WORDS[0]} called.", *WORDS]))
    body = TextWithheld(
        by="asha",
        event_id=f"judged-{draw(st.integers(1, 3))}-{at}-{shown}-{sentence}",
        sentence=sentence,
        shown=shown,
        type="text.withheld",
        why=draw(st.sampled_from([None, WORDS[0]])),
    )
    return stamped(body, at)


entries = st.one_of(summaries(), summaries(), events(), events(), events(), forgettings(), judgements())
histories = st.lists(entries, max_size=14)


def empty() -> Record:
    return Record.new("B-1")
