"""What a summary's words mean: its promise, claim and appointment settled once, before the log (DESIGN 4.2 to 4.10).

Words beat guesses: what the borrower said is resolved here, against the end of the conversation in the borrower's zone, and
stands beside what a model put into the structured fields. Where the two disagree nothing is chosen: the candidates are kept
and the rung stays `proposed`, so that the next agent reads it back. Implausible values are withheld first, with a warning;
the rest of the summary is merged whatever happens here.

This file knows summaries and words. It must not know borrowers, storage or time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from zoneinfo import ZoneInfo

from channels import said
from statemachine.elements import CallbackSaid, ClaimSaid
from statemachine.entries import Callback as CallbackPosted
from statemachine.entries import Commitment, PaymentClaim, Summary, Turn
from statemachine.grounding import quote_stands, read_back_seen
from statemachine.ladder import AMOUNT_MAX, ceiling
from statemachine.money import CURRENCIES
from statemachine.stamps import PromiseTerms, Warning
from statemachine.wire import NOBODY_OUTCOMES, decimal_of

SMALLEST_AMOUNT = Decimal("0.01")
"""What is less than the smallest unit of nearly every currency is no sum that anybody promises."""
REACH_DAYS = 3660
"""A due date further ahead than ten years is a slip, not a promise; so is a payment that is claimed for so long ago."""
_REACH = timedelta(days=REACH_DAYS)


@dataclass(slots=True)
class Warnings:
    """The warnings of one body, in the order in which they were found; one of each field and code."""

    found: list[Warning] = field(default_factory=list)

    def add(self, code: str, at: str, message: str) -> None:
        if not any(w.code == code and w.field == at for w in self.found):
            self.found.append(Warning(code=code, field=at, message=message))


@dataclass(frozen=True, slots=True)
class _Amount:
    value: Decimal | None
    candidates: tuple[Decimal, ...]
    currency: str | None


@dataclass(frozen=True, slots=True)
class _Date:
    value: date | None
    candidates: tuple[date, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    promise: PromiseTerms | None
    claim: ClaimSaid | None
    callback: CallbackSaid | None


def settle(summary: Summary, *, ended_at: datetime, zone: str, currency: str, warnings: Warnings) -> Settled:
    """The terms that a summary's words and fields state together; `currency` is the policy's."""
    if summary.outcome in NOBODY_OUTCOMES:
        return Settled(None, None, None)
    anchor = _Anchor(ended_at, zone, currency, warnings)
    promise, past = _promise(summary, anchor)
    claim = _claim(summary.payment_claim, summary.turns, anchor) if summary.payment_claim else past
    return Settled(promise, claim, _callback(summary.callback, anchor) if summary.callback else None)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """What words are read against."""

    ended_at: datetime
    zone: str
    currency: str
    warnings: Warnings

    @property
    def day(self) -> date:
        return self.ended_at.astimezone(ZoneInfo(self.zone)).date()


# -- the promise ------------------------------------------------------------------------------------------------


def _promise(summary: Summary, anchor: _Anchor) -> tuple[PromiseTerms | None, ClaimSaid | None]:
    said_so = summary.commitment
    if said_so is None or said_so.is_empty:
        return None, None
    if not _stands(said_so.quote, summary.turns, "commitment.quote", anchor):
        return None, None
    if said_so.quote and said.in_past_tense(said_so.quote):
        anchor.warnings.add(
            "due_date_contradicts", "commitment.quote", "the quote is in the past tense: a claim of payment, no promise"
        )
        claim = PaymentClaim(amount=said_so.amount, currency=said_so.currency, quote=said_so.quote)
        return None, _claim(claim, (), anchor)
    firm = said_so.status == "confirmed" and said_so.read_back and summary.is_speech
    amount = _amount(said_so, firm, anchor)
    due = _due_date(said_so, firm, anchor)
    seen = None
    if summary.turns and firm:
        terms = (amount.value, due.value)
        seen = read_back_seen(summary.turns, *terms, said.numbers, cache(lambda text: _dates(text, anchor)))
    status, code = ceiling(
        said_so.status,
        speech=summary.is_speech,
        read_back=said_so.read_back,
        seen=seen,
        amount=amount.value,
        due_date=due.value,
    )
    if code:
        anchor.warnings.add(code, "commitment.status", _LOWERED[code])
    words = [w for w in (said_so.amount_said, said_so.due_date_said) if w]
    return PromiseTerms(
        amount=amount.value,
        amount_candidates=amount.candidates,
        currency=amount.currency,
        due_date=due.value,
        due_date_candidates=due.candidates,
        grounding="quoted" if said_so.quote and summary.turns else "unchecked",
        quote=said_so.quote,
        said="; ".join(words) or None,
        status=status,
    ), None


_LOWERED = {
    "lowered_to_proposed": "text, and speech without a read-back, reach proposed at most",
    "promise_incomplete": "a confirmed promise needs its own amount and due date",
    "read_back_not_seen": "no agent turn with the amount or the date was followed by the borrower's yes",
}


def _dates(text: str, anchor: _Anchor) -> frozenset[date]:
    return said.dates(text, anchor.ended_at, anchor.zone)


def _stands(quote: str | None, turns: Sequence[Turn], at: str, anchor: _Anchor) -> bool:
    """Where turns are sent a quote must stand in the borrower's own (DESIGN 4.2)."""
    if not quote or not turns:
        return True
    verdict = quote_stands(quote, turns)
    if verdict == "stands":
        return True
    if verdict == "agent":
        anchor.warnings.add("quote_not_borrower", at, "the quote stands in somebody else's words: not taken")
    else:
        anchor.warnings.add("quote_not_found", at, "the quote is not in the borrower's turns: not taken")
    return False


