"""A stream of posts as busy channels send it, the clients that send it, and what they remember of the answers.

Clients do what careful senders do: who gets no answer does not know what became of the post and sends it again, once the
service is there, but for some who give up. What is remembered (`Ledger`) is all that the checker is told.
"""

from __future__ import annotations

import copy
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

Body = dict[str, Any]

BORROWERS = 200
RESENT_SHARE = 0.05
OF_THESE_WITH_ANOTHER_BODY = 0.3
GIVE_UP_SHARE = 0.25
BATCH_EVENTS = 5
DOWN_LIMIT_SECONDS = 60


@dataclass(frozen=True)
class Request:
    """One POST; a batch has several bodies."""

    path: str
    bodies: tuple[Body, ...]

    @property
    def document(self) -> Body:
        return {"events": list(self.bodies)} if self.path.endswith("/batch") else self.bodies[0]


def event_id_of(body: Body) -> str:
    """The id of an entry, by default that of its conversation's revision (API 3)."""
    default = f"{body.get('channel')}:{body.get('conversation_id')}:{body.get('revision', 1)}"
    return str(body.get("event_id") or default)


# -- what is sent -----------------------------------------------------------------------------------------------------


class _Story:
    """Makes posts about made-up borrowers, in no order of time."""

    def __init__(self, chance: random.Random, made: int) -> None:
        self.chance = chance
        self.now = datetime.now(UTC)
        self.made = made

    def next(self) -> Request:
        self.made += 1
        make = self.chance.choices(
            [self.chat, self.call, self.missed_call, self.stranger, self.message, self.payment, self.cycle, self.link,
             self.verification, self.stop, self.fact, self.start, self.batch],
            [24, 14, 8, 12, 12, 6, 4, 5, 4, 4, 3, 2, 2],
        )[0]  # fmt: skip
        return make()

    def borrower(self) -> str:
        return f"B-{self.chance.randrange(BORROWERS)}"

    def phone(self, number: int | None = None) -> Body:
        """A number of each borrower, most of them linked late or never; some of two borrowers."""
        value = self.chance.randrange(BORROWERS) if number is None else number
        return {"kind": "phone", "value": f"+9190000{value:05d}"}

    def when(self) -> str:
        return (self.now - timedelta(seconds=self.chance.randrange(1, 20 * 86_400))).isoformat()

    def summary(self, channel: str, **fields: Any) -> Request:
        told = {"channel": channel, "conversation_id": f"c-{self.made}", "ended_at": self.when(), **fields}
        return Request("/v1/summaries", (told,))

    def event(self, type_: str, **fields: Any) -> Body:
        self.made += 1
        return {"event_id": f"e-{self.made}", "type": type_, "occurred_at": self.when(), **fields}

    def posted(self, type_: str, **fields: Any) -> Request:
        return Request("/v1/events", (self.event(type_, **fields),))

    def terms(self, **more: Any) -> Body:
        day = (self.now + timedelta(days=self.chance.randrange(1, 20))).date().isoformat()
        return {"amount": f"{self.chance.randrange(100, 20_000)}.00", "due_date": day, "currency": "INR", **more}

    def chat(self) -> Request:
        said = f"She said she would see, for the {self.made}th time."
        terms = self.terms(status="proposed") if self.chance.random() < 0.7 else None
        return self.summary(
            "whatsapp", borrower_id=self.borrower(), outcome="connected", summary=said, commitment=terms
        )

    def call(self) -> Request:
        terms = self.terms(status="confirmed", read_back=True)
        return self.summary("voice", borrower_id=self.borrower(), outcome="connected", commitment=terms)

    def missed_call(self) -> Request:
        outcome = self.chance.choice(["no_answer", "busy", "voicemail"])
        return self.summary("voice", borrower_id=self.borrower(), outcome=outcome)

    def stranger(self) -> Request:
        """Somebody of whom only the number is known."""
        terms = self.terms(status="proposed")
        return self.summary("whatsapp", identifier=self.phone(), outcome="connected", commitment=terms)

    def message(self) -> Request:
        type_ = self.chance.choice(["reminder.sent", "payment_link.shared"])
        outcome = self.chance.choice(["attempted", "sent", "delivered", "read", "failed"])
        message = {"channel": "whatsapp", "message_id": f"m-{self.chance.randrange(400)}", "outcome": outcome}
        return self.posted(type_, borrower_id=self.borrower(), **message)

    def payment(self) -> Request:
        amount = f"{self.chance.randrange(100, 20_000)}.00"
        paid = {"payment_ref": f"P-{self.made}", "amount": amount, "currency": "INR"}
        return self.posted("payment.confirmed", borrower_id=self.borrower(), **paid)

    def cycle(self) -> Request:
        n = self.chance.randrange(BORROWERS)
        due = {"cycle_id": f"CY-{self.chance.randrange(3)}", "loan_id": f"LN-{n}", "amount_due": "12500.00"}
        day = (self.now + timedelta(days=9)).date().isoformat()
        return self.posted("cycle.opened", borrower_id=f"B-{n}", due_date=day, currency="INR", **due)

    def link(self) -> Request:
        """Three in four numbers belong to one borrower only."""
        n = self.chance.randrange(BORROWERS)
        number = n if n % 4 else n - n % 8
        if self.chance.random() < 0.1:
            gone = {"borrower_id": f"B-{n}", "identifier": self.phone(number), "reason": "wrong_borrower"}
            return self.posted("identifier.unlinked", **gone)
        return self.posted("identifier.linked", borrower_id=f"B-{n}", identifier=self.phone(number))

    def verification(self) -> Request:
        return self.posted("identity.verified", identifier=self.phone(), method="otp", channel="whatsapp")

    def stop(self) -> Request:
        who = self.borrower()
        if self.chance.random() < 0.5:
            return self.posted("contact.opted_out", borrower_id=who, channel="whatsapp")
        type_ = self.chance.choice(["hold.placed", "hold.lifted"])
        return self.posted(type_, borrower_id=who, kind="dispute", reason="she disputes the amount")

    def fact(self) -> Request:
        said = {"kind": "preferred_contact_time", "text": f"after {self.chance.randrange(1, 9)} in the evening"}
        return self.posted("fact.stated", borrower_id=self.borrower(), **said)

    def start(self) -> Request:
        begun = {"channel": "voice", "conversation_id": f"c-{self.made}"}
        return self.posted("conversation.started", borrower_id=self.borrower(), **begun)

    def batch(self) -> Request:
        events = (self.message().bodies[0] if n % 2 else self.payment().bodies[0] for n in range(BATCH_EVENTS))
        return Request("/v1/events/batch", tuple(events))


