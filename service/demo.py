"""The story of one borrower, played through the public API, step by step, on dates shifted to now.

Every step says what happens, shows what the service answers and checks it, so the demo is also a test: it fails when any
answer is not the one that the story needs. It knows the API and nothing of the service behind it.
"""

from __future__ import annotations

import json
import secrets
import textwrap
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Asia/Kolkata")
AMOUNT = "12500"
TIMEOUT_SECONDS = 20
WIDTH = 96


class StoryFailed(Exception):
    """A step whose answer was not what the story needs."""


@dataclass
class Story:
    """One borrower with an id and a number of her own in each run, so that it can be played again on the same store."""

    url: str
    key: str
    say: Callable[[str], None] = print
    run: str = field(default_factory=lambda: secrets.token_hex(3))
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    steps: int = 0

    def __post_init__(self) -> None:
        self.borrower = f"B-{self.run}"
        self.loan = f"LN-{self.run}"
        self.phone = f"+9190000{int(self.run, 16) % 100_000:05d}"
        self.due = (self.now.astimezone(ZONE) + timedelta(days=5)).date()

    # -- the words of a step ----------------------------------------------------------------------------

    def step(self, title: str, *sentences: str) -> None:
        self.steps += 1
        self.say(f"\n{self.steps:2d}  {title}")
        for sentence in sentences:
            self.say(textwrap.fill(sentence, WIDTH, initial_indent="    ", subsequent_indent="    "))

    def seen(self, text: str) -> None:
        self.say(textwrap.fill(f"-> {text}", WIDTH, initial_indent="    ", subsequent_indent="       "))

    def expect(self, what: str, got: Any, wanted: Any) -> None:
        if got != wanted:
            raise StoryFailed(f"step {self.steps}: {what} should be {wanted!r} and is {got!r}")

    # -- the calls --------------------------------------------------------------------------------------

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return self._call("POST", path, body)

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path, None)[1]

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())

    def ago(self, **span: float) -> str:
        return (self.now - timedelta(**span)).isoformat()

    def event(self, type_: str, at: str, **own: Any) -> dict[str, Any]:
        body = {"event_id": f"{type_}-{self.run}-{secrets.token_hex(3)}", "type": type_, "occurred_at": at}
        status, answer = self.post("/v1/events", body | {"borrower_id": self.borrower} | own)
        self.expect(f"the answer to {type_}", (status, answer.get("status")), (200, "merged"))
        return answer

    def resume(self, channel: str, **own: Any) -> dict[str, Any]:
        number = {"kind": "phone", "value": "0" + self.phone[3:]}
        return self.post("/v1/resume", {"channel": channel, "identifier": number} | own)[1]


def play(story: Story) -> None:
    """The whole story. Raises `StoryFailed` at the first answer that is not as it should be."""
    for part in (
        _a_cycle_is_open,
        _she_promises_on_whatsapp,
        _the_phone_rings,
        _a_classifier_wants_to_jump,
        _she_agrees_to_the_read_back,
        _a_fuzzy_chat_later,
        _one_reminder,
        _the_link,
        _she_pays,
        _the_next_month,
    ):
        part(story)
    story.say("\nEvery answer was as it should be.")


def _a_cycle_is_open(s: Story) -> None:
    s.step("The lender opens a due", f"Loan {s.loan}, INR 12,500, due {_day(s.due)}; her number is linked to her.")
    s.event(
        "cycle.opened", s.ago(days=10), cycle_id="this-month", loan_id=s.loan, due_date=s.due.isoformat(),
        amount_due=AMOUNT, currency="INR",
    )  # fmt: skip
    s.event("identifier.linked", s.ago(days=10), identifier={"kind": "phone", "value": s.phone})


def _she_promises_on_whatsapp(s: Story) -> None:
    s.step("Yesterday, on WhatsApp", f"She verifies herself with a code, and writes: '{chat_words(s)}'.")
    s.event(
        "identity.verified", s.ago(hours=27), method="otp", channel="whatsapp",
        identifier={"kind": "phone", "value": f"whatsapp:{s.phone}"},
    )  # fmt: skip
    status, answer = s.post("/v1/summaries", chat_summary(s))
    s.expect("the answer", (status, answer["status"], answer["warnings"]), (200, "merged", []))
    promise = s.get(f"/v1/borrowers/{s.borrower}")["commitment"]
    s.expect("the promise", _terms(promise), ("proposed", "12500.00", s.due.isoformat()))
    s.seen(
        f"merged as version {answer['record_version']}: proposed, INR 12,500 by {_day(s.due)}; text proposes at most"
    )


