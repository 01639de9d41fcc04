"""Evidence in the borrower's own words: does a quote stand, was a promise read back, may a fact be taken.

A model offers a quote; the turns decide (DESIGN 11 "Grounding", 4.2). A quote stands in one of the borrower's own turns,
at word boundaries, or it does not stand. Leaving words out is where meaning is turned round, so what was left out is
looked at as well: an elision may hide no denial, and a quote cut out of a denied clause does not stand.

When it is unclear, evidence is refused: a promise that was not taken is asked for once more, one that was never made is
collected on. Numbers and dates are read by whoever reads them for the whole service and are passed in; this module must
not know how, and it must not know channels, records or clocks. The words themselves are in `words`.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Literal, Protocol, TypeVar

from statemachine import words as w
from statemachine.screening import instructs, screened
from statemachine.volatility import FACT_KINDS, Kind, Volatility
from statemachine.words import folded as folded

BORROWER = "borrower"
AGENT = "agent"
SYSTEM = "system"

LEAST_CONFIDENCE = Decimal("0.7")
QUOTE_CHARACTERS = 4_000
QUOTE_PIECES = 8
REPEATED_TERMS_WORDS = 24
REACH_WORDS = 40
"""How many words away a denial can be from what it denies; people do not hold a sentence open for longer."""
DENIALS_LOOKED_AT = 4
"""So many denials, the nearest ones, are looked at on each side of a quote."""
ANSWER_WORDS = 6
"""A no that is repeated more often than this is no mere answer."""
SMALLEST_AMOUNT = 100
"""A number below this, said beside terms, is a day, a month or a count."""

Standing = Literal["stands", "agent", "not_found"]
Grounding = Literal["quoted", "unchecked"]
Answer = Literal["agrees", "objects", "neither"]
Numbers = Callable[[str], frozenset[Decimal]]
Dates = Callable[[str], frozenset[date]]
Term = TypeVar("Term", Decimal, date)

# Facts that are about the one whose salary, work or wishes they name. A household, a goal, a reason or a request of the
# borrower may well speak of a brother.
OF_ONE_PERSON = frozenset({Kind.INCOME_DAY, Kind.EMPLOYMENT})
PREFERENCES = frozenset({Kind.PREFERRED_CONTACT_TIME, Kind.PREFERRED_CHANNEL, Kind.PREFERRED_LANGUAGE})


class Spoken(Protocol):
    """A turn of a conversation. `speaker`: borrower, agent, third_party or system."""

    @property
    def speaker(self) -> str: ...

    @property
    def text(self) -> str: ...


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


def quote_stands(quote: str, turns: Sequence[Spoken]) -> Standing:
    """Whether `quote` stands in one of the borrower's own turns (DESIGN 11, 4.2).

    "agent": it stands in somebody else's words only. An elision ("...", "…") joins pieces in their order within one turn.
    """
    pieces = _pieces(quote)
    if not pieces:
        return "not_found"
    if _place(pieces, turns) is not None:
        return "stands"
    if any(turn.speaker != BORROWER and _found(pieces, _heard(turn.text), strictly=False) for turn in turns):
        return "agent"
    return "not_found"


def read_back_seen(
    turns: Sequence[Spoken], amount: Decimal | None, due_date: date | None, numbers: Numbers, dates: Dates
) -> bool:
    """Whether an agent said the amount or the date and the borrower's next turn agreed to it (DESIGN 4.2).

    The last answer to such a turn counts, and a promise taken back later was not agreed to. An agent that says one of the
    terms right and the other wrong has not read them back; neither has a borrower agreed who names other terms.
    """
    terms = _Terms(amount, due_date, numbers, dates)
    seen = False
    asked: str | None = None
    heard = (turn for turn in turns if turn.speaker != SYSTEM)
    for speaker, spoken in groupby(heard, key=lambda turn: turn.speaker):
        texts = [turn.text for turn in spoken]
        if speaker == BORROWER:
            seen = _seen_after(texts, terms, asked, seen)
        text = "\n".join(texts)
        asked = text if speaker == AGENT and terms.stand_in(text) else None
    return seen


def agrees(text: str) -> bool:
    """Whether a borrower's turn is a plain yes: not taken back, not put off, not tied to a condition, no question."""
    return _answer(_heard(text)) == "agrees"


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


