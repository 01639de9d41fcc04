"""The summary by rules alone: no model, the same for the same turns, and nothing that the borrower did not say (DESIGN 11).

Sentence by sentence of the borrower's own turns:

    promise   an outright undertaking to pay, in the first person, with a sum or a day, or nothing but a sum and its last
              day ("5000 25 tarikh tak"); a later one takes its place, a later refusal takes it back, and a bare "5000" or
              "25 ko" that answers our question fills what it left open
    claim     "27 ko bhar diya": payment in the past tense
    callback  a time at which they ask to be called

The prose quotes, and says nothing of its own. What a button stood for is taken by its disposition, never by its wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from channels import said as words
from channels.channel import Channel
from channels.chats import Said
from channels.summarise.draft import WORDS_MAX, Draft, promised_in
from statemachine import words as w
from statemachine.entries import Callback, Commitment, PaymentClaim
from statemachine.flow import Step
from statemachine.screening import as_quotation, instructs, screened

QUOTE_CHARACTERS: Final = 400
QUOTE_WORDS: Final = 28
QUOTES: Final = 6
PROMISED, PAID = "PTP", "PAID_CLAIMED"
CALLING: Final = frozenset(w.words_of("call callback phone fon ring baat contact कॉल फोन फ़ोन बात"))
DEADLINES: Final = frozenset(w.words_of("tak by till until before तक"))
ASKING_FOR_TERMS: Final = frozenset(
    w.words_of("pay payment kab when date amount kitna kitne how much emi bhar de denge भुगतान पेमेंट कब कितना")
)
_SENTENCE: Final = re.compile(r"(?<=[!?।])\s+|\n+|(?<=[.])(?<![Rr][Ss]\.)\s+")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """`place`: in the order in which the borrower wrote them; `turn`: which of all turns it stands in."""

    place: int
    turn: int
    text: str
    said: Said


@dataclass(slots=True)
class _Found:
    amount: _Sentence | None = None
    due: _Sentence | None = None
    quote: _Sentence | None = None
    claim: _Sentence | None = None
    callback: _Sentence | None = None
    told: list[_Sentence] = field(default_factory=list)
    """What matters, in the order in which it was written."""


def plain(said: Sequence[Said], channel: Channel, ended_at: datetime, zone: str) -> Draft:
    """The draft of a conversation in writing that ended then; `said` in its order, without what was fed into it."""
    sentences = list(_sentences(said))
    found = _Found()
    for before, written in zip((None, *sentences), sentences, strict=False):
        sentence = _with_its_day(written, before, zone)
        if not instructs(sentence.text) and len(sentence.text) <= QUOTE_CHARACTERS:
            _read(sentence, said, found, zone)
    commitment = _commitment(found, ended_at, zone)
    negotiated = commitment is not None or found.claim is not None
    return Draft(
        summary=_prose(said, sentences, found, commitment),
        outcome=_outcome(said),
        reached=_state(channel, Step.negotiate if negotiated else Step.greet) if sentences else None,
        disposition=next((turn.disposition for turn in reversed(said) if turn.disposition), None),
        commitment=commitment,
        payment_claim=_claim(found.claim, zone) if found.claim else None,
        callback=_callback(found.callback, zone) if found.callback else None,
        promised_at=max((s.said.at for s in (found.amount, found.due, found.quote) if s), default=None),
    )


def _outcome(said: Sequence[Said]) -> str:
    speakers = {turn.speaker for turn in said}
    if "borrower" in speakers:
        return "connected"
    return "third_party" if "third_party" in speakers else "no_answer"


def _state(channel: Channel, step: Step) -> str | None:
    return next((state.name for state in channel.flow.states if state.step is step), None)


def _sentences(said: Sequence[Said]) -> Iterator[_Sentence]:
    place = 0
    for number, turn in enumerate(said):
        if turn.speaker == "borrower":
            for text in filter(None, map(str.strip, _SENTENCE.split(turn.text))):
                yield _Sentence(place, number, text, turn)
                place += 1


def _with_its_day(sentence: _Sentence, before: _Sentence | None, zone: str) -> _Sentence:
    """With the sentence before it in its turn, when only both name the day: "Salary 25 ko aayegi. 5000 tab de dungi."."""
    if before is None or before.turn != sentence.turn or not words.promises(sentence.text):
        return sentence
    both, at = f"{before.text} {sentence.text}", sentence.said.at
    if any(words.due_date(text, at, zone) is not None for text in (before.text, sentence.text)):
        return sentence
    day = words.due_date(both, at, zone)
    return sentence if day is None or day.value is None else replace(sentence, text=both)


# -- what was promised, claimed and asked for -----------------------------------------------------------------------------


def _read(sentence: _Sentence, said: Sequence[Said], found: _Found, zone: str) -> None:
    """One sentence, after those before it. Days are seen from the time at which it was written."""
    text, at = sentence.text, sentence.said.at
    if sentence.said.disposition == PAID or words.in_past_tense(text):
        found.claim = sentence
    elif sentence.said.disposition == PROMISED or words.promises(text) or _terms_alone(text, at, zone):
        _promise(sentence, found, zone)
    elif found.quote is not None and _takes_back(text):
        found.amount = found.due = found.quote = None
    elif _answers_for_terms(sentence, said, zone):
        _promise(sentence, found, zone, fills=found.quote is not None)
    elif not CALLING.isdisjoint(w.words_of(text)) and words.moment(text, at, zone) is not None:
        found.callback = sentence
    else:
        return
    found.told.append(sentence)


def _promise(sentence: _Sentence, found: _Found, zone: str, *, fills: bool = False) -> None:
    """`fills`: it only answers for what a promise before it left open, or says it anew."""
    amount = words.promised_amount(sentence.text) is not None
    due = sentence.said.due_date is not None or words.due_date(sentence.text, sentence.said.at, zone) is not None
    if amount and due:
        found.amount = found.due = None
    if amount:
        found.amount = sentence
    if due:
        found.due = sentence
    if not fills:
        found.quote = sentence


def _commitment(found: _Found, ended_at: datetime, zone: str) -> Commitment | None:
    """In the borrower's words, which are resolved where all are, at intake, from the end of the conversation.

    A day that means another one seen from there ("kal", said yesterday) is given as the date that was meant, without words.
    """
    if found.quote is None:
        return None
    quote = found.quote.text
    amount = found.amount.text if found.amount and found.amount.text != quote else None
    if found.due is None:
        return Commitment(status="proposed", amount_said=amount, quote=quote)
    due, chosen = found.due, found.due.said.due_date
    meant = words.due_date(due.text, due.said.at, zone) if chosen is None else None
    if chosen is None and meant == words.due_date(due.text, ended_at, zone):
        due_said = due.text if due.text != quote else None
        return Commitment(status="proposed", amount_said=amount, due_date_said=due_said, quote=quote)
    day = chosen or (meant.value if meant else None)
    said = found.amount.text if found.amount else None
    return Commitment(status="proposed", amount_said=said, due_date=day.isoformat() if day else None)


def _claim(claim: _Sentence, zone: str) -> PaymentClaim:
    paid_on = words.paid_on(claim.text, claim.said.at, zone)
    day = paid_on.value if paid_on else None
    return PaymentClaim(quote=claim.text, paid_on=day.isoformat() if day else None)


def _callback(callback: _Sentence, zone: str) -> Callback:
    at = words.moment(callback.text, callback.said.at, zone)
    return Callback(at=at, at_said=callback.text, quote=callback.text)


def _takes_back(text: str) -> bool:
    told = w.words_of(text)
    refused = not w.NEGATIONS.isdisjoint(told) and not w.PAY_WORDS.isdisjoint(told)
    return refused or w.TAKE_BACKS.in_(told)


def _only_terms(text: str) -> bool:
    told = w.words_of(text)
    return "?" not in text and all(word in w.TERM_WORDS or word in w.ASSURANCES or word[0].isdigit() for word in told)


def _terms_alone(text: str, at: datetime, zone: str) -> bool:
    """Nothing but one sum and the last day for it: "12,500 28 tarikh tak". Without a last day it may be what is due."""
    if not _only_terms(text) or DEADLINES.isdisjoint(w.words_of(text)):
        return False
    amount, due = words.amount(text), words.due_date(text, at, zone)
    return amount is not None and amount.value is not None and due is not None and due.value is not None


def _answers_for_terms(sentence: _Sentence, said: Sequence[Said], zone: str) -> bool:
    """Nothing but a sum or a day, said to our question for them: "kab tak?" "25 ko"."""
    text = sentence.text
    if not _only_terms(text):
        return False
    if words.amount(text) is None and words.due_date(text, sentence.said.at, zone) is None:
        return False
    before = next((turn for turn in reversed(said[: sentence.turn]) if turn.speaker != "borrower"), None)
    if before is None or before.speaker != "agent" or "?" not in before.text:
        return False
    return not ASKING_FOR_TERMS.isdisjoint(w.words_of(before.text))


# -- the prose -----------------------------------------------------------------------------------------------------------


def _prose(said: Sequence[Said], sentences: Sequence[_Sentence], found: _Found, commitment: Commitment | None) -> str:
    """Quotes, what matters before what was written last, told in their order; within 120 words, past the screening."""
    if not sentences:
        return "Somebody else replied." if _outcome(said) == "third_party" else "There was no reply."
    promised = promised_in(commitment)
    quotes: dict[int, str] = {}
    length = 0
    told_with_its_day = {s.place - 1 for s in found.told if s.text != sentences[s.place].text}
    others = (sentence for sentence in reversed(sentences) if sentence.place not in told_with_its_day)
    for sentence in (*reversed(found.told), *others):
        if len(quotes) >= QUOTES:
            break
        line = screened(_quoted(sentence.text), amounts_allowed=promised, numbers=words.numbers).text
        if line and length + len(line.split()) <= WORDS_MAX and line not in quotes.values():
            quotes.setdefault(sentence.place, line)
            length = sum(len(quote.split()) for quote in quotes.values())
    prose = " ".join(quotes[place] for place in sorted(quotes))
    return screened(prose, amounts_allowed=promised, numbers=words.numbers).text


_INNER: Final = str.maketrans({"“": "‘", "”": "’", '"': "’"})


def _quoted(text: str) -> str:
    """As the borrower's words and nobody's else, on one line."""
    if instructs(text):
        return as_quotation(text)
    told = text.split()
    short = " ".join(told[:QUOTE_WORDS]) + (" …" if len(told) > QUOTE_WORDS else "")
    verb = "asked" if short.endswith("?") else "wrote"
    return f"The borrower {verb}: “{short.translate(_INNER).strip().rstrip('.! ')}”."