def requests(count: int, chance: random.Random, *, made: int = 0) -> list[Request]:
    """So many posts, some of them sent again later or at the same moment, some of these with another body.

    Ids are counted on from `made`; one post has at most ten.
    """
    story = _Story(chance, made)
    again = round(count * RESENT_SHARE)
    posts = [story.next() for _ in range(count - again)]
    for _ in range(again):
        place = chance.randrange(len(posts))
        first = posts[place]
        if chance.random() < OF_THESE_WITH_ANOTHER_BODY and len(first.bodies) == 1:
            first = Request(first.path, (_other(first.bodies[0], chance),))
        later = chance.randrange(1, 6) if chance.random() < 0.5 else chance.randrange(1, len(posts))
        posts.insert(min(place + later, len(posts)), first)
    return posts


def _other(body: Body, chance: random.Random) -> Body:
    """The same id, said otherwise: of somebody else, or at another time."""
    other = copy.deepcopy(body)
    if "borrower_id" in other and other.get("type") not in ("cycle.opened", "identifier.linked", "identifier.unlinked"):
        other["borrower_id"] = f"B-{(int(other['borrower_id'][2:]) + 1) % BORROWERS}"
    else:
        at = "ended_at" if "ended_at" in other else "occurred_at"
        other[at] = (datetime.fromisoformat(other[at]) - timedelta(seconds=chance.randrange(1, 99))).isoformat()
    return other