# --- a text as it was heard -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Heard:
    """Words with the clause each stands in, which clauses ask, and which words deny.

    `joined` is the same without spaces, with the offsets where words begin and end.
    """

    words: tuple[str, ...]
    clause: tuple[int, ...]
    asking: frozenset[int]
    denying: frozenset[int]
    joined: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]

    def same_clause(self, one: int, other: int) -> bool:
        return self.clause[one] == self.clause[other]

    def around(self, start: int, end: int) -> tuple[str, ...]:
        """All words of the clauses that the words from `start` to before `end` stand in."""
        first, last = self.clause[start], self.clause[end - 1]
        return tuple(word for word, clause in zip(self.words, self.clause, strict=True) if first <= clause <= last)


def _heard(text: str) -> _Heard:
    return _heard_cached(text) if len(text) <= w.CACHED_CHARACTERS else _hear(text)


def _hear(text: str) -> _Heard:
    tokens = w.tokens(text)
    words: list[str] = []
    clause: list[int] = []
    asking: set[int] = set()
    number = 0
    conditional = False
    for place, token in enumerate(tokens):
        if token in w.MARKS:
            if token == "?":
                asking.add(number)
            number += token != '"'
            conditional = conditional and token == ","
            continue
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        before = words[-1] if words and clause[-1] == number else ""
        if (
            (token in w.CLAUSE_OPENERS and before not in w.MATRIX_VERBS)
            or (token in w.JOINERS and following in w.NEW_CLAUSE_AFTER_A_JOINER)
            or (token in w.THEN and conditional)
        ):
            number += 1
        conditional = conditional or token in w.CONDITIONS
        words.append(token)
        clause.append(number)
    joined, starts, ends = _joined(words)
    denying = _plain_denials(words, clause)
    return _Heard(tuple(words), tuple(clause), frozenset(asking), denying, joined, starts, ends)


_heard_cached = lru_cache(maxsize=w.CACHED_TEXTS)(_hear)


def _joined(words: Sequence[str]) -> tuple[str, dict[int, int], dict[int, int]]:
    """Words without the spaces between them, so that "de dunga" is "dedunga"; two numbers stay two numbers."""
    parts: list[str] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    length = 0
    for index, word in enumerate(words):
        if parts and parts[-1][-1].isdigit() and word[0].isdigit():
            parts.append(" ")
            length += 1
        starts[length] = index
        parts.append(word)
        length += len(word)
        ends[length] = index + 1
    return "".join(parts), starts, ends


# --- quotes ---------------------------------------------------------------------------------------------------------

_ELISION = re.compile(r"\.{2,}")


def _pieces(quote: str) -> tuple[str, ...]:
    """The quote's pieces between elisions, joined as `_Heard.joined` is; none if it cannot be a quote."""
    if len(quote) > QUOTE_CHARACTERS:
        return ()
    return _pieces_cached(quote) if len(quote) <= w.CACHED_CHARACTERS else _pieces_of(quote)


def _pieces_of(quote: str) -> tuple[str, ...]:
    spoken = (w.words_of(piece) for piece in _ELISION.split(unicodedata.normalize("NFKC", quote)))
    pieces = tuple(_joined(words)[0] for words in spoken if words)
    return pieces if len(pieces) <= QUOTE_PIECES else ()


_pieces_cached = lru_cache(maxsize=w.CACHED_TEXTS)(_pieces_of)


def _place(pieces: tuple[str, ...], turns: Sequence[Spoken]) -> tuple[int, int, int] | None:
    """The first of the borrower's turns in which the pieces stand: its index, the first word and the one after the last."""
    return next(_places(pieces, turns), None)


