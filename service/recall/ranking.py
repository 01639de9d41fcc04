"""Notes in the order in which they answer a query. The owner of each was filtered before, and is not known here.

`Ranking` is what a ranking offers; `FullText` is ours and needs no model and no database, so that both databases rank alike. One
by embeddings would stand behind the same interface.

Words are weighed by how rare they are among the notes that are ranked, and by how often they stand in a note of what length
(BM25). A word that only sounds alike counts less than the word itself, and what means the same in another language counts too.
A note that shares no word with the query is no hit, so that "nothing found" is an answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from service.recall.words import Keys, keys_of

SATURATION: Final = 1.2
LENGTH_WEIGHT: Final = 0.75
SOUND_WEIGHT: Final = 0.6
MEANING_WEIGHT: Final = 0.8
LABEL_WEIGHT: Final = 0.5
"""Of a word that stands in what a note is (its kind) and not in what it says."""
SCORE_DIGITS: Final = 4
QUERY_WORDS: Final = 32
"""A longer query is looked for by its first words."""

Vector = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The place of a note in what was ranked, and its score: above zero, comparable within one answer only."""

    place: int
    score: float


class Ranking(Protocol):
    """What orders notes."""

    def ranked(self, query: str, texts: Sequence[tuple[str, str]]) -> list[Ranked]:
        """`texts`: what each note says, and in words what it is. Best first; of equal ones the earlier."""


class FullText:
    """By words."""

    def ranked(self, query: str, texts: Sequence[tuple[str, str]]) -> list[Ranked]:
        asked = query_terms(query)
        if not asked or not texts:
            return []
        weighed = [_weighed(said, label) for said, label in texts]
        lengths = [sum(counts.values()) or 1.0 for counts in weighed]
        average = sum(lengths) / len(lengths)
        rare = {
            term: _rarity(sum(term in counts for counts in weighed), len(texts))
            for options in asked
            for term in options
        }
        found = []
        for place, (counts, length) in enumerate(zip(weighed, lengths, strict=True)):
            score = sum(_best(options, counts, rare, length / average) for options in asked)
            if score > 0:
                found.append(Ranked(place, round(score, SCORE_DIGITS)))
        return sorted(found, key=lambda hit: (-hit.score, hit.place))


def _rarity(having: int, all_of_them: int) -> float:
    return math.log(1 + (all_of_them - having + 0.5) / (having + 0.5))


def _best(options: Vector, counts: Vector, rare: Vector, relative_length: float) -> float:
    """What one word of the query adds: by the best of the ways in which it is found."""
    long = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative_length)
    return max(
        (
            weight * rare[term] * counts[term] * (SATURATION + 1) / (counts[term] + long)
            for term, weight in options.items()
            if term in counts
        ),
        default=0.0,
    )


def _weighed(said: str, label: str) -> Vector:
    counts: Counter[str] = Counter()
    for text, weight in ((said, 1.0), (label, LABEL_WEIGHT)):
        for keys in keys_of(text):
            for term in terms_of(keys):
                counts[term] += weight  # type: ignore[assignment]  # a Counter counts in fractions too
    return counts


def terms_of(keys: Keys) -> tuple[str, ...]:
    """Under which names a word is counted: its stem, and its sound, marked so that it is no stem."""
    return (keys.exact,) if keys.sound is None else (keys.exact, f"~{keys.sound}")


def query_terms(query: str) -> list[Vector]:
    """For each word of a query that says something, the terms that find it and what each of them counts."""
    asked: dict[str, Vector] = {}
    for keys in keys_of(query):
        if keys.exact in _little_words() or keys.exact in asked:
            continue
        options = {f"~{keys.sound}": SOUND_WEIGHT} if keys.sound is not None else {}
        for alike in _meanings().get(keys.exact, ()):
            options.update(dict.fromkeys(terms_of(alike)[:1], MEANING_WEIGHT))
        options[keys.exact] = 1.0
        asked[keys.exact] = options
        if len(asked) == QUERY_WORDS:
            break
    return list(asked.values())


# -- words that say nothing, and words that say the same ---------------------------------------------------------------------

LITTLE: Final = """
a an the and or but of to in on at by for from with as is are was were be been am do does did has have had will would can could
may might shall should i me my we us our you your he him his she her it its they them their this that these those what which
who whom whose when where why how not no yes any some there here if then than so too very about into out up down only
ka ki ke ko se me mein main par pe hai hain tha thi the ho hoga hogi kya kab kahan kaise kaun kyun aur ya bhi hi to toh na nahi
ji wo woh ye yeh is us un in unka uska iska mera meri mere aap aapka tum hum
का की के को से में पर है हैं था थी थे हो होगा होगी क्या कब कहाँ कहां कैसे कौन क्यों और या भी ही तो ना नहीं जी वो वह ये यह इस उस उन इन
"""
"""Words of a query that find nothing by themselves."""

ALIKE: Final = """
wife patni biwi पत्नी बीवी spouse
husband pati shauhar पति
mother maa mummy माँ मां
father papa pitaji पिता पापा
brother bhai भाई
sister behen bahan बहन
son beta बेटा
daughter beti बेटी
family parivar परिवार household
salary tankhwah vetan वेतन तनख्वाह सैलरी income
pay payment paid bhugtan भुगतान
job naukri नौकरी employment work kaam काम
call phone फोन कॉल ring
time samay waqt समय वक्त
morning subah सुबह
evening shaam शाम
night raat रात
afternoon dopahar दोपहर
day din दिन
date tareekh तारीख
month mahina महीना
week hafta हफ्ता
today aaj आज
tomorrow kal कल
money paisa paise पैसा पैसे
loan karz udhaar कर्ज कर्ज़ लोन
instalment installment emi kist किस्त ईएमआई
hospital aspatal अस्पताल
illness sick ill bimar beemar बीमार medical
house ghar घर home
shop dukaan दुकान
farm kheti खेती crop fasal फसल
marriage wedding shaadi शादी
fees fee फीस
school स्कूल
complaint shikayat शिकायत
refund return wapas वापस
language bhasha भाषा
hindi हिंदी हिन्दी
english angrezi अंग्रेजी
marathi मराठी
tamil तमिल
whatsapp व्हाट्सएप chat message
cash nakad नकद
bank बैंक
delay late der देर
"""
"""Each line: words of three languages that a borrower's memory uses for one thing."""


@cache
def _little_words() -> frozenset[str]:
    return frozenset(keys.exact for keys in keys_of(LITTLE))


@cache
def _meanings() -> Mapping[str, tuple[Keys, ...]]:
    found: dict[str, tuple[Keys, ...]] = {}
    for line in ALIKE.strip().splitlines():
        group = tuple(keys_of(line))
        for keys in group:
            found[keys.exact] = (*found.get(keys.exact, ()), *(other for other in group if other != keys))
    return found
