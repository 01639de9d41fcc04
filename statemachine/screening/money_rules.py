"""Sentences that state money as it stands: a balance, an amount that nothing explains, what is on offer."""

from statemachine import words as w
from statemachine.screening.patterns import (
    BE,
    COUNTED,
    DATE,
    HINDI_BE,
    KINDS,
    LARGE,
    NUMBER_MARKS,
    ONLY_AN_AMOUNT,
    finds,
    needs_of,
    one_of,
    pattern,
    up_to,
)
from statemachine.screening.reading import BARE, Own
from statemachine.screening.rule import Rule
from statemachine.screening.sentences import Sentence

_NEAR_A_BALANCE = rf"(?:(?:{BE}|of|at|rs|inr|rupees|amount|stands|stood|:|hai|hain|around|about|approx|only) ){{0,4}}"
_BALANCE_WORDS = r"(?:balance|outstanding|overdue|arrears|dues|baaki|baki|bakaya|बाकी|बकाया|remaining)"
_SMALL_BALANCE = (
    pattern(
        rf"{_BALANCE_WORDS} {_NEAR_A_BALANCE}#(?! {COUNTED})",
        "balance outstanding overdue arrears dues baaki baki bakaya बाकी बकाया remaining",
        "#",
    ),
    pattern(
        rf"# (?:rs |rupees |rupaye |hai |is )?{_BALANCE_WORDS}(?! {COUNTED})",
        "balance outstanding overdue arrears dues baaki baki bakaya बाकी बकाया remaining",
        "#",
    ),
)
_ONE_EMI_WORDS = "emi installment instalment kist kisht ईएमआई किस्त"
_ONE_EMI = one_of(_ONE_EMI_WORDS)
_LEFT = (
    pattern(r"## (?:rs |rupees |rupaye |more |is |are ){0,2}(?:left|remain|more|to go)", "##", "left remain more go"),
    pattern(
        r"(?:account|khata|card|wallet|bank) (?:has|have|holds|shows) (?:only |just |about |around |rs |inr ){0,2}##"
        r"(?! (?:debited|deducted))",
        "account khata card wallet bank",
        "has have holds shows",
        "##",
    ),
    # What an instalment is; "she will pay her EMI of 5,000" is a plan.
    pattern(rf"{_ONE_EMI} (?:amount |rashi )?(?:is|was) (?:rs )?##", _ONE_EMI_WORDS, "is was", "##"),
    pattern(rf"{_ONE_EMI} (?:amount|rashi) (?:rs )?##", _ONE_EMI_WORDS, "amount rashi", "##"),
    pattern(
        rf"{_ONE_EMI} (?:rs )?## (?:rs |rupaye |rupees )?(?:ki |ka |की |का )?{HINDI_BE}",
        _ONE_EMI_WORDS,
        "##",
        w.HINDI_BE,
    ),
)


def _is_balance(own: Own, sentence: Sentence) -> bool:
    """An amount beside a balance, a due or an arrear, other than the one promised here."""
    parts = [(marks, spoken, _names_a_balance(spoken) or finds(_LEFT, marks, own.held)) for marks, spoken in own.parts]
    if not any(named for _, _, named in parts):
        return False
    for marks, spoken, named in parts:
        if LARGE not in marks.split():
            if named and finds(_SMALL_BALANCE, marks, own.held):
                return True
            continue
        words = frozenset(spoken.split())
        if not named and (words & w.PLANS or words & w.OTHER_MONEY):
            continue
        amounts = own.amounts_in(spoken)
        # An amount that nobody could read is no allowed one.
        if not amounts or amounts - own.amounts_allowed:
            return True
    return False


_BALANCE_KEYWORDS = " ".join(w.BALANCES.keywords)


def _names_a_balance(spoken: str) -> bool:
    words = spoken.split()
    return any(w.BALANCES.at(words, at) > w.NO_BALANCES.at(words, at) for at in range(len(words)))


