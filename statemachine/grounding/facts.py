"""Whether a fact that a summary infers is taken, about whom, and on what ground: rules, asked in their order."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from statemachine import words as w
from statemachine.grounding.answers import Numbers, agrees
from statemachine.grounding.denials import denials_of
from statemachine.grounding.heard import AGENT, BORROWER, SYSTEM, Heard, Spoken, heard_of
from statemachine.grounding.quotes import pieces_of, place_of, places_of, quote_stands
from statemachine.screening import instructs, screened
from statemachine.volatility import FACT_KINDS, Kind, Volatility
from statemachine.words import folded

LEAST_CONFIDENCE = Decimal("0.7")

Grounding = Literal["quoted", "unchecked"]

# Facts that are about the one whose salary, work or wishes they name. A household, a goal, a reason or a request of the
# borrower may well speak of a brother.
OF_ONE_PERSON = frozenset({Kind.INCOME_DAY, Kind.EMPLOYMENT})
# What somebody's life is like is said of what is so; a wish or a complaint may be a question or tied to a condition.
OF_WHAT_IS_SO = OF_ONE_PERSON | {Kind.HOUSEHOLD}
# Their reasons and complaints are denials as a rule, and "never before six" is "after six".
MAY_DENY = frozenset({Kind.REASON_FOR_DELAY, Kind.COMPLAINT, Kind.PREFERRED_CONTACT_TIME})
PREFERENCES = frozenset({Kind.PREFERRED_CONTACT_TIME, Kind.PREFERRED_CHANNEL, Kind.PREFERRED_LANGUAGE})


@dataclass(frozen=True, slots=True)
class FactVerdict:
    """Whether an inferred fact is taken, about whom, and on what ground.

    `code`: the warning of API 14 when it is not taken, else None. `message`: one sentence, without a value of the input.
    """

    taken: bool
    code: str | None
    about: str
    grounding: Grounding
    message: str


def judge_fact(
    *,
    kind: str,
    text: str,
    confidence: Decimal,
    quote: str | None,
    about: str,
    turns: Sequence[Spoken] | None,
    numbers: Numbers,
) -> FactVerdict:
    """Whether a fact that a summary infers is taken (DESIGN 11 "Grounding", API 3).

    Without turns (None or none sent) the quote cannot be looked for and the fact is `unchecked`; everything else is
    judged all the same.
    """
    claim = _Claim(kind, text, confidence, (quote or "").strip(), _about(about), turns or (), numbers)
    for rule in FACT_RULES:
        refusal = rule(claim)
        if refusal is not None:
            code, message = refusal
            return FactVerdict(False, code, claim.about, claim.grounding, message)
    return FactVerdict(True, None, _subject(claim), claim.grounding, "taken")


@dataclass(frozen=True, slots=True)
class _Claim:
    kind: str
    text: str
    confidence: Decimal
    quote: str
    about: str
    turns: Sequence[Spoken]
    numbers: Numbers

    @property
    def grounding(self) -> Grounding:
        return "quoted" if self.turns else "unchecked"

    def evidence(self) -> tuple[str, ...]:
        """The words that must bear the fact out: the quoted clauses as they were said, else the quote, else the text."""
        place = place_of(pieces_of(self.quote), self.turns) if self.turns and pieces_of(self.quote) else None
        if place is not None:
            turn, start, end = place
            return heard_of(self.turns[turn].text).around(start, end)
        return w.words_of(self.quote or self.text)


_Refusal = tuple[str, str]


def _is_a_kept_kind(claim: _Claim) -> _Refusal | None:
    kind = FACT_KINDS.get(claim.kind)
    if kind is None:
        return "unknown_kind", "no such kind of fact is kept"
    if kind.volatility is Volatility.LIVE:
        return "live_not_kept", "true only when read, so it is never kept"
    if not kind.inferred_allowed:
        return "fact_refused", "this kind is taken from fact.stated only"
    return None


def _is_confident(claim: _Claim) -> _Refusal | None:
    if not claim.confidence.is_finite() or not LEAST_CONFIDENCE <= claim.confidence <= 1:
        return "fact_refused", f"confidence must be from {LEAST_CONFIDENCE} to 1"
    return None


def _says_something_that_lasts(claim: _Claim) -> _Refusal | None:
    if not w.words_of(claim.text):
        return "fact_refused", "the fact has no words"
    if instructs(claim.text) or instructs(claim.quote):
        return "fact_refused", "an instruction is no fact"
    withheld = screened(claim.text, amounts_allowed=frozenset(), numbers=claim.numbers).withheld
    if withheld:
        return "fact_refused", f"it states what is true only when read ({withheld[0][1]})"
    return None


def _is_quoted(claim: _Claim) -> _Refusal | None:
    if not claim.turns:
        return None
    if not claim.quote:
        return "quote_not_found", "a fact needs a quote from the borrower's turns"
    standing = quote_stands(claim.quote, claim.turns)
    if standing == "agent":
        return "quote_not_borrower", "the quote is not the borrower's own words"
    if standing == "not_found":
        return "quote_not_found", "the quote does not stand in the borrower's turns"
    return None


def _is_said_to_be_so(claim: _Claim) -> _Refusal | None:
    """A question, or what is only supposed, says nothing; asked once and said once, it is said."""
    if claim.kind not in OF_WHAT_IS_SO or not claim.quote:
        return None
    if claim.turns:
        places = places_of(pieces_of(claim.quote), claim.turns)
        is_said = any(_says(heard_of(claim.turns[turn].text), start, end) for turn, start, end in places)
    else:
        is_said = not w.SUPPOSED.in_(w.words_of(claim.quote))
    return None if is_said else ("fact_refused", "it is asked or supposed and not said to be so")


def _says(heard: Heard, start: int, end: int) -> bool:
    clauses = range(heard.clause[start], heard.clause[end - 1] + 1)
    asks = any(clause in heard.asking and not _ends_in_a_tag(heard, clause) for clause in clauses)
    return not asks and not w.SUPPOSED.in_(heard.around(start, end))


def _ends_in_a_tag(heard: Heard, clause: int) -> bool:
    last = bisect_right(heard.clause, clause) - 1
    return heard.words[last] in w.SAYING_TAGS


def _keeps_its_denial(claim: _Claim) -> _Refusal | None:
    """ "main bank mein kaam nahi karta" is no word for "works at a bank"."""
    if claim.kind in MAY_DENY or not claim.quote:
        return None
    heard = heard_of(claim.quote)
    denied = {heard.clause[denial.at] for denial in denials_of(heard)}
    stated = w.words_of(claim.text)
    if set(heard.clause) <= denied and w.NEGATIONS.isdisjoint(stated) and w.SAYING_NO.isdisjoint(stated):
        return "fact_refused", "the borrower's words deny it"
    return None


def _keeps_its_time(claim: _Claim) -> _Refusal | None:
    """ "I used to work at a bank" says no more than that."""
    if claim.kind != Kind.EMPLOYMENT:
        return None
    evidence, stated = claim.evidence(), w.words_of(claim.text)
    for told_so, says_so in ((w.ONCE_SO, w.SAYING_ONCE | w.SAYING_NO), (w.SOON_SO, w.SAYING_SOON)):
        if told_so.in_(evidence) and says_so.isdisjoint(stated):
            return "fact_refused", "the borrower speaks of another time"
    return None


def _has_its_numbers_said(claim: _Claim) -> _Refusal | None:
    stated = claim.numbers(claim.text)
    if not claim.quote or stated <= claim.numbers(claim.quote):
        return None
    if agrees(claim.quote) and any(stated <= said for said in _read_back_before(claim)):
        return None
    return "number_not_in_quote", "a number of the fact is not in the borrower's words"


def _read_back_before(claim: _Claim) -> Iterator[frozenset[Decimal]]:
    """For each place of a quoted yes, the numbers in it and in the agent's turn just before it."""
    for turn, _, _ in places_of(pieces_of(claim.quote), claim.turns):
        before = next((earlier for earlier in reversed(claim.turns[:turn]) if earlier.speaker != SYSTEM), None)
        if before is not None and before.speaker == AGENT and agrees(claim.turns[turn].text):
            yield claim.numbers(claim.quote) | claim.numbers(before.text)


