"""What an agent reads about a borrower: the briefing, the step just taken, and where a fact comes from (DESIGN 10, 11).

Theory of operation. The text is made when it is read, from the state and the reader's clock alone: no model, so the same
record at the same time gives the same text. The words stand in `templates/`; here is decided what is told:

    1 the structure: cycle, stops, promise, offers, claims, payments, messages, attempts, reports that never came
    2 facts, the stated apart from the inferred; what is true only when read is in none of them
    3 conversations, in the order they ended: a line each, and the prose of as many as there is room for

The whole is at most `NARRATIVE_CHARACTERS`. The structure is never cut: when people said more than fits, their quotes and
the lists are shortened, with a note, to what always fits (`TIGHT`). Then each channel's latest conversation is told in its
own words before any other's. Prose is screened at each reading, so that a rule added today hides yesterday's sentence.

Nothing here knows requests, storage or a model. Quotes and prose are data: they are put on one line, within marks that they
cannot close.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from channels.said import numbers
from statemachine.conclusions import (
    Conversation,
    Cycle,
    KnownFact,
    Promise,
)
from statemachine.money import spoken
from statemachine.screening import Screened, claims_sent, screened
from statemachine.state import BorrowerState
from statemachine.volatility import Kind, Volatility
from statemachine.words import RELATIVES, words_of

NARRATIVE_CHARACTERS: Final = 4_000
FACTS_CHARACTERS: Final = 900
DECISIONS_CHARACTERS: Final = 800
FACT_CHARACTERS: Final = 160
PROSE_CHARACTERS: Final = 1_200
"""Of one conversation's report at most so much is told; the structure carries what was agreed."""
READ_CHARACTERS: Final = 4_000
"""Of a longer report only the end is read when it is told: screening takes its time."""
FACT_LINE_CHARACTERS: Final = 60
NOTE_CHARACTERS: Final = 160
"""Room kept for the notes that something is left out or withheld."""
CONVERSATIONS_LISTED: Final = 12
CANDIDATES_TOLD: Final = 3
HOLDS_TOLD: Final = 4
NAME_CHARACTERS: Final = 40
STEP_QUOTE_CHARACTERS: Final = 160
STEP_PROSE_CHARACTERS: Final = 240
RELATIVE_WORDS: Final = 3
"""A third party in more words than this is no relative's name but a sentence."""
CACHED_CLAIMS: Final = 512
CACHED_AMOUNTS: Final = 2_048
CACHED_DAYS: Final = 2_048
BORROWER: Final = "borrower"
BY_A_PERSON: Final = "by_a_person"
"""In the place of a rule, for sentences that no rule withholds but somebody of the lender's."""
CLOCK: Final = "\ufdd0"
"""No character of any text."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """What was not worded, and by which rule of `screening`, or `BY_A_PERSON`. A fact that was stated in no conversation is
    named by its `fact_id`."""

    conversation_id: str
    rule: str


@dataclass(frozen=True, slots=True)
class Narrative:
    """The briefing of one borrower: at most `NARRATIVE_CHARACTERS`, never empty."""

    text: str
    withheld: tuple[Withheld, ...]


def narrative(state: BorrowerState, cycle: Cycle, *, now: datetime, decided: Sequence[str] = ()) -> Narrative:
    """The whole briefing of one borrower, standing in this cycle. `now`: aware, the reader's clock. `decided`: decisions that
    are current at this reading, each a line with its version and date (`decisions.telling`)."""
    zone = ZoneInfo(state.time_zone)
    here = [c for c in state.conversations if _stands_in(c, state, cycle)]
    head = _structure(state, cycle, here, now, zone) + "\n"
    head += _decisions(decided, min(DECISIONS_CHARACTERS, NARRATIVE_CHARACTERS - len(head)))
    withheld: dict[Withheld, None] = {}
    room = NARRATIVE_CHARACTERS - len(head)
    facts = _facts(state.facts, zone, min(FACTS_CHARACTERS, room // 2), withheld)
    ids = frozenset(c.event_id for c in here)
    told = _conversations(state.conversations, ids, zone, room - len(facts), withheld)
    text = (head + facts + told).strip()
    assert len(text) <= NARRATIVE_CHARACTERS, "the structure is bounded and the rest was fitted into what it leaves"
    return Narrative(text, tuple(withheld))


def previous_step(state: BorrowerState, cycle: Cycle, *, now: datetime | None) -> str:
    """The step just taken in this cycle, in a sentence or two; never empty (API 6).

    `now`: None leaves `CLOCK` where the reader's clock goes, for a text that is kept; `told_at` puts it in.

    The first that there is: the promise in force, a payment, a broken promise, the last conversation with the borrower, a
    message of ours, an attempt.
    """
    zone = ZoneInfo(state.time_zone)
    if cycle.promise is not None:
        return _STEP["promise"](cycle.promise, cycle, now, zone, STEP_QUOTE_CHARACTERS)
    if cycle.payment_confirmed.evidence is not None:
        return _STEP["payment"](cycle.payment_confirmed.evidence.at, cycle, now, zone)
    if cycle.is_over:
        return _STEP["over"](cycle)
    last = next((c for c in reversed(state.conversations) if c.contact and _stands_in(c, state, cycle)), None)
    broken = next((p for p in reversed(cycle.history) if p.outcome == "broken"), None)
    if broken is not None and (last is None or last.at <= cycle.broken_at[-1]):
        return _STEP["broken"](broken, cycle.broken_at[-1] if len(cycle.broken_at) == 1 else None, cycle, zone)
    if last is not None:
        return _STEP["conversation"](last, _last_words(last, cycle), zone)
    for flag, is_link in ((cycle.payment_link_shared, True), (cycle.reminded, False)):
        if flag.evidence is not None:
            return _STEP["message"](flag.evidence, zone, is_link)
    attempt = next((c for c in reversed(state.conversations) if _stands_in(c, state, cycle)), None)
    if attempt is not None:
        return _STEP["attempt"](attempt, zone)
    before = next((c for c in reversed(state.conversations) if c.contact), None)
    return _STEP["nothing"](before, zone)


def structure_in_words(state: BorrowerState, cycle: Cycle) -> list[tuple[str, str]]:
    """What the record tells whatever the time, as the briefing does: of each part (`due`, `promise`, ...) its sentences.

    What is true only when it is read, what is open of a due or of a promise, is left out (DESIGN 10, 11).
    """
    here = [c for c in state.conversations if _stands_in(c, state, cycle)]
    asks = not cycle.is_over and not state.holds_on(cycle.loan_id)
    b = _Reading(state, cycle, here, None, ZoneInfo(state.time_zone), FULL.quote, FULL.listed, asks)
    parts = ((part.__name__.removeprefix("_").removeprefix("the_"), " ".join(part(b))) for part in STRUCTURE)
    return [(name, sentences) for name, sentences in parts if sentences]


def fact_in_words(fact: KnownFact, time_zone: str) -> tuple[str, str | None]:
    """A fact as one line with its date and ground; empty, with the rule, when it may not be shown."""
    told = _screened(_shortened(on_one_line(fact.text), FACT_CHARACTERS), ())
    if told.withheld:
        return "", told.withheld[0][1]
    line = _WORDS["fact"](fact, _quoted(told.text), ZoneInfo(time_zone))
    return line.removeprefix("- "), None


def conversations_in_words(
    state: BorrowerState, cycle: Cycle, *, listed: int
) -> list[tuple[Conversation, str, tuple[Withheld, ...]]]:
    """The newest conversations in the order they ended, a line each; each channel's latest also in its own screened words."""
    zone = ZoneInfo(state.time_zone)
    told = [c for c in state.conversations if _is_told(c)]
    newest = range(max(len(told) - listed, 0), len(told))
    in_words, _ = _in_words_first(told, newest)
    found = []
    for at in newest:
        c, withheld = told[at], dict[Withheld, None]()
        person = _person(c.third_party) if c.outcome == "third_party" else None
        line = _WORDS["conversation"](c, not _stands_in(c, state, cycle), person, zone).removeprefix("- ")
        if at in in_words:
            line += _report(c, PROSE_CHARACTERS, withheld)
        found.append((c, line, tuple(withheld)))
    return found