BALANCE = Rule(
    "balance",
    3,
    _is_balance,
    (*needs_of(_LEFT), KINDS.needed(_BALANCE_KEYWORDS, NUMBER_MARKS)),
    passes=(
        "She asked about her balance.",
        "Left a message about the dues",
        "She says her balance is 12,400.",
        "She agreed to pay 5,000 by the 25th.",
        "He will clear the outstanding by 25 Nov.",
        "Due to a job loss in 2025 she could not pay.",
        "She asked whether the outstanding is 12,400.",
        "Called on 9000000101 about the dues of loan LN-700123.",
        "She wants to clear the dues, her salary is 25,000.",
        "Borrower ne kaha ki 12,400 baaki hai.",
        "She said her EMI is 4,566.",
        "She will pay her EMI of 5,000 on Friday.",
        "She lives in Balance Town.",
        "She says her account has 3,000.",
    ),
    fails=(
        "Salary account has only 3,000.",
        "balance 12,400",
        "outstanding is 12,400 and 2,000 blocked",
        "Balance, as of today, is Rs. 12,400.",
        "12,400 baaki hai",
        "Agent informed her that the outstanding is 12,400.",
        "She was told her balance is 12,400 and said she will pay.",
        "She confirmed that 12,400 is due.",
        "The agent said the balance is 12,400.",
        "Portal says outstanding 12,400.",
        "EMI of 4,500 is due on 5 Dec.",
        "बकाया ₹12,400 है",
        "She owes twelve thousand four hundred.",
        "Balance: 50",
        "Her EMI is 5,000 per month.",
        "EMI amount: 4,566",
        "EMI 6,000 ki hai.",
        "ईएमआई 4,500 की है।",
        "The payoff amount is 88,000.",
        "Pre-closure figure is 56,200.",
    ),
)

_CONCESSIONS = (
    "settlement waiver discount rebate concession moratorium cashback ots restructuring chhoot chhut maafi छूट माफी"
)
_CONCESSION = one_of(_CONCESSIONS)
_OFFERS = (
    pattern(rf"{_CONCESSION} {up_to(5)}(?:##|# percent|## percent)", _CONCESSIONS, "## percent"),
    pattern(rf"(?:##|# percent|## percent) {up_to(4)}{_CONCESSION}", _CONCESSIONS, "## percent"),
    pattern(r"offers? (?:\S+ )?(?:of|at|for|:) (?:rs )?(?:##|# percent)", "offer offers", "## percent"),
    pattern(
        r"(?:was|were|been|being|we|agent|i|bank) offered {0}(?:##|# percent)".replace("{0}", up_to(4)),
        "offered",
        "## percent",
    ),
    pattern(
        rf"{_CONCESSION} {up_to(4)}(?:is|are) (?:now |also )?(?:available|offered|possible|approved|sanctioned|open)",
        _CONCESSIONS,
        "is are",
        "available offered possible approved sanctioned open",
    ),
    pattern(
        rf"{_CONCESSION} {up_to(1)}(?:mil|mill|मिल) {up_to(2)}{HINDI_BE}", _CONCESSIONS, "mil mill मिल", w.HINDI_BE
    ),
    pattern(r"can (?:now )?(?:settle|close) (?:\S+ )?(?:at|for|in|with) (?:rs )?##", "can", "settle close", "##"),
    pattern(rf"eligible for (?:a |an |the |one time )?(?:\S+ )?{_CONCESSION}", _CONCESSIONS, "eligible"),
    pattern(
        rf"offer (?:is |was |will be )?(?:valid|expires|open|available)(?: {DATE}| till| until| for|)",
        "offer",
        "valid expires open available",
    ),
)


def _is_offer(own: Own, sentence: Sentence) -> bool:
    """What is on offer, other than what the borrower asks for or has promised."""
    if not finds(_OFFERS, own.unasked, own.held):
        return False
    amounts = frozenset(amount for _, spoken in own.parts for amount in own.amounts_in(spoken))
    return not amounts or bool(amounts - own.amounts_allowed)


OFFER = Rule(
    "offer",
    2,
    _is_offer,
    needs_of(_OFFERS),
    passes=(
        "She asked for a settlement at 8,000.",
        "She offered to pay on Friday.",
        "She wants a waiver of 500.",
        "She asked if a waiver is available.",
    ),
    fails=(
        "Waiver of late fee is available for her.",
        "20% ki chhoot mil sakti hai.",
        "She can settle at 45,000.",
        "The agent offered a settlement of 8,000.",
        "A 10% waiver is available.",
        "She is eligible for a waiver.",
    ),
)


def _is_bare_amount(own: Own, sentence: Sentence) -> bool:
    """An amount and nothing that says what it is of: the rest of "Your balance?" a line further on."""
    spoken = [token for token in own.text.split() if token not in w.MARKS]
    if LARGE not in spoken or not all(token in BARE for token in spoken):
        return False
    amounts = frozenset(amount for _, part in own.parts for amount in own.amounts_in(part))
    return not amounts or bool(amounts - own.amounts_allowed)


BARE_AMOUNT = Rule(
    "bare_amount",
    1,
    _is_bare_amount,
    (KINDS.needed("##") | ONLY_AN_AMOUNT,),
    passes=("5,000 on Friday, she said.", "Loan LN-700123."),
    fails=("12,400.", "It is 12,400.", "Rs 12,400/- only", "The amount is 12,400."),
)