def _places(pieces: tuple[str, ...], turns: Sequence[Spoken]) -> Iterator[tuple[int, int, int]]:
    for index, turn in enumerate(turns):
        if turn.speaker == BORROWER:
            span = _found(pieces, _heard(turn.text), strictly=True)
            if span is not None:
                yield index, *span


def _found(pieces: tuple[str, ...], heard: _Heard, *, strictly: bool) -> tuple[int, int] | None:
    """The first and the last-but-one word of the pieces in their order; strictly: with no denial left out."""
    if pieces[0] not in heard.joined:
        return None
    reached = list(_occurrences(pieces[0], heard))
    denials: tuple[_Denial, ...] = ()
    hidden: tuple[int, ...] = ()
    if strictly and heard.denying:
        denials = _denials(heard)
        hidden = tuple(accumulate((index in heard.denying for index in range(len(heard.words))), initial=0))
        reached = [
            (start, end)
            for start, end in reached
            if not any(_reaches_ahead(denial, start, heard) for denial in _before(start, denials))
        ]
    for piece in pieces[1:]:
        # The nearest earlier place hides the least, so it is the only one worth trying.
        further: list[tuple[int, int]] = []
        nearest = -1
        for start, end in _occurrences(piece, heard):
            while nearest + 1 < len(reached) and reached[nearest + 1][1] <= start:
                nearest += 1
            if nearest >= 0 and not (hidden and hidden[start] > hidden[reached[nearest][1]]):
                further.append((reached[nearest][0], end))
        reached = further
    for start, end in reached:
        if not any(_reaches_back(denial, start, end, heard) for denial in _from(end, denials)):
            return start, end
    return None


def _occurrences(piece: str, heard: _Heard) -> Iterator[tuple[int, int]]:
    offset = heard.joined.find(piece)
    while offset >= 0:
        start, end = heard.starts.get(offset), heard.ends.get(offset + len(piece))
        if start is not None and end is not None:
            yield start, end
        offset = heard.joined.find(piece, offset + 1)


# --- denials --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Denial:
    """A word that denies: where it stands, and whether it denies what comes after it and what comes before it."""

    at: int
    ahead: bool
    back: bool


def _denials(heard: _Heard) -> tuple[_Denial, ...]:
    return tuple(
        _Denial(at, *_direction(at, heard))
        for at in sorted(heard.denying)
        if not _is_an_answer(at, heard) and not _is_otherwise(at, heard)
    )


def _before(start: int, denials: Sequence[_Denial]) -> Sequence[_Denial]:
    place = bisect_left(denials, start, key=_at)
    return [denial for denial in denials[max(place - DENIALS_LOOKED_AT, 0) : place] if denial.at >= start - REACH_WORDS]


def _from(end: int, denials: Sequence[_Denial]) -> Sequence[_Denial]:
    place = bisect_left(denials, end, key=_at)
    return [denial for denial in denials[place : place + DENIALS_LOOKED_AT] if denial.at <= end + REACH_WORDS]


def _at(denial: _Denial) -> int:
    return denial.at


_NO_DENIALS: frozenset[int] = frozenset()


def _plain_denials(words: Sequence[str], clause: Sequence[int]) -> frozenset[int]:
    """Where words deny, but for phrases that deny nothing ("no problem") and for tags ("de dunga na")."""
    if w.NEGATIONS.isdisjoint(words):
        return _NO_DENIALS
    harmless = w.HARMLESS_DENIALS.places(words)

    def is_a_tag(at: int) -> bool:
        if words[at] not in w.TAG_NO or at == 0 or clause[at] != clause[at - 1]:
            return False
        return words[at - 1] in w.TAGGED or _finite(words[at - 1])

    return frozenset(
        at for at, word in enumerate(words) if word in w.NEGATIONS and at not in harmless and not is_a_tag(at)
    )


