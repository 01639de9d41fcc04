"""Which words forgetting a fact or a term means.

A term means itself. A fact means its text, its quote, and each of its words that says something by itself: of "wife is Martha"
that is "Martha", for texts that tell the same in other words. Which words say nothing by themselves is the list below, by their
stems; a word too many in it leaves a trace somewhere, one too few costs a text that need not have gone, so it is short.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from service.recall.ranking import ALIKE, LITTLE
from service.recall.words import keys_of
from statemachine.elements import FactSaid
from statemachine.forgetting import TERM_WORDS, term_of
from statemachine.record import Hasher
from statemachine.words import folded

TERMS_OF_ONE: Final = 64
"""Of one fact; the first."""
SHORTEST_CHARACTERS: Final = 3
SHORTEST_BESIDE_DIGITS: Final = 4
"""Of "7th" and "6pm" the letters say nothing."""
SHORTEST_NUMBER_DIGITS: Final = 6
"""A shorter number is a day, a time or an amount, and stands in other texts too."""

COMMON: Final = """
about after again all also am only always amount any anytime ask asked because before best borrower business call called comes
come customer daily due during early earn earns each every few first fixed for gets get give gives given going good got half has
have help high hour hours however income interested is just keep kept kids know large last later least less like likes little live
lives living lives long loss lost made make makes many may more most much must name need needs never new next no none not now
number of office often old on once one only open other out over own paid part partly pay pays people per please pm prefer
prefers preferred problem reason receive received receives regular request requested run runs said salaried same say says second
see self send since single small some soon speak speaks spoke spoken still such take takes talk tell than their then they thing
third through till times today told too total two three four five six seven eight nine ten under until usually use used uses very
via wait want wants was week weekday weekend weekends well were what when where which while who whole will with without word
works working worked would year years yes yet monday tuesday wednesday thursday friday saturday sunday january february march
april may june july august september october november december
aata aati aate karta karti karte karna karo kar kiya liya diya dena lena bolna bola boli kaha kehna chahiye raha rahi rahe rehta
rehti baje bajे baad pehle abhi sirf bas har roz sab kuch koi bahut thoda accha theek tareekh tarikh ko
आता आती आते करता करती करते करना करो कर किया लिया दिया देना लेना बोला बोली कहा चाहिए रहा रही रहे बजे बाद पहले अभी सिर्फ बस हर रोज सब कुछ कोई
बहुत थोड़ा अच्छा ठीक
"""


@cache
def _common() -> frozenset[str]:
    return frozenset(keys.exact for group in (COMMON, LITTLE, ALIKE) for keys in keys_of(group))


def telling_words(text: str) -> list[str]:
    """The words of a text that say something by themselves, folded, in their order."""
    found = []
    for word, keys in zip(folded(text).split(), keys_of(text), strict=True):
        if word.isdigit():
            tells = len(word) >= SHORTEST_NUMBER_DIGITS
        else:
            letters = sum(not c.isdigit() for c in word)
            shortest = SHORTEST_CHARACTERS if letters == len(word) else SHORTEST_BESIDE_DIGITS
            tells = letters >= shortest and keys.exact not in _common()
        if tells:
            found.append(word)
    return found


def words_of_fact(said: Iterable[FactSaid], hasher: Hasher) -> tuple[tuple[int, str], ...]:
    """What a tombstone of one fact holds, in whatever words it was said."""
    texts: dict[str, None] = {}
    for fact in said:
        for text in (fact.text, fact.quote):
            if text:
                texts[" ".join(folded(text).split()[:TERM_WORDS])] = None
    for fact in said:
        for text in (fact.text, fact.quote or "", "" if fact.about == "borrower" else fact.about):
            texts.update(dict.fromkeys(telling_words(text)))
    wanted = [text for text in texts if text][:TERMS_OF_ONE]
    return tuple(sorted({term_of(text, hasher) for text in wanted}))