def _has_a_clear_subject(claim: _Claim) -> _Refusal | None:
    if _is_of_one_person(claim) and _whose(claim) is None:
        return "fact_refused", "it is unclear whom the words are about"
    return None


def _lasts(claim: _Claim) -> _Refusal | None:
    evidence = claim.evidence()
    if claim.kind in PREFERENCES:
        once = w.ONE_OFF.in_(evidence) and not w.FROM_NOW_ON.in_(evidence)
        if once or not (w.STANDING_WORDS.in_(evidence) or _says_never(evidence)):
            return "fact_refused", "a wish for once is no preference"
    if claim.kind == Kind.INCOME_DAY:
        recurs = w.EVERY_TIME.in_(evidence) or (w.HABITUAL.in_(evidence) and not w.ONE_INCOME.in_(evidence))
        if not recurs:
            return "fact_refused", "one income is no income day"
    return None


def _says_never(words: Sequence[str]) -> bool:
    ever = next((at for at, word in enumerate(words) if word in w.EVER), len(words))
    return not w.NEGATIONS.isdisjoint(words[ever:])


def _about(about: str) -> str:
    told = folded(about)
    return BORROWER if not told or set(told.split()) <= w.THE_BORROWER | {"the"} else about.strip()


def _is_of_one_person(claim: _Claim) -> bool:
    return claim.about == BORROWER and (claim.kind in OF_ONE_PERSON or claim.kind in PREFERENCES)