def told_at(text: str, now: datetime, time_zone: str) -> str:
    """A kept text as it reads now: an amount that came in is told with the reader's clock (DESIGN 11)."""
    return text.replace(CLOCK, _read_at(now, ZoneInfo(time_zone))) if CLOCK in text else text


def said_in_words(fact: KnownFact, state: BorrowerState | None = None) -> str:
    """Where a fact comes from, in words (API 7, `said`).

    The state names the channel and the borrower's day; without it no channel is named and the day is that of UTC, as it says.
    """
    if state is None:
        return _WORDS["fact_source"](fact, None, UTC, True, _is_live(fact))
    source = (fact.conversation_id, fact.observed_at)
    channel = next((c.channel for c in state.conversations if (c.conversation_id, c.at) == source), None)
    return _WORDS["fact_source"](fact, channel, ZoneInfo(state.time_zone), False, _is_live(fact))


# -- 1 the structure -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Caps:
    """How much of the structure is told: characters of a quote, and how many of each list."""

    quote: int
    listed: int


FULL: Final = _Caps(quote=160, listed=3)
TIGHT: Final = _Caps(quote=40, listed=1)
"""With these the structure fits whatever the record holds; a test tries the largest there can be."""
STRUCTURE_CHARACTERS: Final = 3_000
"""Above this the structure is told with `TIGHT`, so that conversations have room."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the sentences are told from. `here`: the conversations that stand in the cycle, in the order they ended."""

    state: BorrowerState
    cycle: Cycle
    here: Sequence[Conversation]
    now: datetime | None
    """None: nothing is told that is true only when it is read."""
    zone: tzinfo
    quote: int
    listed: int
    asks: bool
    """Whether the borrower may be asked anything about money: the cycle is open and no hold is in force."""


