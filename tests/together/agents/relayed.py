"""An agent that knows nothing but the answer of a resume, as it came through a relay: a process of its own.

It reads one document from standard input: `answer` (the relayed text), `call` (what the line itself tells: channel, number,
conversation, time) and `borrower` (what the other side says in this conversation, by the step that it answers to). It prints
what it says first, the state that it really started in, and the calls that it then makes of the service, in order. Terms of a
promise, the loan, whether to verify, what to send: all of it is taken from the answer. An answer that lacks a field starts
nothing: exit code 3, and the field on standard error.

It must not know the service, its storage, or any other conversation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from channels.resumed import IncompleteAnswer, Resumed, read

Json = dict[str, Any]
INCOMPLETE: Final = 3


@dataclass
class Conversation:
    """What one conversation makes of its answer."""

    answer: Resumed
    call: Json
    borrower: Json
    says: list[str] = field(default_factory=list)
    turns: list[Json] = field(default_factory=list)
    before: list[Json] = field(default_factory=list)
    """What is posted before the summary: identity was verified in the conversation."""
    after: list[Json] = field(default_factory=list)
    commitment: Json | None = None
    reached: str | None = None

    def event(self, type_: str, **own: Any) -> Json:
        id_ = f"{self.call['conversation_id']}:{type_}"
        common = {"event_id": id_, "type": type_, "occurred_at": self.call["at"], "identifier": self.call["identifier"]}
        return {"path": "/v1/events", "body": common | own}

    def say(self, text: str) -> None:
        self.says.append(text)
        self.turns.append({"speaker": "agent", "text": text})

    def hears(self, step: str) -> str | None:
        said: str | None = self.borrower.get(step)
        if said is not None:
            self.turns.append({"speaker": "borrower", "text": said})
        return said

    @property
    def loan(self) -> Json:
        return {"loan_id": self.answer.loan_id} if self.answer.loan_id else {}


Step = Callable[[Conversation], str | None]
"""Plays a step; the next one, or null when the conversation ends there."""


def greet(talk: Conversation) -> str:
    talk.say("Good morning, this is Asha for your lender.")
    talk.hears("greet")
    return "identify"


def identify(talk: Conversation) -> str | None:
    """The gate: nothing of a debt is said before it, and it is passed once."""
    if talk.answer.identity.holds:
        return "inform"
    talk.say("May I ask for the code that we have just sent you?")
    if talk.hears("identify") is None:
        return None
    talk.before.append(talk.event("identity.verified", method="otp", channel=talk.call["channel"]))
    return "inform"


def inform(talk: Conversation) -> str:
    cycle = talk.answer.cycle
    if cycle is not None and cycle.outstanding is not None:
        talk.say(f"{cycle.outstanding} {cycle.currency} is due on {cycle.due_date}.")
    return "negotiate"


def negotiate(talk: Conversation) -> str | None:
    talk.say("When can you pay?")
    said = talk.hears("negotiate")
    if said is None:
        return None
    talk.commitment = {"quote": said, "amount_said": said, "due_date_said": said, "status": "proposed"}
    return None


def confirm(talk: Conversation) -> str | None:
    """The terms are those of the answer: nobody else told this agent."""
    promise = talk.answer.commitment
    if promise is None or promise.amount is None or promise.due_date is None:
        raise AssertionError("a state to confirm in, and nothing to confirm")
    talk.say(f"You will pay {promise.amount} {promise.currency} by {promise.due_date}, is that right?")
    if talk.hears("confirm") is None:
        return None
    terms = {"amount": str(promise.amount), "currency": promise.currency, "due_date": promise.due_date.isoformat()}
    talk.commitment = {**terms, "status": "confirmed", "read_back": True}
    return "remind"


def remind(talk: Conversation) -> str | None:
    return _sent(talk, "reminder", "reminder.sent", talk.answer.flags.reminded)


def pay(talk: Conversation) -> str | None:
    return _sent(talk, "payment_link", "payment_link.shared", talk.answer.flags.payment_link_shared)


def _sent(talk: Conversation, action: str, type_: str, is_done: bool) -> None:
    """With a permit, and never twice."""
    if is_done or not talk.answer.contact.allowed:
        return
    holder = f"{talk.call['conversation_id']}/{action}"
    asked = {"action": action, "channel": "whatsapp", "holder": holder, **talk.loan}
    talk.after.append({"path": f"/v1/borrowers/{talk.answer.borrower_id}/permits", "body": asked})
    sent = {"channel": "whatsapp", "message_id": f"m:{holder}", "outcome": "delivered"}
    talk.after.append(talk.event(type_, **sent, **talk.loan))


def close(talk: Conversation) -> str | None:
    promise = talk.answer.commitment
    until = f" until {promise.due_date}" if promise else ""
    talk.say(f"Everything is with you{until}. Thank you, goodbye.")
    talk.hears("close")
    return None


STEPS: Final[dict[str, Step]] = {
    "greet": greet,
    "identify": identify,
    "inform": inform,
    "negotiate": negotiate,
    "confirm": confirm,
    "remind": remind,
    "pay": pay,
    "close": close,
}


def played(answer: str, call: Json, borrower: Json) -> Json:
    """The conversation from where the answer says. Raises `IncompleteAnswer`."""
    resumed = read(answer)
    talk = Conversation(resumed, call, borrower)
    step: str | None = resumed.step
    if step is None:
        raise AssertionError("no state is granted: a person's conversation")
    if resumed.previous_step is not None and resumed.previous_step.speakable:
        talk.say(resumed.previous_step.text)
    while step is not None:
        talk.reached = step
        step = STEPS[step](talk)
    summary = {
        "channel": call["channel"],
        "direction": call["direction"],
        "conversation_id": call["conversation_id"],
        "ended_at": call["at"],
        "identifier": call["identifier"],
        "outcome": "connected",
        "reached": call["states"][talk.reached],
        "commitment": talk.commitment,
        "turns": talk.turns,
        "resume_id": resumed.resume_id,
        "entered_state": resumed.state,
        **talk.loan,
    }
    calls = [*talk.before, {"path": "/v1/summaries", "body": summary}, *talk.after]
    return {"says": talk.says, "entered": resumed.state, "calls": calls}


def main() -> int:
    given = json.load(sys.stdin)
    try:
        print(json.dumps(played(given["answer"], given["call"], given["borrower"])))  # noqa: T201  # its answer
    except IncompleteAnswer as why:
        sys.stderr.write(f"{why}\n")
        return INCOMPLETE
    return 0


if __name__ == "__main__":
    sys.exit(main())