def _plausible(text: str | None, at: str, anchor: _Anchor) -> Decimal | None:
    """The structured amount, unless it is no decimal, not above zero or absurd (DESIGN 4.9)."""
    if text is None:
        return None
    amount = decimal_of(text.strip())
    if amount is None or not SMALLEST_AMOUNT <= amount <= AMOUNT_MAX:
        anchor.warnings.add("amount_withheld", at, "an amount is a decimal above zero, at most 1,000,000,000")
        return None
    return amount


def _amount(said_so: Commitment, firm: bool, anchor: _Anchor) -> _Amount:
    at = "commitment.amount"
    stated = _plausible(said_so.amount, at, anchor)
    own_words = said.promised_amount(said_so.amount_said) if said_so.amount_said else None
    words = own_words or (said.promised_amount(said_so.quote) if said_so.quote else None)
    currency, known = _currency(said_so.currency, words.currency if words else None, at, anchor)
    if not known:
        stated = None
    spoken = _sensible(words)
    text = said_so.amount_said or said_so.quote or ""
    denied = stated is not None and stated not in spoken and stated in said.denied_sums(text)
    if denied and not spoken:
        anchor.warnings.add("amount_unsettled", at, "the words deny this amount: not taken, to be read back")
        return _Amount(None, (), currency)
    if not spoken:
        if said_so.amount is None and said_so.amount_said and said.numbers(said_so.amount_said):
            anchor.warnings.add(
                "amount_withheld", f"{at}_said", "the words name no sum above zero, at most 1,000,000,000"
            )
        return _Amount(stated, (), currency if stated is not None else None)
    if stated is None:
        if len(spoken) > 1:
            anchor.warnings.add("amount_unsettled", at, "the words leave more than one amount open: read it back")
            return _Amount(None, spoken, currency)
        return _Amount(spoken[0], (), currency)
    if stated in spoken and (len(spoken) == 1 or firm or own_words is None):
        return _Amount(stated, (), currency)
    if stated not in spoken:
        if own_words is None and not denied and stated in said.numbers(said_so.quote or ""):
            return _Amount(stated, (), currency)
        if own_words is None:
            anchor.warnings.add("number_not_in_quote", at, "the amount is not in the borrower's words")
        anchor.warnings.add("amount_unsettled", at, "the words state another amount: both are kept, to be read back")
    else:
        anchor.warnings.add("amount_unsettled", at, "the words leave more than one amount open: read it back")
    return _Amount(None, tuple(sorted({stated, *spoken})), currency)


def _sensible(words: said.SaidAmount | None) -> tuple[Decimal, ...]:
    if words is None:
        return ()
    amounts = words.candidates or ((words.value,) if words.value is not None else ())
    return tuple(sorted({a for a in amounts if 0 < a <= AMOUNT_MAX}))


def _currency(stated: str | None, spoken: str | None, at: str, anchor: _Anchor) -> tuple[str, bool]:
    """The currency of the words, else the stated one, else the policy's; an unknown code makes no amount of it."""
    if stated is not None and stated not in CURRENCIES:
        anchor.warnings.add("amount_withheld", at, "the currency is no code of ISO 4217")
        return spoken or anchor.currency, False
    currency = spoken or stated or anchor.currency
    if currency != anchor.currency or (stated and spoken and stated != spoken):
        field_of = f"{at.rsplit('.', 1)[0]}.currency"
        anchor.warnings.add(
            "currency_differs", field_of, f"{currency} is not the currency of the loan: not compared with it"
        )
    return currency, True