Sentences = Iterator[str]


def _structure(state: BorrowerState, cycle: Cycle, here: Sequence[Conversation], now: datetime, zone: tzinfo) -> str:
    asks = not cycle.is_over and not state.holds_on(cycle.loan_id)
    told = ""
    for caps in (FULL, TIGHT):
        b = _Reading(state, cycle, here, now, zone, caps.quote, caps.listed, asks)
        told = "\n".join(sentence for sentences in STRUCTURE for sentence in sentences(b))
        if len(told) <= STRUCTURE_CHARACTERS:
            break
    return told


def _the_due(b: _Reading) -> Sentences:
    yield _WORDS["due"](b.cycle)
    others = [loan for loan in b.state.loans if loan != b.cycle.loan_id]
    if others:
        yield _WORDS["other_loans"](others[: b.listed], len(others[b.listed :]))


def _holds_and_stops(b: _Reading) -> Sentences:
    if b.state.holds:
        holds = b.state.holds_on(b.cycle.loan_id)
        for hold in holds[-HOLDS_TOLD:]:
            yield _WORDS["hold"](hold, b)
        yield from _further(holds[:-HOLDS_TOLD], "holds")
        if holds:
            yield _WORDS["under_a_hold"]()
    for purpose in sorted({stop.purpose for stop in b.state.opt_outs}):
        yield _WORDS["stops"](purpose, [stop for stop in b.state.opt_outs if stop.purpose == purpose], b)


def _the_promise(b: _Reading) -> Sentences:
    promise = b.cycle.promise
    if promise is None:
        return
    yield _WORDS["promise"](promise, b)
    if promise.currency not in (None, b.cycle.currency):
        yield _WORDS["foreign"](promise, b)
    if promise.outcome == "kept":
        yield _WORDS["kept"](promise, b)
    elif b.cycle.payments and (paid := _paid_since(promise, b.cycle)):
        yield _WORDS["paid_on_it"](promise, paid, _open_part(promise, paid, b.cycle) if b.asks and b.now else None, b)
    if promise.overdue and not b.cycle.is_over:
        yield _WORDS["overdue"]()
    if b.asks and promise.amount is None:
        yield _WORDS["ask_amount"](promise)
    if b.asks and promise.due_date is None:
        income = (f for f in b.state.facts if f.kind == Kind.INCOME_DAY and f.about == BORROWER and not _is_live(f))
        yield _WORDS["ask_date"](promise, next(income, None), b)