def _the_phone_rings(s: Story) -> None:
    s.step("Today her phone rings", "The phone agent knows nothing but the number. It asks where to start.")
    answer = s.resume("voice")
    s.expect("the start", (answer["state"], answer["found"]), ("confirmation", True))
    s.expect("who she is", (answer["borrower_id"], answer["identity"]["holds"]), (s.borrower, True))
    s.seen(f"start at '{answer['state']}', not at the opening: who she is holds from WhatsApp, what she said is known")
    s.seen(f"it may begin with: {answer['previous_step']['text']}")


def _a_classifier_wants_to_jump(s: Story) -> None:
    s.step("A classifier wants to jump", "It proposes to send the payment link, which nobody has talked about yet.")
    answer = s.resume("voice", proposal={"state": "payment_link"})
    s.expect("the grant", answer["state"], "confirmation")
    s.expect("the rule", [r["rule"] for r in answer["refusals"]], ["too_far_ahead"])
    s.seen(f"refused: {answer['refusals'][0]['message']}; granted: '{answer['state']}', the memory's own place")


def _she_agrees_to_the_read_back(s: Story) -> None:
    s.step(
        "The call", "The agent reads the promise back and she says yes.",
        "The agent's own program reports the call in its own words; here they are mapped by hand.",
    )  # fmt: skip
    resume_id = s.resume("voice")["resume_id"]
    status, answer = s.post(
        "/v1/summaries", summary_of(call_report(s)) | {"borrower_id": s.borrower, "resume_id": resume_id}
    )
    s.expect("the answer", (status, answer["status"]), (200, "merged"))
    after = s.resume("voice")
    s.expect("the promise", _terms(after["commitment"]), ("confirmed", "12500.00", s.due.isoformat()))
    s.expect("the next step", after["state"], "reminder")
    s.seen(f"confirmed: the yes after the read-back stands in the turns; the next step is '{after['state']}'")


def _a_fuzzy_chat_later(s: Story) -> None:
    s.step("A fuzzy chat", "Later she writes that she will see. A weaker, later word does not undo a stronger one.")
    status, answer = s.post(
        "/v1/summaries",
        {
            "borrower_id": s.borrower,
            "channel": "whatsapp",
            "conversation_id": f"chat2-{s.run}",
            "ended_at": s.ago(hours=1),
            "outcome": "connected",
            "summary": "She says she will see.",
            "commitment": {"status": "proposed"},
        },
    )
    s.expect("the answer", (status, answer["status"]), (200, "merged"))
    promise = s.get(f"/v1/borrowers/{s.borrower}")["commitment"]
    s.expect("the promise", promise["status"], "confirmed")
    s.seen("still confirmed; the briefing tells the chat as said later")


def _one_reminder(s: Story) -> None:
    s.step("One reminder", "Two schedulers both want to remind her. A permit is a claim that one of them gets.")
    path, ask = f"/v1/borrowers/{s.borrower}/permits", {"action": "reminder", "channel": "whatsapp"}
    first, _ = s.post(path, ask | {"holder": "reminders/run-1"})
    second, refused = s.post(path, ask | {"holder": "reminders/run-2"})
    s.expect("the first and the second", (first, second, refused.get("reason")), (201, 409, "held_by_other"))
    s.event("reminder.sent", s.ago(seconds=20), channel="whatsapp", message_id=f"m-{s.run}", outcome="delivered")
    third, done = s.post(path, ask | {"holder": "reminders/run-2"})
    s.expect("after it was sent", (third, done.get("reason")), (409, "already_done"))
    s.seen("run-1 may, run-2 is refused (held_by_other), and after the sending nobody may again (already_done)")


def _the_link(s: Story) -> None:
    s.step("The payment link", "It is sent on WhatsApp; the phone agent knows of it at once.")
    s.event("payment_link.shared", s.ago(seconds=15), channel="whatsapp", message_id=f"l-{s.run}", outcome="sent")
    answer = s.resume("voice")
    s.expect("what voice sees", (answer["flags"]["payment_link_shared"], answer["state"]), (True, "closing"))
    s.seen(f"payment_link_shared is true on both channels; a call would start at '{answer['state']}'")


def _she_pays(s: Story) -> None:
    s.step("She pays", "The ledger says so. No model could have: a summary has no field for it.")
    s.event("payment.confirmed", s.ago(seconds=10), payment_ref=f"P-{s.run}", amount=AMOUNT, currency="INR")
    answer = s.resume("voice", proposal={"state": "payment_link"})
    s.expect("the cycle", answer["cycle"]["status"], "paid")
    s.expect("what is asked", (answer["state"], answer["commitment"]["outcome"]), ("closing", "kept"))
    s.seen("the cycle is paid, the promise was kept, and nothing can make an agent ask for money in it")


