"""How words are compared: one Unicode form, one case, marks apart from words, phrases of several words."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

MARKS = frozenset('.,;:?!"')
CACHED_CHARACTERS = 400
CACHED_TEXTS = 1_024
NORMAL_PASSES = 4
GROUPS_IN_A_NUMBER = 6

_MARK_OF = {
    **dict.fromkeys("।॥\n\r\u2028\u2029", "."),
    **dict.fromkeys("()[]{}|", ","),
    **dict.fromkeys("—―", ";"),
    **dict.fromkeys("–−‐‑‒", "-"),
    **dict.fromkeys("“”„«»", '"'),
    "=": ":",
    "%": " percent ",
}
_APOSTROPHES = "'‘’‛ʼ`´ʹ\u2032"
_APOSTROPHES_IN_ASCII = frozenset("'`")
# Joiners and variation selectors change how a letter is drawn, never which word it is.
_DRAWING_ONLY = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x034F, 0x0350), range(0x180B, 0x1810))
_KEPT_AS_THEY_ARE = MARKS | frozenset("-/")


class _Characters(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = became = _becomes(chr(code))
        return became


def _becomes(character: str) -> str:
    if character in _KEPT_AS_THEY_ARE:
        return character
    if character in _APOSTROPHES or any(ord(character) in codes for codes in _DRAWING_ONLY):
        return ""
    if character in _MARK_OF:
        return _MARK_OF[character]
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if category[0] in "LN" or category in ("Mn", "Mc"):
        return character
    return "" if category in ("Cf", "Me") else " "


_BECOMES = _Characters()
_GROUPED = re.compile(rf"(?<!\d)(?<!\d[.,])\d{{1,3}}(?:,\d{{2,3}}){{0,{GROUPS_IN_A_NUMBER}}},\d{{3}}(?![\d,]\d)(?!\d)")
# "Martha's" is Martha and an s, or else a forgotten Martha would stay in it; "don't" is one word.
_POSSESSIVE = re.compile(rf"[{_APOSTROPHES}](?=s(?!\w))")
_CLOCK_COLON = re.compile(r"(?<=\d):(?=\d)")
_SPACED_DASH = re.compile(r"(?<=\s)-+(?=\s)")
_ABBREVIATED = re.compile(r"(?<![^\s.,;:?!\"])(rs|mr|mrs|ms|dr|approx|amt|a/c|inr|st)\.")
_TOKEN = re.compile(r'(?:[^\s.,;:?!"]|(?<=\d)\.(?=\d))+|[.,;:?!"]')


def plain(text: str) -> str:
    """The text in one Unicode form and case, digits in ASCII and ungrouped, apostrophes and drawing marks gone.

    Vowel signs stay. Of the punctuation only `. , ; : ? ! " - /` are left, each standing for its kind.
    """
    if text.isascii():  # its one pass leaves nothing for another to do
        told = text.lower()
        if not _APOSTROPHES_IN_ASCII.isdisjoint(told):
            told = _POSSESSIVE.sub(" ", told)
        told = told.translate(_BECOMES)
    else:
        told = text
        for _ in range(NORMAL_PASSES):
            before = told
            told = _POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", told).casefold()).translate(_BECOMES)
            if told == before:
                break
    if "," in told:
        told = _GROUPED.sub(_ungrouped, told)
    if ":" in told:
        told = _CLOCK_COLON.sub(" ", told)
    return _ABBREVIATED.sub(r"\1 ", told) if "." in told else told


def _ungrouped(grouped: re.Match[str]) -> str:
    return grouped[0].replace(",", "")


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text and the marks between them (`MARKS`), in order. A spaced dash is a `;`."""
    return _tokens_cached(text) if len(text) <= CACHED_CHARACTERS else _tokens(text)


def split_plain(told: str) -> tuple[str, ...]:
    """`tokens` of a text that `plain` already returned."""
    if "-" in told:
        told = _SPACED_DASH.sub(";", told).replace("-", " ")
    return tuple(_TOKEN.findall(told.replace("/", " ")))


def _tokens(text: str) -> tuple[str, ...]:
    return split_plain(plain(text))


_tokens_cached = lru_cache(maxsize=CACHED_TEXTS)(_tokens)


def words_of(text: str) -> tuple[str, ...]:
    """The words alone."""
    return _words_cached(text) if len(text) <= CACHED_CHARACTERS else _words_of(text)


def _words_of(text: str) -> tuple[str, ...]:
    return tuple([token for token in tokens(text) if token not in MARKS])


_words_cached = lru_cache(maxsize=CACHED_TEXTS)(_words_of)


def folded(text: str) -> str:
    """The text as it is compared: case, spacing, punctuation and Unicode form ignored, vowel signs kept (DESIGN 11).

    "5,000" and "5000" fold equal, so do composed and decomposed letters. Folding twice changes nothing.
    """
    return " ".join(words_of(text))


_NOWHERE: frozenset[int] = frozenset()


class Phrases:
    """A set of phrases of one or more words, looked for in a sequence of words."""

    def __init__(self, phrases: str) -> None:
        """`phrases`: separated by commas."""
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for phrase in phrases.split(","):
            told = words_of(phrase)
            by_first.setdefault(told[0], []).append(told)
        self._by_first = {first: sorted(group, key=len, reverse=True) for first, group in by_first.items()}

    @property
    def keywords(self) -> frozenset[str]:
        """Of each phrase its longest word: where none of them stands, no phrase does."""
        return frozenset(max(phrase, key=len) for group in self._by_first.values() for phrase in group)

    def at(self, words: Sequence[str], index: int) -> int:
        """How many words from `index` on are the longest phrase that begins there; 0: none does."""
        for phrase in self._by_first.get(words[index], ()):
            if tuple(words[index : index + len(phrase)]) == phrase:
                return len(phrase)
        return 0

    def in_(self, words: Sequence[str]) -> bool:
        """Whether any phrase stands among the words."""
        if self._by_first.keys().isdisjoint(words):  # so it is nearly always
            return False
        return any(self.at(words, index) for index in range(len(words)))

    def places(self, words: Sequence[str]) -> frozenset[int]:
        """The indices of all words that belong to a phrase."""
        if self._by_first.keys().isdisjoint(words):
            return _NOWHERE
        return frozenset(place for index in range(len(words)) for place in range(index, index + self.at(words, index)))


def word_set(group: str) -> frozenset[str]:
    return frozenset(words_of(group))