def _other_promises(b: _Reading) -> Sentences:
    for promise in b.cycle.counter_proposals[: b.listed]:
        yield _WORDS["counter_proposal"](promise, b)
    yield from _further(b.cycle.counter_proposals[b.listed :], "counter_proposals")
    if b.cycle.broken_at:
        yield _WORDS["broken"](len(b.cycle.broken_at), _broken(b.cycle)[-b.listed :], b)
    if b.cycle.history:
        past = [p for p in b.cycle.history if p.outcome != "broken" and not _said_again(p, b.cycle.promise)]
        for promise in past[-b.listed :]:
            yield _WORDS["earlier_promise"](promise, b)
        yield from _further(past[: -b.listed], "promises")


def _what_was_claimed_and_asked(b: _Reading) -> Sentences:
    if b.cycle.payment_claim is not None:
        yield _WORDS["claim"](b.cycle.payment_claim, b)
    if b.state.callback is not None:
        yield _WORDS["callback"](b.state.callback, b)


def _payments(b: _Reading) -> Sentences:
    if not b.cycle.payments and not b.state.unplaced_payments:
        return
    paid, currency = b.cycle.payments, b.cycle.currency
    for sentence, payments in (
        ("received", [p for p in paid if p.currency == currency and p.received]),
        ("uncounted", [p for p in paid if p.currency != currency and p.received]),
        ("reversed", [p for p in paid if p.received < p.amount]),
        ("unplaced", [p for p in b.state.unplaced_payments if p.received]),
    ):
        if payments:
            yield _WORDS[sentence](len(payments), max(payments, key=lambda p: (p.at, p.event_id)), b)


def _messages(b: _Reading) -> Sentences:
    for action, flag in (("payment_link", b.cycle.payment_link_shared), ("reminder", b.cycle.reminded)):
        if flag.evidence is not None:
            yield _WORDS["message"](action, flag.evidence, b)
        elif action in b.cycle.attempted_at and not b.cycle.is_over:
            yield _WORDS["unclear"](action, b.cycle.attempted_at[action], b)
    for conversation, actions in _unrecorded(b.here, b.cycle):
        yield _WORDS["unrecorded"](conversation, actions, b)


def _attempts(b: _Reading) -> Sentences:
    # One whose outcome is not known may yet turn out to have reached the borrower; it has a line of its own.
    attempts = [c for c in b.here if not c.contact and c.outcome is not None]
    if attempts:
        outcomes = Counter(c.outcome for c in attempts)
        yield _WORDS["attempts"](len(attempts), outcomes.items(), attempts[-1], b)


def _missing_reports(b: _Reading) -> Sentences:
    for started in b.state.started[-b.listed :]:
        yield _WORDS["no_report"](started, b)
    yield from _further(b.state.started[: -b.listed], "unreported")
    if not b.state.conversations:
        yield _WORDS["nothing_said"]()


STRUCTURE: Final[tuple[Callable[[_Reading], Sentences], ...]] = (
    _the_due,
    _holds_and_stops,
    _the_promise,
    _other_promises,
    _what_was_claimed_and_asked,
    _payments,
    _messages,
    _attempts,
    _missing_reports,
)
"""What is told, and in this order."""


def _further(left_out: Sequence[object], what: str) -> Sentences:
    """How many of something are not told, where any are not."""
    if left_out:
        yield _WORDS["further"](len(left_out), what)


def _stands_in(c: Conversation, state: BorrowerState, cycle: Cycle) -> bool:
    return (cycle.loan_id, cycle.cycle_id) in state.calendar.place(c.loan_id, c.cycle_id, c.at)


def _said_again(past: Promise, promise: Promise | None) -> bool:
    """Replaced by the same terms, as when a call confirms what a chat proposed: one promise, not two."""
    terms = (past.amount, past.currency, past.due_date)
    return (
        past.outcome == "replaced"
        and promise is not None
        and terms == (promise.amount, promise.currency, promise.due_date)
    )