def _the_next_month(s: Story) -> None:
    next_due = s.due + timedelta(days=30)
    s.step(
        "The next month", f"A new cycle opens, due {_day(next_due)}. Last month's flags do not silence this month's."
    )
    s.event(
        "cycle.opened", s.ago(seconds=1), cycle_id="next-month", loan_id=s.loan, due_date=next_due.isoformat(),
        amount_due=AMOUNT, currency="INR",
    )  # fmt: skip
    flags = s.get(f"/v1/borrowers/{s.borrower}/flags")
    s.expect(
        "the flags", [flags[f]["value"] for f in ("reminded", "payment_link_shared", "payment_confirmed")], [False] * 3
    )
    answer = s.resume("voice")
    s.expect("the start", (answer["state"], answer["identity"]["holds"]), ("opening", True))
    s.seen("fresh from the opening; who she is still holds")


# -- what is posted of the chat, and of the call as the agent's own program reports it ------------------------------------


def chat_words(s: Story) -> str:
    return f"ok I will pay 12,500 by the {_nth(s.due)}"


def chat_summary(s: Story) -> dict[str, Any]:
    """The chat in which she promises, 26 hours ago, as the WhatsApp agent posts it."""
    return {
        "borrower_id": s.borrower,
        "channel": "whatsapp",
        "direction": "inbound",
        "conversation_id": f"chat-{s.run}",
        "ended_at": s.ago(hours=26),
        "outcome": "connected",
        "reached": "negotiation",
        "summary": f"She said: {chat_words(s)}.",
        "commitment": {"amount_said": "12,500", "due_date_said": f"by the {_nth(s.due)}", "quote": chat_words(s)},
    }


def call_report(s: Story) -> dict[str, Any]:
    """A session summary in the shape of an agent built on a voice library, two hours ago."""
    start = s.now - timedelta(hours=2)
    lines = [
        ("assistant", f"On WhatsApp you said you would pay by the {_nth(s.due)}. Is that still right?"),
        ("user", f"हाँ, {s.due.day} तारीख तक बारह हज़ार पाँच सौ दे दूँगी।"),
        ("assistant", f"So I note twelve thousand five hundred rupees by {_day(s.due)}. Is that correct?"),
        ("user", "Yes, correct."),
        ("assistant", "Thank you. Goodbye."),
    ]
    turns = [
        {"role": role, "content": text, "timestamp": (start + timedelta(seconds=8 * n)).isoformat()}
        for n, (role, text) in enumerate(lines)
    ]
    return {
        "session_id": f"call-{s.run}",
        "transport": {"from": s.phone, "to": "02200000007", "direction": "outbound"},
        "started_at": start.isoformat(),
        "ended_at": (start + timedelta(seconds=154)).isoformat(),
        "turns": turns,
        "flow": {
            "start_node": "confirmation",
            "state": {
                "disposition": "PTP",
                "amount_rupees": 12500,
                "promised_date": s.due.isoformat(),
                "read_back_confirmed": True,
            },
        },
    }


SPEAKERS = {"assistant": "agent", "user": "borrower"}


def summary_of(report: dict[str, Any]) -> dict[str, Any]:
    """Such a report as a summary of the API. What a model filled in is evidence: identity is not taken from it."""
    said = report["flow"]["state"]
    return {
        "channel": "voice",
        "conversation_id": report["session_id"],
        "started_at": report["started_at"],
        "ended_at": report["ended_at"],
        "outcome": "connected",
        "disposition": said["disposition"],
        "commitment": {
            "amount": said["amount_rupees"],
            "due_date": said["promised_date"],
            "status": "confirmed" if said["read_back_confirmed"] else "proposed",
            "read_back": said["read_back_confirmed"],
        },
        "turns": [
            {"speaker": SPEAKERS[t["role"]], "text": t["content"], "at": t["timestamp"]}
            for t in report["turns"]
            if t["content"]
        ],
        "entered_state": {"committed": "confirmation"}.get(report["flow"]["start_node"], report["flow"]["start_node"]),
    }


# -- words --------------------------------------------------------------------------------------------------------


def _terms(promise: dict[str, Any]) -> tuple[Any, ...]:
    return promise["status"], promise["amount"], promise["due_date"]


def _day(day: date) -> str:
    return f"{day.day} {day:%B}"


def _nth(day: date) -> str:
    n = day.day
    ending = "th" if 10 < n < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