def _is_an_answer(at: int, heard: _Heard) -> bool:
    """ "nahi main de dunga", "no I will pay", "nahi nahi pakka": a no that stands first, before a subject or a promise."""
    words = heard.words
    if words[at] not in w.ANSWERING_NO:
        return False
    first, last = _run(at, heard.words, w.ANSWERING_OR_CALLING, heard.clause)
    if last - first >= ANSWER_WORDS or (first and heard.same_clause(first - 1, at)):
        return False
    # A single "na" that stands first is "neither": "na main dunga na woh".
    if words[at] in w.TAG_NO and sum(word in w.ANSWERING_NO for word in words[first : last + 1]) < 2:
        return False
    following = last + 1
    if following == len(words) or not heard.same_clause(following, at):
        return False
    return words[following] in w.SUBJECTS or words[following] in w.ASSURANCES


def _run(at: int, words: Sequence[str], of: frozenset[str], clause: Sequence[int] | None = None) -> tuple[int, int]:
    """The first and the last of the neighbouring words `of` a kind, `ANSWER_WORDS` to each side at most."""

    def goes_on(place: int) -> bool:
        return 0 <= place < len(words) and words[place] in of and (clause is None or clause[place] == clause[at])

    first = last = at
    while at - first < ANSWER_WORDS and goes_on(first - 1):
        first -= 1
    while last - at < ANSWER_WORDS and goes_on(last + 1):
        last += 1
    return first, last


def _is_otherwise(at: int, heard: _Heard) -> bool:
    return heard.words[at] in w.HINDI_NO and at + 1 < len(heard.words) and heard.words[at + 1] in w.OTHERWISE


def _direction(at: int, heard: _Heard) -> tuple[bool, bool]:
    words = heard.words
    before = words[at - 1] if at and heard.same_clause(at - 1, at) else ""
    after = words[at + 1] if at + 1 < len(words) and heard.same_clause(at + 1, at) else ""
    if words[at] in w.HINDI_NO and _is_a_term(after) and _is_a_term(_before_its_particles(at, heard)):
        return False, True  # "12500 nahi 5000", "aaj nahi kal": the first is denied, the second is meant
    if words[at] not in w.NEGATIONS_AHEAD:
        return True, True
    return True, after in w.DENYING_PREDICATES or (words[at] == "not" and before in w.AUXILIARIES)


def _is_a_term(word: str) -> bool:
    return word[:1].isdigit() or word in w.TIMES


def _before_its_particles(at: int, heard: _Heard) -> str:
    """The word before `at` in its clause, past the "ko" of "25 ko"."""
    place = at - 1
    while place >= 0 and heard.words[place] in w.AFTER_A_TIME:
        place -= 1
    return heard.words[place] if place >= 0 and heard.same_clause(place, at) else ""


def _reaches_ahead(denial: _Denial, start: int, heard: _Heard) -> bool:
    """Whether it denies what begins at `start`: in one clause, and no verb and no new subject between."""
    if not denial.ahead or denial.at >= start or not heard.same_clause(denial.at, start):
        return False
    words = heard.words
    between = words[denial.at + 1 : start]
    if any(word in w.MATRIX_VERBS for word in between):
        return True
    if any(_finite(word) for word in between):
        return False
    never = any(word in w.NEVER_AN_ANSWER for word in words[max(denial.at - 1, 0) : denial.at + 1])
    neither = words[denial.at] in w.TAG_NO
    return never or neither or not any(word in w.SUBJECTS for word in (*between, words[start]))