# -- what is remembered -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What one body was answered."""

    body: Body
    status: int
    answer: Body
    """The answer, or the problem."""


@dataclass
class Ledger:
    """What was sent and what was answered, by all clients together."""

    sent: dict[str, list[Body]] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    """Ids whose request broke off before it was answered."""
    given_up: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """What no client of these may be answered."""
    planted: set[str] = field(default_factory=set)
    """What was put into the log past the intake, by the id or the coordinates under which it has to be set aside."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def sending(self, request: Request) -> None:
        with self._lock:
            for body in request.bodies:
                known = self.sent.setdefault(event_id_of(body), [])
                if body not in known:
                    known.append(body)

    def broke_off(self, request: Request, *, given_up: bool) -> None:
        with self._lock:
            self.cut += [event_id_of(body) for body in request.bodies]
            if given_up:
                self.given_up += [event_id_of(body) for body in request.bodies]

    def answered(self, request: Request, status: int, document: Any) -> None:
        with self._lock:
            for body, code, answer in _each(request, status, document):
                if code in (200, 202) or answer.get("code") in ("id_conflict", "ambiguous_identifier"):
                    self.told.append(Told(body, code, answer))
                else:
                    self.refused.append(f"{event_id_of(body)} was answered {code} {answer.get('code')}")

    def statuses(self) -> Counter[str]:
        return Counter(told.answer.get("status") if told.status < 300 else told.answer["code"] for told in self.told)


def _each(request: Request, status: int, document: Any) -> Iterator[tuple[Body, int, Body]]:
    if not request.path.endswith("/batch") or status != 200:
        yield from ((body, status, document) for body in request.bodies)
        return
    for body, result in zip(request.bodies, document["results"], strict=True):
        yield body, result["http_status"], result["answer"] or result["problem"]


# -- who sends it -----------------------------------------------------------------------------------------------------


class Clients:
    """Some threads that send one list of posts, in its order but for what overtakes."""

    def __init__(
        self, posts: Sequence[Request], url: Callable[[], str], key: str, ledger: Ledger, count: int, seed: int
    ) -> None:
        self._posts = posts
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"}
        self._ledger = ledger
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.taken = 0
        self._threads = [threading.Thread(target=self._send_all, args=(random.Random(seed + n),)) for n in range(count)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def is_busy(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """What is not sent yet, or sent and not answered, is left."""
        self._stopped.set()
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _take(self) -> Request | None:
        with self._lock:
            if self.taken >= len(self._posts) or self._stopped.is_set():
                return None
            self.taken += 1
            return self._posts[self.taken - 1]

    def _send_all(self, chance: random.Random) -> None:
        with httpx.Client(headers=self._headers, timeout=30) as client:
            while (request := self._take()) is not None:
                self._send(client, request, chance)

    def _send(self, client: httpx.Client, request: Request, chance: random.Random) -> None:
        """Until it is answered, or given up."""
        self._ledger.sending(request)
        until = time.monotonic() + DOWN_LIMIT_SECONDS
        while True:
            try:
                answer = client.post(self._url() + request.path, json=request.document)
            except httpx.ConnectError:
                if self._stopped.is_set():
                    return
                assert time.monotonic() < until, "the service did not come back"
                time.sleep(0.02)
                continue
            except httpx.TransportError:
                given_up = self._stopped.is_set() or chance.random() < GIVE_UP_SHARE
                self._ledger.broke_off(request, given_up=given_up)
                if given_up:
                    return
                continue
            if answer.status_code != 503:
                self._ledger.answered(request, answer.status_code, answer.json())
                return
            time.sleep(0.05)