def _paid_since(promise: Promise, cycle: Cycle) -> Decimal:
    """What has come in since the promise was made, in time or not: nobody is to be asked for that again."""
    return sum((p.received for p in cycle.payments if p.currency == cycle.currency and p.at >= promise.at), Decimal(0))


def _open_part(promise: Promise, paid_since: Decimal, cycle: Cycle) -> Decimal | None:
    """What of a promise is still to come, never more than what is open of the due; `None` when nobody can say."""
    if promise.currency not in (None, cycle.currency):
        return None
    rest = None if promise.amount is None else max(Decimal(0), promise.amount - paid_since)
    return min((part for part in (rest, cycle.outstanding) if part is not None), default=None)


def _broken(cycle: Cycle) -> tuple[Promise, ...]:
    """One promise for each due date that was missed: of several for one date the last."""
    return tuple({p.due_date: p for p in cycle.history if p.outcome == "broken"}.values())


def _unrecorded(here: Sequence[Conversation], cycle: Cycle) -> tuple[tuple[Conversation, tuple[str, ...]], ...]:
    """What the agent says was sent in this attempt while no event says so (AC-52), by the last conversation that says it."""
    recorded = {"reminder": cycle.reminded.value, "payment_link": cycle.payment_link_shared.value}
    missing = {a for a, known in recorded.items() if not known and a not in cycle.attempted_at}
    since = cycle.broken_at[-1] if cycle.broken_at else None
    found = []
    for c in reversed(here):
        if not missing or cycle.is_over or (since is not None and c.at < since):
            break
        if c.prose and (claimed := missing & _claims_sent(_end_of(c.prose))):
            found.append((c, tuple(sorted(claimed))))
            missing -= claimed
    return tuple(reversed(found))


_claims_sent = lru_cache(maxsize=CACHED_CLAIMS)(claims_sent)


def _decisions(decided: Sequence[str], room: int) -> str:
    """As many as there is room for beside the structure; they are newest first."""
    if not decided or room < NOTE_CHARACTERS:
        return ""
    lines = [_WORDS["decisions_heading"]()]
    room -= len(lines[0]) + NOTE_CHARACTERS // 2
    for line in decided:
        if len(line) >= room:
            break
        room -= len(line) + 1
        lines.append(line)
    lines += _further(decided[len(lines) - 1 :], "decisions")
    return "".join(f"{line}\n" for line in lines)


# -- 2 facts -------------------------------------------------------------------------------------------------


def _facts(facts: Sequence[KnownFact], zone: tzinfo, room: int, withheld: dict[Withheld, None]) -> str:
    """Stated facts, then inferred ones, each newest first, as many as there is room for; `withheld` takes the others."""
    lines: list[str] = []
    left_out: list[KnownFact] = []
    room -= NOTE_CHARACTERS
    for source in ("stated", "inferred"):
        group = [f for f in facts if f.source == source and f.volatility != Volatility.LIVE]
        heading = _WORDS["facts_heading"](source) + "\n" if group else ""
        for fact in group:
            if room < FACT_LINE_CHARACTERS:
                left_out.append(fact)
                continue
            told = _screened(_shortened(on_one_line(fact.text), FACT_CHARACTERS), ())
            for _, rule in told.withheld:
                withheld[Withheld(fact.conversation_id or fact.fact_id, rule)] = None
            if told.withheld:
                continue
            line = heading + _WORDS["fact"](fact, _quoted(told.text), zone)
            if len(line) >= room:
                left_out.append(fact)
                continue
            room -= len(line) + 1
            lines.append(line)
            heading = ""
    return "".join(f"{line}\n" for line in (*lines, *_further(left_out, "facts")))


def _is_live(fact: KnownFact) -> bool:
    """Whether a fact says, whatever its kind, something that is true only when read."""
    return fact.volatility == Volatility.LIVE or bool(_screened(fact.text[:READ_CHARACTERS], ()).withheld)


# -- 3 conversations -----------------------------------------------------------------------------------------