def _subject(claim: _Claim) -> str:
    return (_whose(claim) or claim.about) if _is_of_one_person(claim) else claim.about


def _whose(claim: _Claim) -> str | None:
    """The borrower, or the one relative whom the words are clearly about; None: unclear."""
    stated = _owner(w.words_of(claim.text), by_the_borrower=False)
    if not claim.quote:
        return stated
    said = _owner(claim.evidence(), by_the_borrower=True)
    return said if stated in (BORROWER, said) else None


def _owner(words: Sequence[str], *, by_the_borrower: bool) -> str | None:
    """Of whom the words speak. In the borrower's own, "her" is somebody else; in a model's, the borrower."""
    possessives = w.POSSESSIVES if by_the_borrower else w.POSSESSIVES | w.THIRD_PERSON
    named: set[str] = set()
    own = False
    others = False
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        following = words[at + 1] if at + 1 < len(words) else ""
        is_in_law = tuple(words[at + 1 : at + 3]) == w.IN_LAW
        if word in w.RELATIVES and (before in possessives or following in w.OF or is_in_law):
            named.add(f"{w.RELATIVES[word]}-in-law" if is_in_law else w.RELATIVES[word])
        own = own or (word in w.FIRST_PERSON and not (word in w.POSSESSIVES and following in w.RELATIVES))
        is_other = word in w.THIRD_PERSON or (word in w.THIRD_PERSON_APART and following in w.OF)
        others = others or (by_the_borrower and is_other)
    if named:
        return named.pop() if len(named) == 1 and not own else None
    if _is_somebodys_income(words):
        return None
    return None if others and not own else BORROWER


def _is_somebodys_income(words: Sequence[str]) -> bool:
    """ "Ramesh ki salary", "salary of Ramesh": of a name that nobody has told us of."""
    for at, word in enumerate(words):
        if word in w.EARNINGS:
            before = words[at - 2] if at > 1 and words[at - 1] in w.OF else ""
            behind = words[at + 2] if tuple(words[at + 1 : at + 2]) == ("of",) and at + 2 < len(words) else ""
            if any(name and not _is_nobody(name) for name in (before, behind)):
                return True
    return False


def _is_nobody(word: str) -> bool:
    return not word[0].isalpha() or word in w.NOBODYS_INCOME | w.FIRST_PERSON | w.THE_BORROWER | w.EARNINGS


FACT_RULES: tuple[Callable[[_Claim], _Refusal | None], ...] = (
    _is_a_kept_kind,
    _is_confident,
    _says_something_that_lasts,
    _is_quoted,
    _is_said_to_be_so,
    _keeps_its_denial,
    _keeps_its_time,
    _has_its_numbers_said,
    _has_a_clear_subject,
    _lasts,
)
