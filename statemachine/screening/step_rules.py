"""Sentences that state what is blocked, what is pending and what somebody still has to do."""

from statemachine import words as w
from statemachine.screening.patterns import (
    BE,
    BEING,
    CLAUSE_END,
    DATE,
    EMI,
    HINDI_BE,
    LOAN,
    MONEY,
    NUMBER_MARK,
    NUMBER_MARKS,
    UNPAID,
    any_of,
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

_DET = r"(?:the |her |his |their |all |its |both |a |an |full |entire |any )?"
_HELD = one_of(w.HELD)
_ON_HOLD = rf"(?:{_HELD}|on hold|hold par|hold pe|lien marked|under lien|under hold|lien)"
_CURRENCY = any_of(w.CURRENCIES)
_BLOCKED = (
    pattern(rf"(?:{MONEY}|##|payment) (?:{BE} ){{0,2}}stuck", "stuck"),
    pattern(r"lien (?:on|marked|placed)", "lien"),
    pattern(
        rf"{NUMBER_MARK} (?:(?:{BE}|{_CURRENCY}|amount|got) ){{0,4}}{_ON_HOLD}", NUMBER_MARKS, f"hold lien {w.HELD}"
    ),
    pattern(
        rf"(?:{_HELD}|lien|hold|on hold) (?:(?:amount|funds|money|of|on|rs|inr|rupees|a|an|the|:|is|for) ){{0,3}}##",
        "##",
        f"hold lien {w.HELD}",
    ),
    pattern(
        rf"(?:{MONEY}|{LOAN}|payment|payments|limit|khata|wallet|upi|mandate|salary account) "
        rf"(?:(?:{BE}|got|put|kept|placed|hai) ){{0,3}}{_ON_HOLD}",
        f"payment payments limit khata wallet upi mandate salary {w.MONEY} {w.LOANS}",
        f"hold lien {w.HELD}",
    ),
    pattern(
        r"(?:##|paise|paisa|amount|पैसे) (?:abhi |bhi |rupaye |rupees ){0,2}(?:atka|atke|atki|fasa|fase|phasa|phase|ruka|ruke) "
        r"(?:hua|hue|hai|hain|है|हैं)",
        "## paise paisa amount पैसे",
        "atka atke atki fasa fase phasa phase ruka ruke",
    ),
)


def _is_blocked(own: Own, sentence: Sentence) -> bool:
    """Money or an account stated as held, locked, blocked or restricted."""
    return finds(_BLOCKED, own.text, own.held)


BLOCKED = Rule(
    "blocked",
    1,
    _is_blocked,
    needs_of(_BLOCKED),
    passes=(
        "The call was held at 6 pm.",
        "She asked why 2,000 is blocked.",
        "She put us on hold for a minute.",
        "She has blocked our number.",
        "Meeting held on 25 Nov.",
    ),
    fails=(
        "2,000 held",
        "2,000 locked",
        "2,000 blocked",
        "2,000 restricted",
        "Rs 2,000 is on hold",
        "Her account is frozen.",
        "A lien of 2,000 was placed.",
        "2,000 block hai",
        "She was told 2,000 is blocked.",
    ),
)

_STEP = one_of(w.STEPS)
_STEP_DONE = one_of(w.STEPS_DONE)
_STEP_WORDS = f"{w.STEPS} {w.STEPS_DONE}"
_PAPER = one_of(w.PAPERS)
_NOT_PRIVATE = rf"(?! {up_to(4)}{one_of(w.PRIVATE_COSTS)})"
_OUTSTANDING_STEPS = (
    pattern(
        rf"still (?:has|have|needs|need|had|ought) to (?!go |travel ){up_to(1)}\S+",
        "still",
        "has have needs need had ought",
    ),
    pattern(rf"(?:should|must|has to|have to|needs to|need to) still {_STEP}", "still", w.STEPS),
    pattern(
        rf"{_PAPER} (?:(?:is|are|has|have|was|were) )?"
        r"(?:yet to|still to|not (?:yet )?(?:done|come|registered|complete|there))",
        w.PAPERS,
        "yet still not",
    ),
    pattern(
        r"(?:action|actions|step|steps) (?:required|pending|needed|due|open)|(?:pending|open) (?:action|step)s?|to do :",
        "action actions step steps do",
        "required pending needed due open to",
    ),
    pattern(r"still (?:must|owes|owe|required|requires)", "still", "must owes owe required requires"),
    pattern(rf"(?:yet|still) to (?:be )?(?:{_STEP}|{_STEP_DONE})", "yet still", _STEP_WORDS),
    pattern(
        rf"(?:has|have|had|needs|need|required|supposed) (?:yet |still |also |now )?to (?:be )?"
        rf"(?:{_STEP}|{_STEP_DONE})(?! time| us time){_NOT_PRIVATE}",
        "has have had needs need required supposed",
        "to",
        _STEP_WORDS,
    ),
    # "She is to pay 12,500 by the 25th" is her promise.
    pattern(
        rf"(?:is|are) (?:yet |still |also |now )?to (?!pay |clear |transfer |deposit )(?:be )?(?:{_STEP}|{_STEP_DONE})",
        "is are",
        "to",
        _STEP_WORDS,
    ),
    pattern(
        rf"(?:has|have|had|needs|need) (?:still |also |now )?to (?:do|get|make|fill|renew|give|bring) {up_to(2)}{_PAPER}",
        "has have had needs need",
        "to",
        w.PAPERS,
    ),
    pattern(rf"must (?:also |still |now |first )?{_STEP}{_NOT_PRIVATE}", "must", w.STEPS),
    pattern(
        rf"(?:has|have|is|are|was|were|hasnt|havent|isnt|arent) (?:(?:not|yet|still|been|even) ){{1,3}}{_STEP_DONE}",
        "has have is are was were hasnt havent isnt arent",
        "not yet still been even",
        w.STEPS_DONE,
    ),
    pattern(rf"(?:hasnt|havent) {_STEP_DONE}", "hasnt havent", w.STEPS_DONE),
    pattern(rf"(?:not yet|yet not|still not) {_STEP_DONE}", "not", w.STEPS_DONE),
    pattern(
        rf"(?:awaiting|awaited|awaits|waiting for|waiting on) {up_to(3)}{_PAPER}(?! from (?:\S+ )?{any_of(w.INCOMES)})",
        "awaiting awaited awaits waiting",
        w.PAPERS,
    ),
    pattern(
        rf"{_PAPER} (?:{BE} )?"
        r"(?:awaited|missing|needed|required|incomplete|not (?:yet )?(?:received|submitted|sent|uploaded|updated|completed))",
        w.PAPERS,
        "awaited missing needed required incomplete not",
    ),
    pattern(
        rf"(?:{_PAPER}|{EMI}|{MONEY}|##) (?:abhi |bhi |to |jama |upload |submit |rupaye ){{0,3}}"
        r"(?:bhejna|bhejni|bhejne|karna|karni|karne|dena|deni|dene|bharna|bharni|भेजना|भेजनी|देना|देनी|करना|करनी) "
        rf"(?:abhi |bhi )?(?:baaki|baki|बाकी|padega|padegi|hoga|hogi|{HINDI_BE})",
        f"## {w.PAPERS} {w.DUES} {w.MONEY}",
        "bhejna bhejni bhejne karna karni karne dena deni dene bharna bharni भेजना भेजनी देना देनी करना करनी",
    ),
    pattern(
        rf"(?:{_PAPER}|{EMI}|{MONEY}) (?:abhi |tak |bhi ){{0,3}}(?:nahi|nahin|नहीं) "
        r"(?:bheja|bheji|bheje|diya|di|diye|kiya|kiye|bhara|aaya|mila|भेजा|भेजी|दिया|किया)",
        f"{w.PAPERS} {w.DUES} {w.MONEY}",
        "nahi nahin नहीं",
    ),
)


def _is_outstanding_step(own: Own, sentence: Sentence) -> bool:
    """Something that somebody still has to do."""
    return finds(_OUTSTANDING_STEPS, own.firm, own.held, unless=w.INCOMES)


OUTSTANDING_STEP = Rule(
    "outstanding_step",
    1,
    _is_outstanding_step,
    needs_of(_OUTSTANDING_STEPS),
    passes=(
        "She will send the receipt.",
        "She agreed to send the receipt by Friday.",
        "She says she still has to send the receipt.",
        "She has to travel on Sunday.",
        "He has to pay his school fees first, he says.",
        "She needs time until Friday.",
        "She is waiting for her salary.",
    ),
    fails=(
        "still has to send the receipt",
        "She still needs to complete KYC.",
        "Borrower is yet to submit the documents.",
        "Awaiting the receipt.",
        "She has not sent the receipt.",
        "Receipt bhejna baaki hai.",
        "She needs to upload the statement.",
        "Receipt abhi tak nahi bheja.",
    ),
)

_MANY_WORDS = "## # do kai several many few some multiple both all"
_MANY = f"(?:{'|'.join(_MANY_WORDS.split())})"
_PENDING = (
    pattern(rf"{EMI} {BEING}{UNPAID}", w.DUES, w.UNPAID),
    pattern(
        rf"{_MANY} (?:of )?{_DET}(?:{UNPAID}|outstanding|due) {EMI}",
        _MANY_WORDS,
        w.DUES,
        f"outstanding due {w.UNPAID}",
    ),
    pattern(
        rf"{_MANY} {EMI} {BEING}(?:due|outstanding|left|remaining|late)",
        _MANY_WORDS,
        w.DUES,
        "due outstanding left remaining late",
    ),
    pattern(
        r"(?:has|have|having|had|there is|there are|shows?|owes|carries) "
        rf"(?:(?:a|an|the|some|any|no|##|#|still|also|multiple|several|many|few|all|other) ){{0,3}}(?:{UNPAID}|outstanding)",
        "has have having had there show shows owes carries",
        f"outstanding {w.UNPAID}",
    ),
    pattern(
        rf"{EMI} (?:is|are|still|now|hai|hain) "
        rf"(?:still |now |already |currently )?(?:due|outstanding)(?! {DATE}| on| by)",
        w.DUES,
        "is are still now hai hain",
        "due outstanding",
    ),
    pattern(
        rf"(?:is|are|was|were|remains?|still|stays?|lies|kept) (?:still |yet |also |all |now |currently ){{0,2}}{UNPAID}",
        "is are was were remain remains still stay stays lies kept",
        w.UNPAID,
    ),
    pattern(
        rf"{_MANY} {EMI} (?:remain|remains|bachi|bacha|bache|बची|बचे)(?= [.,;!?]| {HINDI_BE}| to| now)",
        _MANY_WORDS,
        w.DUES,
        "remain remains bachi bacha bache बची बचे",
    ),
    last_pattern(rf"{_MANY} {EMI} (?:remain|remains)", _MANY_WORDS, w.DUES, "remain remains"),
    pattern(rf"{NUMBER_MARK} {EMI} (?:are |is )?behind", NUMBER_MARKS, w.DUES, "behind"),
    pattern(
        rf"{EMI} (?:{UNPAID}|due|outstanding) (?:: |is |are )?{NUMBER_MARK}",
        NUMBER_MARKS,
        w.DUES,
        f"due outstanding {w.UNPAID}",
    ),
    pattern(
        rf"(?:{UNPAID}|outstanding) {EMI} (?:: |is |are |was |were ){{1,2}}{NUMBER_MARK}",
        NUMBER_MARKS,
        w.DUES,
        f"outstanding {w.UNPAID}",
    ),
    pattern(rf"behind (?:by|on|with) {up_to(3)}{EMI}", "behind", w.DUES),
    pattern(
        rf"{NUMBER_MARK} (?:more |other )?{EMI} (?:more |still |are |is ){{0,2}}(?:to pay|to go|to be paid|left)",
        NUMBER_MARKS,
        w.DUES,
        "pay go paid left",
    ),
    pattern(rf"(?:{UNPAID}|due) (?:abhi |bhi |nahi |nahin |नहीं ){{0,2}}{HINDI_BE}", f"due {w.UNPAID}", w.HINDI_BE),
    pattern(rf"(?:kuch|kuchh|कुछ) (?:bhi )?{UNPAID} (?:nahi|nahin|नहीं)", "kuch kuchh कुछ", w.UNPAID),
    pattern(rf"(?<!about )(?<!regarding )(?<!for ){UNPAID}(?= {CLAUSE_END})", w.UNPAID),
    last_pattern(rf"(?<!about )(?<!regarding )(?<!for ){UNPAID}", w.UNPAID),
)


def _is_pending(own: Own, sentence: Sentence) -> bool:
    """Something stated as pending, unpaid or overdue. "The pending EMI" only names it; "two pending EMIs" counts it."""
    return finds(_PENDING, own.firm, own.held, unless=w.INCOMES)


PENDING = Rule(
    "pending",
    2,
    _is_pending,
    needs_of(_PENDING),
    passes=(
        "She promised to pay the pending EMI by Friday.",
        "Her salary is pending, so she asked for time.",
        "She says two EMIs are pending.",
        "She asked about the overdue EMI.",
        "Baaki sab theek hai.",
    ),
    fails=(
        "two EMIs pending",
        "2 EMI pending hai",
        "She has two overdue EMIs.",
        "The EMI is still unpaid.",
        "Receipt pending.",
        "Teen kist baaki hain.",
        "She admitted that two EMIs are pending.",
        "दो ईएमआई बाकी हैं",
        "3 kist bachi hain.",
        "Five installments remain.",
        "She said she will pay on Friday, two EMIs pending.",
    ),
)