def _conversations(
    conversations: Sequence[Conversation], here: frozenset[str], zone: tzinfo, room: int, withheld: dict[Withheld, None]
) -> str:
    """Conversations in the order they ended: the newest a line each, then prose for as many as there is room for.

    `here`: the event ids of those that stand in the cycle. `withheld` takes what was not worded.
    """
    told = [c for c in conversations if _is_told(c)]
    if not told:
        return ""
    heading = _WORDS["conversations_heading"]() + "\n"
    room -= len(heading) + NOTE_CHARACTERS
    lines: dict[int, str] = {}
    for at in range(len(told) - 1, max(len(told) - 1 - CONVERSATIONS_LISTED, -1), -1):
        c = told[at]
        line = _WORDS["conversation"](
            c, c.event_id not in here, _person(c.third_party) if c.outcome == "third_party" else None, zone
        )
        if len(line) >= room:
            break
        room -= len(line) + 1
        lines[at] = line
        if c.held_back:
            withheld[Withheld(c.conversation_id, BY_A_PERSON)] = None
    first, rest = _in_words_first(told, lines)
    for turn, at in enumerate((*first, *rest)):
        report = _report(told[at], room // (len(first) - turn) if turn < len(first) else room, withheld)
        room -= len(report)
        lines[at] += report
    earlier = _further(told[: len(told) - len(lines)], "conversations")
    return heading + "\n".join((*earlier, *(lines[at] for at in sorted(lines))))


def _is_told(c: Conversation) -> bool:
    """Whether it has a line of its own; an attempt without a word is only counted."""
    return c.contact or bool(c.prose) or c.outcome in (None, "voicemail", "third_party")


def _in_words_first(told: Sequence[Conversation], listed: Iterable[int]) -> tuple[list[int], list[int]]:
    """Which conversations are told in words before others: each channel's last, and its last with the borrower."""
    newest = sorted((at for at in listed if told[at].prose), reverse=True)
    last = {told[at].channel: at for at in reversed(newest)}
    last_contact = {told[at].channel: at for at in reversed(newest) if told[at].contact}
    first = {*last.values(), *last_contact.values()}
    return [at for at in newest if at in first], [at for at in newest if at not in first]


def _report(c: Conversation, room: int, withheld: dict[Withheld, None]) -> str:
    """What was reported of a conversation, in its own words: all of it or its last whole sentences; at most `room` long."""
    if not c.prose or room < NOTE_CHARACTERS:
        return ""
    end = _end_of(c.prose)
    told = _screened(end, c.amounts)
    for _, rule in told.withheld:
        withheld[Withheld(c.conversation_id, rule)] = None
    whole = on_one_line(told.text)
    words = _last_sentences(whole, min(room - NOTE_CHARACTERS, PROSE_CHARACTERS))
    left_out = len(words) < len(whole) or len(end) < len(c.prose.strip())
    speaker = _person(c.third_party) if c.outcome == "third_party" else None
    return _WORDS["report"](_quoted(words) if words else "", left_out, bool(told.withheld or c.held_back), speaker)


def _last_words(c: Conversation, cycle: Cycle) -> str:
    """The end of a report as a quotation, for a step just taken; empty when nothing of it may be shown, its last sentence is
    too long, or it tells of a message of which there is no record."""
    if not c.prose or _unrecorded((c,), cycle):
        return ""
    told = _screened(_end_of(c.prose), c.amounts)
    words = _last_sentences(on_one_line(told.text), STEP_PROSE_CHARACTERS)
    return _quoted(words) if words else ""


def _end_of(prose: str) -> str:
    return _last_sentences(prose.strip(), READ_CHARACTERS)


def _last_sentences(text: str, limit: int) -> str:
    """The text, or as many whole sentences from its end as fit; that is where the agreement usually stands (AC-50)."""
    if len(text) <= limit:
        return text
    ends = (end.end() for end in _SENTENCE_ENDS.finditer(text, max(0, len(text) - limit - SENTENCE_END_CHARACTERS)))
    return next((text[start:] for start in ends if len(text) - start <= limit), "")


SENTENCE_END_CHARACTERS: Final = 8
_SENTENCE_ENDS = re.compile(
    r"(?i)(?<!\brs)(?<!\bmr)(?<!\bms)(?<!\bdr)(?<!\bno)(?<!\bst)(?<!\bmrs)[.!?।…][\"'”’)\]]{0,3}\s+(?=[^\d\s])|\n\s*(?=\S)"
)


def _screened(text: str, amounts: Sequence[Decimal]) -> Screened:
    return screened(text, amounts_allowed=frozenset(amounts), numbers=numbers)


def _person(third_party: str | None) -> str:
    """Who answered in the borrower's place. Only a relative is called by the word; anything else is a quotation."""
    words = words_of(third_party or "")
    if words and len(words) <= RELATIVE_WORDS and words[-1] in RELATIVES:
        return _WORDS["person"](RELATIVES[words[-1]], None)
    return _WORDS["person"](None, _quoted(third_party, NAME_CHARACTERS) if third_party else None)


# -- how values are written ----------------------------------------------------------------------------------

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# Line ends, control signs, direction marks and invisible tags: none of them may shape the briefing.
_SHAPING = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]+")
_MARKS = str.maketrans("“”„‟", "‘’‘‘")


