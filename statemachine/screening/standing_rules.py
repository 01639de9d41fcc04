"""Sentences that state how a loan or an account stands: counts, closed or clear, buckets, days past due."""

from statemachine import words as w
from statemachine.screening.patterns import (
    BE,
    BEING,
    CLAUSE_END,
    COUNTED,
    COUNTED_WORD,
    DATE,
    EMI,
    HINDI_BE,
    LOAN,
    NUMBER_MARK,
    NUMBER_MARKS,
    finds,
    last_pattern,
    needs_of,
    one_of,
    pattern,
    up_to,
)
from statemachine.screening.reading import Own
from statemachine.screening.rule import Rule
from statemachine.screening.sentences import Sentence

_COUNT_OF = (
    pattern(
        rf"{NUMBER_MARK} (?:of|out of) (?:the |her |his |total |all )?(?:total )?{NUMBER_MARK} (?:\S+ )?{COUNTED}",
        NUMBER_MARKS,
        "of",
        COUNTED_WORD,
    ),
    pattern(
        rf"(?:{NUMBER_MARK}|do) (?:{COUNTED} )?(?:mein|me|में) se (?:{NUMBER_MARK}|do|sirf #) "
        rf"(?:\S+ )?(?:{COUNTED}|{one_of(w.CLEAR)})",
        f"do {NUMBER_MARKS}",
        "mein me में",
        "se",
    ),
    pattern(
        rf"(?:of|out of) (?:the |her |his |total |all )?(?:total )?{NUMBER_MARK} {COUNTED} (?:, )?(?:only )?{NUMBER_MARK}",
        NUMBER_MARKS,
        "of",
        COUNTED_WORD,
    ),
    pattern(
        rf"{NUMBER_MARK} (?:of|out of) {NUMBER_MARK} {BEING}{one_of(w.CLEAR + ' paid pending overdue done')}",
        NUMBER_MARKS,
        "of",
        f"paid pending overdue done {w.CLEAR}",
    ),
)


def _is_count_of(own: Own, sentence: Sentence) -> bool:
    """So many of so many loans or EMIs."""
    return finds(_COUNT_OF, own.text, own.held)


COUNT_OF = Rule(
    "count_of",
    1,
    _is_count_of,
    needs_of(_COUNT_OF),
    passes=("One of her loans was discussed.", "This is part 3 of 4.", "3 of 4 calls were not answered."),
    fails=("3 of 4 loans clear", "Three out of four EMIs done.", "3/4 loans clear", "4 mein se 3 loan clear hai"),
)

_CLEAR = one_of(w.CLEAR)
_ALL_CLEAR = rf"(?:{_CLEAR}|up to date|written off|in default|in arrears|in order)"
_ALL_CLEAR_WORDS = f"date written default arrears order {w.CLEAR}"
_MANDATES = "mandate enach nach autopay debit"
_MANDATE = r"(?:mandate|enach|nach|autopay|auto debit)"
_MANDATE_STATES = "active inactive registered rejected expired cancelled live"
_MANDATE_HINDI = "active inactive band chalu reject बंद चालू"
_STANDING = (
    pattern(
        rf"(?:{LOAN}|{EMI}|everything|all|both|balance|outstanding) "
        rf"(?:(?:is|are|hai|hain|now|all|still|stands|remains?) ){{1,3}}"
        rf"{_ALL_CLEAR}(?! {DATE}| on| in)",
        f"everything all both balance outstanding {w.LOANS} {w.DUES}",
        _ALL_CLEAR_WORDS,
    ),
    pattern(
        rf"(?:loans|accounts|cards|emis|dues|loan|account) {_ALL_CLEAR}(?= {CLAUSE_END})",
        "loans accounts cards emis dues loan account",
        _ALL_CLEAR_WORDS,
    ),
    last_pattern(
        rf"(?:loans|accounts|cards|emis|dues|loan|account) {_ALL_CLEAR}",
        "loans accounts cards emis dues loan account",
        _ALL_CLEAR_WORDS,
    ),
    pattern(
        rf"(?:loan|account|card|khata|sab|emi|लोन|खाता) (?:abhi |ab |sab |bilkul ){{0,2}}"
        rf"(?:clear|band|active|chalu|बंद|चालू) {HINDI_BE}",
        "loan account card khata sab emi लोन खाता",
        "clear band active chalu बंद चालू",
        w.HINDI_BE,
    ),
    pattern(
        rf"{_MANDATE} (?:is|are|remains) (?:now |still |not |currently |already ){{0,2}}{one_of(_MANDATE_STATES)}",
        _MANDATES,
        "is are remains",
        _MANDATE_STATES,
    ),
    pattern(
        rf"{_MANDATE} (?:abhi |ab ){{0,2}}{one_of(_MANDATE_HINDI)} {HINDI_BE}",
        _MANDATES,
        _MANDATE_HINDI,
        w.HINDI_BE,
    ),
    pattern(
        r"no (?:more |further |pending |other )?(?:dues(?! certificate| letter)|outstanding|overdue|arrears)",
        "no",
        "dues outstanding overdue arrears",
    ),
    pattern(
        rf"no (?:emi|emis|payment|payments|amount|balance|loan) (?:{BE} )?"
        r"(?:pending|left|remaining|due|outstanding|overdue)",
        "no",
        "pending left remaining due outstanding overdue",
    ),
    pattern(
        rf"nothing (?:{BE} )?(?:more )?(?:pending|due|outstanding|overdue|left to pay|to pay)",
        "nothing",
        "pending due outstanding overdue left pay",
    ),
    pattern(rf"{LOAN} (?:has|have|had) (?:now |already )?been {_CLEAR}", w.LOANS, "been", w.CLEAR),
    pattern(rf"still (?:has|have|had) {NUMBER_MARK} (?:{EMI}|{LOAN})", "still", NUMBER_MARKS, f"{w.DUES} {w.LOANS}"),
    pattern(r"(?:nil|zero) (?:dues|outstanding|balance|overdue)", "nil zero", "dues outstanding balance overdue"),
    pattern(
        r"(?:she|he|they|borrower|customer|client) (?:is|are) (?:now |still |not )?"
        r"(?:current on|regular on|up to date|overdue|delinquent|clear of)",
        "she he they borrower customer client",
        "is are",
        "current regular date overdue delinquent clear",
    ),
    pattern(
        r"in (?:arrears|default)|(?:is|are) (?:a |an )?(?:habitual |chronic |known |serial |wilful |willful )?defaulters?",
        "arrears default defaulter defaulters",
    ),
)


