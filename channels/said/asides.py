"""What a sentence tells of a day that is no promise for it: a word given, somebody's report, a deadline, a doubt left open.

"25 ko batata hu", "boss ne bola 28 ko milenge", "25 last date hai", "25 ko ho ya na ho". Each function looks at the words of a
line, padded at the end, between two places. It must not know days, sums or which verb is whose: that is `tense`.
"""

from __future__ import annotations

from collections.abc import Sequence

from channels.said import words

_BY_THE_SPEAKER = words.BY_ME | words.MYSELF
_OF_ANOTHER_DEED = words.TELLING_STEM | (words.NOT_PAYING - words.TIME_ASKED - {"promise"})
_PAYING = words.PAYING_NOUN | words.PAY
_BEHIND_A_DUE_DAY = words.KO | words.KE | words.DATE_WORDS
_GIVING_TO_ME = words.ADDRESSED | words.OF_AN_EMPLOYER

REPORT_REACH_ITEMS = 4
TELLING_REACH_ITEMS = 6


def is_word_given(texts: Sequence[str], verb: int) -> bool:
    """ "batata hu", "bata dunga", "confirm karunga", "baat karte hai"; but "baat karke dunga" pays."""
    word = texts[verb]
    if word in words.TELLS or words.WILL_TELL.match(word):
        return True
    if texts[verb - 1] in words.TAKEN and words.WILL_TAKE.match(word):
        return True  # "chhutti le lunga"
    before = verb - 1 - (verb > 0 and texts[verb - 1] in words.LIGHT_VERBS)
    return before >= 0 and texts[before] in _OF_ANOTHER_DEED


def is_paid_first(texts: Sequence[str], verb: int) -> bool:
    """ "payment karke batata hu", "bhar ke message karunga", "deke"."""
    for place in range(max(1, verb - TELLING_REACH_ITEMS), verb):
        word, before = texts[place], texts[place - 1]
        if word in words.HAVING_PAID_IN_ONE or (word in words.HAVING_PAID and before in _PAYING):
            return True
        if word in words.KE and before in words.PAYING_BEFORE_KE:
            return True
    return False


def will_only_tell(following: Sequence[str]) -> bool:
    """What stands behind "I will": "let you know", "check and tell you", "call you"; but "call you and pay"."""
    if following[:2] == ["get", "back"]:
        return True
    if words.PAYING_NOUN.isdisjoint(following) and not words.PAPERS.isdisjoint(following[:TELLING_REACH_ITEMS]):
        return True  # "I'll send you the receipt tomorrow"
    return following[:1] != [] and following[0] in words.TELL and words.PAY.isdisjoint(following[:TELLING_REACH_ITEMS])


def lets_see(texts: Sequence[str], begin: int, end: int) -> bool:
    """ "let me see tomorrow"."""
    return any(
        texts[place] == "let" and texts[place + 1] in ("me", "us") and texts[place + 2] in words.TELL
        for place in range(begin, end)
    )


def is_reported(texts: Sequence[str], begin: int, first: int) -> bool:
    """ "boss ne bola 28 ko ...", "aapne kaha ...": by the lender's side or by who pays the speaker.

    What "she said" may be a summary's word for the speaker."""
    for place in range(begin, first):
        if texts[place] not in words.SAID:
            continue
        before = texts[max(begin, place - REPORT_REACH_ITEMS) : place]
        if not words.REPORTERS.isdisjoint(before) and _BY_THE_SPEAKER.isdisjoint(before):
            return True
    return False


def is_a_deadline(texts: Sequence[str], after: int, end: int) -> bool:
    """ "25 last date hai", "25 ko aakhri tarikh hai", "31 is the due date": told by the lender and not by the payer."""
    return any(
        texts[place] in words.OF_A_DEADLINE and texts[place + 1] in words.DATE_WORDS for place in range(after, end)
    )


def is_when_it_falls_due(texts: Sequence[str], begin: int, first: int, after: int, end: int) -> bool:
    """ "EMI 5 tarikh ki hai", "billing date 28 hai", "next EMI 5 ko hai na?", "18 ko car ki EMI bharni hai"."""
    place = after
    while texts[place] in _BEHIND_A_DUE_DAY:
        place += 1
    if texts[place] in words.IT_IS:
        return not words.FALLS_DUE.isdisjoint(texts[begin:first])
    return texts[end - 1] in words.IT_IS and not words.FALLS_DUE.isdisjoint(texts[after:end])


def whether_or_not(texts: Sequence[str], after: int, end: int) -> bool:
    """ "ho ya na ho", "aaye na aaye", "hoga ya nahi hoga", "nahi bhi": what stands before it is left open."""
    for place in range(after, end):
        if texts[place] not in words.NOT and texts[place] not in words.NA:
            continue
        if texts[place + 1] in words.ALSO and texts[place + 2] not in words.WHETHER:
            return True
        verb = place - 1 - (texts[place - 1] in words.OR)
        if verb >= after and texts[verb] == texts[place + 1] and texts[verb] in words.WHETHER:
            return True
    return False


def is_the_other_sides(texts: Sequence[str], begin: int, verb: int) -> bool:
    """ "aapne 3000 ka offer diya tha", "aap logo ne diya", "you gave me time": done by those who ask for the money."""
    if texts[verb + 1] in words.TO_ME:
        return True  # "papa ne 2000 diye mujhe"
    for place in range(verb - 1, begin - 1, -1):
        word = texts[place]
        if word in words.BY_ME or word in words.MYSELF:
            return False
        if word in words.DONE_BY_YOU or word in words.TO_ME:
            return True
        if word in words.NE:
            return not _GIVING_TO_ME.isdisjoint(texts[max(begin, place - 2) : place])
    return False


def is_only_there(texts: Sequence[str], begin: int, verb: int) -> bool:
    """ "25 ko bank band rahega", "fees 25 ko jayegi": what is or goes on beside an occasion is no payment."""
    said = texts[begin:verb]
    return texts[verb] in words.ONLY_IS and not words.OCCASIONS.isdisjoint(said) and words.PAYING_NOUN.isdisjoint(said)


def is_of_a_brother(texts: Sequence[str]) -> bool:
    """ "mera bhai dega", "bhai se leke"; in "haan bhai kal dunga" it is only how the other side is called."""
    return not words.BROTHER.isdisjoint(texts) and any(
        word in words.BROTHER and (texts[place - 1] in words.MINE or texts[place + 1] in words.BESIDE_A_PERSON)
        for place, word in enumerate(texts)
    )


def is_conditional(texts: Sequence[str], end: int) -> bool:
    """ "salary aayi to 5 ko dunga", "ho sake to 25 ko dunga", "ho sakta hai 25 ko dunga"; but "bola to hai"."""
    if words.IN_THAT_CASE.isdisjoint(texts) and words.MAY_BE.isdisjoint(texts):
        return False
    return any(texts[place] in words.MAY_BE and texts[place - 1] in words.COME_TO_BE for place in range(1, end)) or any(
        texts[place] in words.IN_THAT_CASE
        and texts[place - 1] in words.IF_IT_DID
        and texts[place + 1] not in words.IT_IS
        for place in range(1, end)
    )