def on_one_line(text: str) -> str:
    """A text that cannot leave its line, nor turn or hide what stands beside it."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return _SHAPING.sub(" ", text).strip()


def _quoted(text: str, limit: int | None = None) -> str:
    """The text as a quotation on one line, which it cannot close itself; longer than `limit` it ends in an ellipsis."""
    told = _without_marks(on_one_line(text))
    return f"“{told if limit is None else _shortened(told, limit)}”"


def _without_marks(told: str) -> str:
    return told if told.isascii() else told.translate(_MARKS)


def _shortened(told: str, limit: int) -> str:
    return told if len(told) <= limit else told[: limit - 1].rstrip() + "…"


def _name(text: str) -> str:
    """An id or a label as it may stand in a sentence."""
    return _shortened(_without_marks(on_one_line(text)), NAME_CHARACTERS)


@lru_cache(maxsize=CACHED_DAYS)
def _date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _local(at: datetime, zone: tzinfo) -> datetime:
    # A hold until the end of time has no local time in a zone that is ahead.
    return at if at.year == MAXYEAR else at.astimezone(zone)


def _day(at: datetime, zone: tzinfo) -> str:
    return _date(_local(at, zone).date())


def _clock(at: datetime, zone: tzinfo) -> str:
    local = _local(at, zone)
    return f"{local.hour:02}:{local.minute:02}"


def _read_at(now: datetime | None, zone: tzinfo) -> str:
    return CLOCK if now is None else f"{_clock(now, zone)} on {_day(now, zone)}"


def _moment(at: datetime, zone: tzinfo) -> str:
    return f"{_day(at, zone)}, {_clock(at, zone)}"


T = TypeVar("T")


def _few(candidates: Sequence[T]) -> Sequence[T]:
    return candidates[:CANDIDATES_TOLD]


def _many(candidates: Sequence[object]) -> bool:
    return len(candidates) > CANDIDATES_TOLD


TEMPLATES: Final = Path(__file__).resolve().parent.parent / "templates"
"""Beside the packages, in a checkout as in an installed wheel."""


def _templates() -> Environment:
    # Plain text: nothing is escaped, and a name that a template uses and nobody gives is an error.
    words = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words.filters |= {
        "date": _date,
        "day": _day,
        "clock": _clock,
        "moment": _moment,
        "read_at": _read_at,
        "money": lru_cache(maxsize=CACHED_AMOUNTS)(spoken),
        "quoted": _quoted,
        "name": _name,
        "plain": lambda name: _name(name).replace("_", " "),
        "few": _few,
        "many": _many,
        "ground": lambda fact: "stated" if fact.source == "stated" else fact.grounding,
        "channel": lambda promise_id: promise_id.partition(":")[0],
    }
    return words


_ENVIRONMENT = _templates()
_WORDS: dict[str, Callable[..., str]] = vars(_ENVIRONMENT.get_template("narrative.txt.j2").module)
_STEP: dict[str, Callable[..., str]] = vars(_ENVIRONMENT.get_template("previous_step.txt.j2").module)