def _reaches_back(denial: _Denial, start: int, end: int, heard: _Heard) -> bool:
    """Whether it denies the words from `start` to before `end`: in one clause that was not complete before it."""
    if not denial.back or denial.at < end or not heard.same_clause(denial.at, end - 1):
        return False
    words = heard.words
    if denial.at == end:
        return True
    between = words[end : denial.at]
    quoted = words[start:end]
    if _finite(words[end - 1]) or any(_finite(word) for word in between):
        return False
    has_subject = any(word in w.SUBJECTS for word in quoted)
    complete = any(word in w.AUXILIARIES or (has_subject and word in w.ENGLISH_VERBS) for word in quoted)
    return not complete or not any(word in w.SUBJECTS or word in w.JOINERS for word in between)


def _finite(word: str) -> bool:
    return word in w.FINITE or word.endswith(w.FINITE_ENDINGS)


# --- answers to a read-back -----------------------------------------------------------------------------------------


def _answer(heard: _Heard) -> Answer:
    """A denial, a doubt or a condition anywhere objects; a yes counts in a clause that asks nothing."""
    if any(not _is_reassurance(at, heard) for at in heard.denying) or w.QUALIFIERS.in_(heard.words):
        return "objects"
    if w.NEITHER.in_(heard.words):
        return "neither"
    clauses = groupby(range(len(heard.words)), key=lambda at: heard.clause[at])
    for clause, places in clauses:
        spoken = [heard.words[at] for at in places]
        if clause not in heard.asking and w.AGREEMENTS.in_(spoken) and not w.QUESTIONS.in_(_without_why_not(spoken)):
            return "agrees"
    return "neither"


def _without_why_not(spoken: list[str]) -> list[str]:
    harmless = w.HARMLESS_DENIALS.places(spoken)
    return [word for at, word in enumerate(spoken) if at not in harmless]


def _is_reassurance(at: int, heard: _Heard) -> bool:
    """ "nahi nahi, pakka de dunga": a doubled no right before a promise. A single one is a no."""
    words = heard.words
    if words[at] not in w.ANSWERING_NO:
        return False
    first, last = _run(at, words, w.ANSWERING_OR_CALLING)
    following = words[last + 1] if last + 1 < len(words) else ""
    doubled = sum(word in w.ANSWERING_NO for word in words[first : last + 1]) > 1
    return doubled and (following in w.ASSURANCES or following in w.SUBJECTS)


def _taken_back(text: str) -> bool:
    heard = _heard(text)
    if w.TAKE_BACKS.in_(heard.words):
        return True
    denied = {heard.clause[denial.at] for denial in _denials(heard)}
    return any(clause in denied and word in w.PAY_WORDS for word, clause in zip(heard.words, heard.clause, strict=True))


@dataclass(frozen=True, slots=True)
class _Terms:
    amount: Decimal | None
    due_date: date | None
    numbers: Numbers
    dates: Dates

    def stand_in(self, text: str) -> bool:
        """Whether an agent's words say the amount or the date, and not one of them right and the other wrong."""
        numbers, days = self.numbers(text), self.dates(text)
        if (not numbers and not days) or w.ANYTHING_ELSE.in_(w.words_of(text)):
            return False
        amounts = self._amounts(numbers)
        says_amount = self.amount is not None and self.amount in numbers
        says_date = self.due_date is not None and self.due_date in days
        if says_amount and says_date:
            return True
        wrong_date = self.due_date is not None and bool(days)
        wrong_amount = self.amount is not None and bool(amounts)
        return (says_amount and not wrong_date) or (says_date and not wrong_amount)

    def answer(self, text: str, asked: str) -> Answer:
        """What the borrower's next words say to terms that stand in `asked`."""
        heard = _heard(text)
        spoken = _without_emphasis(text, heard)
        amounts, days = self._amounts(self.numbers(spoken)), self.dates(spoken)
        other_amounts = amounts - _agreed(self.amount, self.numbers(asked))
        other_days = days and not days & _agreed(self.due_date, self.dates(asked))
        if other_amounts or other_days:
            return "objects"
        answer = _answer(heard)
        if answer == "neither" and self._only_repeats(spoken, heard):
            return "agrees"
        return answer

    def _amounts(self, numbers: frozenset[Decimal]) -> frozenset[Decimal]:
        year = self.due_date.year if self.due_date else None
        return frozenset([number for number in numbers if number >= SMALLEST_AMOUNT and number != year])

    def _only_repeats(self, spoken: str, heard: _Heard) -> bool:
        """ "25th, 5000": the terms once more, and nothing that could object to them."""
        if heard.asking or len(heard.words) > REPEATED_TERMS_WORDS:
            return False
        if self.amount not in self.numbers(spoken) and self.due_date not in self.dates(spoken):
            return False
        return all(word in w.TERM_WORDS or word[0].isdigit() or self.numbers(word) for word in w.words_of(spoken))


