"""Sentences that state a payment as made, or as not made, other than by the borrower."""

from statemachine import words as w
from statemachine.screening.patterns import (
    BE,
    DATE,
    EMI,
    GONE,
    LOAN,
    MONEY,
    NO_PAYMENT,
    any_of,
    finds,
    needs_of,
    one_of,
    pattern,
    up_to,
)
from statemachine.screening.reading import Own
from statemachine.screening.rule import Rule
from statemachine.screening.sentences import Sentence

_SOFT = rf"(?:(?:{BE}|not|never|just|fully|partly|partially|finally|successfully|duly|on|by|{DATE}|rs|##|of) ){{0,5}}"
_DONE_HINDI = any_of(w.DONE_HINDI.split(","))
_NOT_PLANNED = "".join(f"(?<!{modal} )" for modal in ("will", "would", "should", "could", "might", "may"))
_HAVING = "has have had having hv hasnt havent hadnt"
_HAS = rf"{_NOT_PLANNED}{one_of(_HAVING)}"
_LATELY = r"(?:(?:already|just|now|since|also|fully|partly|partially|only|not|never|finally|been|yet|even) ){0,3}"
_PAID_OTHERWISE = r"(?! (?:leave|attention|holidays?|visit|a visit|job|work|monthly|weekly|fortnightly|every) )"
_PAID_FOR_CERTAIN = (
    pattern(
        rf"{_HAS} {_LATELY}(?:paid|repaid|prepaid|foreclosed){_PAID_OTHERWISE}",
        _HAVING,
        "paid repaid prepaid foreclosed",
    ),
    pattern(
        rf"{_HAS} {_LATELY}(?:cleared|settled|deposited|transferred|remitted|credited|completed|made|done|closed) "
        rf"{up_to(3, NO_PAYMENT)}(?:{EMI}|{MONEY}|{LOAN}|##|outstanding|arrears)(?! {NO_PAYMENT})",
        _HAVING,
        "cleared settled deposited transferred remitted credited completed made done closed",
    ),
    pattern(rf"{_HAS} {_LATELY}(?:cleared|settled) (?:all|everything)", _HAVING, "cleared settled", "all everything"),
    pattern(r"(?:fully|completely|entirely) (?:settled|cleared|repaid)|did pay", "settled cleared repaid did"),
    pattern(
        r"(?:payment|transaction|upi|transfer) (?:has |had |have |was |is |already )?(?:went|gone|successful|reached)",
        "payment transaction upi transfer",
        "went gone successful reached",
    ),
)
_PAID = (
    pattern(
        r"(?<! get )(?<! gets )(?<! got )(?<!getting )(?<! be )(?<! being )(?<! well )(?<! as )(?<! low )(?<! it )"
        r"paid" + _PAID_OTHERWISE,
        "paid",
    ),
    pattern(rf"(?:{LOAN}|{EMI}|{BE}) marked (?:as )?(?:paid|settled|closed)", "marked", "paid settled closed"),
    pattern(
        rf"(?:payment|payments|भुगतान|पेमेंट) {_SOFT}(?:received|done|made|completed|complete|successful|credited|cleared|"
        r"processed|reflected|settled|posted|captured|realised|verified|confirmed(?! for| by| to))",
        "payment payments भुगतान पेमेंट",
        "received done made completed complete successful credited cleared processed reflected settled posted captured "
        "realised verified confirmed",
    ),
    pattern(
        rf"(?:received|got|made|completed|did|done) (?:(?!{NO_PAYMENT} )[^ ~.,;?!]+ ){{0,3}}(?:payment|payments)"
        rf"(?! {NO_PAYMENT})",
        "received got made completed did done",
        "payment payments",
    ),
    pattern(
        rf"(?:transferred|deposited|remitted|sent|credited|debited|repaid) "
        r"(?:(?:the|rs|inr|her|his|full|about|around|us) ){0,2}"
        rf"(?:##|money|amount|{EMI}|funds|paise|paisa)(?! {NO_PAYMENT})",
        "transferred deposited remitted sent credited debited repaid",
        f"## money amount funds paise paisa {w.DUES}",
    ),
    pattern(
        rf"(?:##|amount|{EMI}|money|{LOAN}|outstanding) {_SOFT}(?:received|credited|deposited|debited|cleared|settled|"
        r"transferred|realised|recovered|collected|repaid)",
        "received credited deposited debited cleared settled transferred realised recovered collected repaid",
        f"## amount money outstanding {w.DUES} {w.LOANS}",
    ),
    pattern(
        rf"(?:cleared|settled|repaid|closed|foreclosed) {up_to(3, NO_PAYMENT)}(?:{EMI}|{LOAN}|outstanding|arrears|debt)",
        "cleared settled repaid closed foreclosed",
        f"outstanding arrears debt {w.DUES} {w.LOANS}",
    ),
    pattern(
        rf"(?:{EMI}|{MONEY}|{LOAN}|##|paisa|paise|bhugtan|पेमेंट) {up_to(3, NO_PAYMENT)}{_DONE_HINDI}",
        f"## paisa paise bhugtan पेमेंट {w.DUES} {w.MONEY} {w.LOANS}",
        w.DONE_HINDI.replace(",", " "),
    ),
    pattern(
        r"(?:got|received|collected|recovered) (?:(?:rs|inr|:|a|sum|of|about|cash) ){0,3}##",
        "got received collected recovered",
        "##",
    ),
    pattern(r"## (?:(?:rs|rupees|has|have|already|just) ){0,3}(?:come|came) (?:in|through)", "##", "come came"),
    pattern(
        r"(?:bhar|chuka|भर|चुका) (?:diya|di|diye|chuka|chuki|दिया|दी|दिए)",
        "bhar chuka भर चुका",
        "diya di diye chuka chuki दिया दी दिए",
    ),
    pattern(r"pay (?:kar diya|kar di|kiya hai|kar chuka|kar chuki|ho gaya|ho gayi|कर दिया)", "pay", "kar kiya ho कर"),
)
_PEOPLE_PAID = pattern(
    r"(?:she|he|they|i|borrower|customer|client|who) (?:is|are|was|were|has been|have been|been) paid", "paid"
)