def _is_standing(own: Own, sentence: Sentence) -> bool:
    """How a loan or an account stands."""
    return finds(_STANDING, own.done, own.held)


STANDING = Rule(
    "standing",
    3,
    _is_standing,
    needs_of(_STANDING),
    passes=(
        "She asked for a no dues certificate.",
        "She asked to close the account.",
        "It is clear that she understood the read-back.",
        "She wants all loans clear by June.",
        "Identity verified on 20 Nov.",
        "She set up a mandate on 20 Nov.",
        "She asked whether the mandate is active.",
    ),
    fails=(
        "NACH mandate is inactive.",
        "Mandate abhi active nahi hai, mandate band hai.",
        "Her loan is closed.",
        "No dues.",
        "Nothing is pending.",
        "All loans are clear.",
        "Account is active",
        "loan band hai",
        "लोन चालू है।",
        "He is a habitual defaulter.",
    ),
)

_BUCKETS = (
    pattern(r"buckets?(?! list| of)", "bucket buckets"),
    pattern(r"(?:sma (?:##|#|one|two|zero)|sma[0-2]|npa)", "sma sma0 sma1 sma2 npa"),
    pattern(
        rf"(?:cibil|credit|bureau|risk|experian) (?:score|rating|grade) {up_to(3)}{NUMBER_MARK}",
        "cibil credit bureau risk experian",
        "score rating grade",
        NUMBER_MARKS,
    ),
    pattern(r"cibil (?:is |of |: |was |now ){0,2}##", "cibil", "##"),
    pattern(r"stage # (?:account|loan|asset|customer|case)", "stage", "#"),
    pattern(rf"score {up_to(2)}##", "score", "##"),
)


def _is_bucket(own: Own, sentence: Sentence) -> bool:
    """Ageing buckets, asset classes and scores."""
    return finds(_BUCKETS, own.text, own.held)


BUCKET = Rule(
    "bucket",
    2,
    _is_bucket,
    needs_of(_BUCKETS),
    passes=("It is on her bucket list.", "She is worried about her CIBIL score."),
    fails=("in bucket 2", "Moved to bucket-1.", "The account is SMA-1.", "CIBIL score is 640."),
)

_UNIT = one_of(w.TIME_UNITS)
_LATE = one_of(w.LATE)
_PAST_DUE = (
    pattern(
        rf"{NUMBER_MARK} {_UNIT} (?:(?:se|of|in|ka|ki|by|is|are|already|now|hai) ){{0,2}}(?:past due|{_LATE}|in arrears)",
        NUMBER_MARKS,
        w.TIME_UNITS,
        f"past arrears {w.LATE}",
    ),
    pattern(
        rf"(?:overdue|late|delayed|past due|behind|pending|delinquent) (?:by|for|since|from) "
        r"(?:(?:about|over|nearly|more|than) ){0,2}"
        rf"{NUMBER_MARK} {_UNIT}",
        "overdue late delayed past behind pending delinquent",
        NUMBER_MARKS,
        w.TIME_UNITS,
    ),
    pattern(
        rf"(?:overdue|late|delay|delayed|dpd|past due) days (?:: |is |are |of )?{NUMBER_MARK}",
        "overdue late delay delayed dpd past",
        "days",
        NUMBER_MARKS,
    ),
    pattern(rf"(?:crossed|completed|touched) {NUMBER_MARK} days", "crossed completed touched", NUMBER_MARKS, "days"),
    pattern(rf"dpd {up_to(2)}{NUMBER_MARK}", "dpd", NUMBER_MARKS),
    pattern(rf"{NUMBER_MARK} (?:\+ |plus )?dpd", "dpd", NUMBER_MARKS),
    pattern(r"past due", "past", "due"),
)


def _is_past_due(own: Own, sentence: Sentence) -> bool:
    """How long something is overdue."""
    return finds(_PAST_DUE, own.done, own.held, unless=w.INCOMES)


DAYS_PAST_DUE = Rule(
    "days_past_due",
    1,
    _is_past_due,
    needs_of(_PAST_DUE),
    passes=("Her salary is 5 days late.", "She asked for 5 days.", "She said she may be 3 days late."),
    fails=(
        "45 days past due",
        "DPD 45",
        "45 dpd",
        "Overdue by 45 days.",
        "45 din se late hai",
        "The loan is past due.",
    ),
)