def _seen_after(texts: Sequence[str], terms: _Terms, asked: str | None, seen: bool) -> bool:
    """Whether the read-back stands after the borrower's next turns: once agreed, only a taking back undoes it.

    What is said after a yes in turns of its own may be about anything, another payment or when to call; but a turn that
    takes up the yes with a "but" belongs to it.
    """
    answered = asked is None
    for text in texts:
        if answered:
            seen = seen and not _taken_back(text) and not (asked is not None and _goes_on_with_but(text))
            continue
        answer = terms.answer(text, asked or "")
        answered = answer == "agrees"
        seen = answered or (seen and answer == "neither")
    return seen


def _goes_on_with_but(text: str) -> bool:
    words = w.words_of(text)
    return bool(words) and words[0] in w.BUTS


def _agreed(term: Term | None, asked: frozenset[Term]) -> frozenset[Term]:
    """What a reply may name: the term if the agent said it, else whatever the agent said."""
    if term is None:
        return asked
    return frozenset({term}) if term in asked else asked | {term}


def _without_emphasis(text: str, heard: _Heard) -> str:
    places = w.EMPHASIS.places(heard.words)
    return " ".join(word for at, word in enumerate(heard.words) if at not in places) if places else text


# --- facts ----------------------------------------------------------------------------------------------------------


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
        place = _place(_pieces(self.quote), self.turns) if self.turns and _pieces(self.quote) else None
        if place is not None:
            turn, start, end = place
            return _heard(self.turns[turn].text).around(start, end)
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


def _has_its_numbers_said(claim: _Claim) -> _Refusal | None:
    stated = claim.numbers(claim.text)
    if not claim.quote or stated <= claim.numbers(claim.quote):
        return None
    if agrees(claim.quote) and any(stated <= said for said in _read_back_before(claim)):
        return None
    return "number_not_in_quote", "a number of the fact is not in the borrower's words"


def _read_back_before(claim: _Claim) -> Iterator[frozenset[Decimal]]:
    """For each place of a quoted yes, the numbers in it and in the agent's turn just before it."""
    for turn, _, _ in _places(_pieces(claim.quote), claim.turns):
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
        if once or not w.STANDING_WORDS.in_(evidence):
            return "fact_refused", "a wish for once is no preference"
    if claim.kind == Kind.INCOME_DAY:
        recurs = w.EVERY_TIME.in_(evidence) or (w.HABITUAL.in_(evidence) and not w.ONE_INCOME.in_(evidence))
        if not recurs:
            return "fact_refused", "one income is no income day"
    return None


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
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in w.RELATIVES and ((at and words[at - 1] in possessives) or following in w.OF):
            named.add(w.RELATIVES[word])
        own = own or (word in w.FIRST_PERSON and not (word in w.POSSESSIVES and following in w.RELATIVES))
        others = others or (by_the_borrower and word in w.THIRD_PERSON)
    if named:
        return named.pop() if len(named) == 1 and not own else None
    return None if others and not own else BORROWER


FACT_RULES: tuple[Callable[[_Claim], _Refusal | None], ...] = (
    _is_a_kept_kind,
    _is_confident,
    _says_something_that_lasts,
    _is_quoted,
    _has_its_numbers_said,
    _has_a_clear_subject,
    _lasts,
)