def _is_paid(own: Own, sentence: Sentence) -> bool:
    """A payment stated as made, or as not made, other than by the borrower. Not even as history."""
    firm, done = (_PEOPLE_PAID.regex.sub(GONE, line) for line in (own.firm, own.done))
    return finds(_PAID_FOR_CERTAIN, firm, own.held, unless=_PAYERS) or finds(_PAID, done, own.held, unless=_PAYERS)


_PAYERS = w.INCOMES - w.PEOPLE

HAS_PAID = Rule(
    "has_paid",
    1,
    _is_paid,
    needs_of(_PAID_FOR_CERTAIN, _PAID),
    passes=(
        "she says she paid on the 27th",
        "She claims to have paid already.",
        "He said payment ho gaya hai.",
        "Usne kaha ki 27 ko bhar diya.",
        "The EMI was paid on the 27th, she says.",
        "According to her, the payment was made on 27 Nov.",
        "She will pay 12,500 by the 25th and will send the receipt.",
        "Once she has paid she will call.",
        "She promised to get it paid by Friday.",
        "She gets paid on the 7th.",
        "Her employer has not paid the salary.",
        "She asked how the payment is made.",
        "Borrower verified and confirmed payment of Rs 12,500 on 25 Nov.",
        "The borrower confirmed paying 12,500 rupees by 25 November.",
        "She did not pay last month.",
        "Payment link bhej diya hai.",
        "He paid attention to the read-back.",
    ),
    fails=(
        "has paid",
        "She has already paid.",
        "Borrower paid 5,000 yesterday.",
        "payment ho gaya hai",
        "The payment was received.",
        "On 20 Nov she had paid 5,000.",
        "She made a payment of 5,000.",
        "EMI bhar di hai.",
        "She has cleared all dues.",
        "She has not paid yet.",
        "5,000 received on 27 Nov.",
        "भुगतान हो गया है",
        "Customer confirmed they have paid.",
        "She said ok and paid 5,000.",
    ),
)