def _due_date(said_so: Commitment, firm: bool, anchor: _Anchor) -> _Date:
    at = "commitment.due_date"
    stated = _day(said_so.due_date)
    out_of_reach = stated is None or not anchor.day <= stated <= anchor.day + _REACH
    if said_so.due_date is not None and out_of_reach:
        anchor.warnings.add("due_date_withheld", at, "a due date is a day of the calendar, not before the conversation")
        stated = None
    own_words = said.due_date(said_so.due_date_said, anchor.ended_at, anchor.zone) if said_so.due_date_said else None
    words = own_words or (said.due_date(said_so.quote, anchor.ended_at, anchor.zone) if said_so.quote else None)
    if words is None:
        days = _dates(said_so.due_date_said or "", anchor) if said_so.due_date is None else ()
        if days and max(days) < anchor.day:
            anchor.warnings.add("due_date_withheld", f"{at}_said", "the words name a day before the conversation")
        text = said_so.due_date_said or said_so.quote or ""
        if stated in said.denied_days(text, anchor.ended_at, anchor.zone):
            anchor.warnings.add("due_date_contradicts", at, "the words deny this day: not taken, to be read back")
            return _Date(None, ())
        return _Date(stated, ())
    if words.impossible:
        code = "due_date_contradicts" if stated else "due_date_ambiguous"
        anchor.warnings.add(code, at, "the words name a day that does not exist: kept as said, to be read back")
        return _Date(None, ())
    named = words.candidates or ((words.value,) if words.value else ())
    spoken = tuple(day for day in named if day - anchor.day <= _REACH)
    if len(spoken) < len(named):
        anchor.warnings.add("due_date_withheld", f"{at}_said", "the words name a day that lies too far ahead")
        if not spoken:
            return _Date(stated, ())
    if stated is None:
        if len(spoken) > 1:
            anchor.warnings.add("due_date_ambiguous", at, "the words leave more than one day open: read it back")
            return _Date(None, tuple(spoken))
        return _Date(spoken[0] if spoken else None, ())
    if stated in spoken and (len(spoken) == 1 or firm or own_words is None):
        return _Date(stated, ())
    if stated not in spoken:
        if own_words is None and stated in _dates(said_so.quote or "", anchor):
            return _Date(stated, ())
        anchor.warnings.add("due_date_contradicts", at, "the words name another day: both are kept, to be read back")
    else:
        anchor.warnings.add("due_date_ambiguous", at, "the words leave more than one day open: read it back")
    return _Date(None, tuple(sorted({stated, *spoken})))


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


# -- the claim and the appointment --------------------------------------------------------------------------------


def _claim(claim: PaymentClaim, turns: Sequence[Turn], anchor: _Anchor) -> ClaimSaid | None:
    """ "I have already paid", with what it says of amount and day; a day after the conversation is withheld."""
    if not _stands(claim.quote, turns, "payment_claim.quote", anchor):
        return None
    at = "payment_claim.amount"
    words = said.paid_amount(claim.quote) if claim.quote else None
    currency, known = _currency(claim.currency, words.currency if words else None, at, anchor)
    stated = _plausible(claim.amount, at, anchor) if known else None
    spoken = _sensible(words)
    amount = stated if stated is not None else spoken[0] if len(spoken) == 1 else None
    paid_on = _day(claim.paid_on)
    if claim.paid_on is not None and (paid_on is None or not anchor.day - _REACH <= paid_on <= anchor.day):
        anchor.warnings.add("due_date_withheld", "payment_claim.paid_on", "a payment is claimed for a day that is past")
        paid_on = None
    if paid_on is None:
        spoken_day = next(
            (
                day
                for text in (claim.paid_on_said, claim.quote)
                if text and (day := said.paid_on(text, anchor.ended_at, anchor.zone)) is not None
            ),
            None,
        )
        paid_on = spoken_day.value if spoken_day else None
        if paid_on is not None and anchor.day - paid_on > _REACH:
            paid_on = None
    return ClaimSaid(
        amount=amount,
        at=_said_at(claim.quote, turns, anchor),
        currency=currency if amount is not None else None,
        paid_on=paid_on,
        quote=claim.quote,
        said=claim.paid_on_said,
    )


def _said_at(quote: str | None, turns: Sequence[Turn], anchor: _Anchor) -> datetime | None:
    """When the borrower said it last, where the turns tell: a chat that goes on repeats what was said long before its end."""
    if not quote:
        return None
    spoken = (turn for turn in reversed(turns) if turn.at is not None and quote_stands(quote, (turn,)) == "stands")
    at = next((turn.at for turn in spoken), None)
    return at if at is not None and at < anchor.ended_at else None


def _callback(callback: CallbackPosted, anchor: _Anchor) -> CallbackSaid | None:
    """When they asked to be called; nothing where the words forbid the call: "mat call karo kal 5 pm"."""
    for name, text in (("at_said", callback.at_said), ("quote", callback.quote)):
        if text and said.rules_out_a_call(text):
            anchor.warnings.add(
                "due_date_contradicts", f"callback.{name}", "the words rule this time out: no call is asked for"
            )
            return None
    at = callback.at
    for text in (callback.at_said, callback.quote):
        if at is None and text:
            at = said.moment(text, anchor.ended_at, anchor.zone)
    if at is None and not callback.at_said and not callback.quote:
        return None
    return CallbackSaid(at=at, quote=callback.quote, said=callback.at_said)
