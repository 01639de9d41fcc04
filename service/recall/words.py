"""What a text is looked for by: its folded words, their stems, and how they sound; in English, Hinglish and Devanagari.

Folding is that of `statemachine.words`: case, punctuation and Unicode form are ignored, vowel signs are kept, so that "दिन" (day)
and "दान" (gift) stay two words. Beside its folded form each word has a *sound*, coarser, by which "tareekh", "tarikh" and "तारीख"
meet; who ranks gives it less weight. Which texts there are, this file must not know.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from statemachine.words import words_of

WORD_CHARACTERS: Final = 64
"""Of a longer word only its beginning is looked for."""
CACHED_WORDS: Final = 8_192
SHORTEST_STEM: Final = 3
SHORTEST_SOUND: Final = 3
SHORTEST_SPELT: Final = 4
"""A word of fewer consonants sounds like another only with its vowels: "zyada" and "jyada", but not "call" and "kal"."""


class Keys(NamedTuple):
    """By what one word is found: `exact` its stem, `sound` how it sounds, null when that says too little."""

    exact: str
    sound: str | None


def keys_of(text: str) -> Iterator[Keys]:
    """Of each word of a text, in their order."""
    return (_keys(word[:WORD_CHARACTERS]) for word in words_of(text))


@lru_cache(maxsize=CACHED_WORDS)
def _keys(word: str) -> Keys:
    exact = _stem(_without_accents(word))
    return Keys(exact, _sound(_romanised(exact)) or None)


_LATIN_MARK: Final = range(0x0300, 0x0370)


def _without_accents(word: str) -> str:
    """Latin letters without their accents; the signs of Indian scripts, which are vowels, stay."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in apart if ord(c) not in _LATIN_MARK))


_ENDINGS: Final = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))


def _stem(word: str) -> str:
    """An English word without its ending. One word in Hinglish may lose a letter by it, on both sides of a comparison."""
    if not word.isascii() or not word.isalpha():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM and not word.endswith("ss"):
            stem = word[: -len(ending)] + instead
            if len(stem) > SHORTEST_STEM and (stem.endswith("e") or _is_doubled(stem)):
                return stem[:-1]
            return stem
    return word[:-1] if word.endswith("e") and len(word) > SHORTEST_STEM else word


def _is_doubled(stem: str) -> bool:
    """As "preferr" is of "preferred"; "call" and "press" are not."""
    return stem[-1] == stem[-2] and stem[-1] not in "aeioulsz"


# -- how it sounds ------------------------------------------------------------------------------------------------------

_CONSONANTS: Final = {
    **dict(zip("कखगघङचछजझञटठडढणतथदधनपफबभमयरलवशषसहळ", (
        "k", "kh", "g", "gh", "n", "ch", "chh", "j", "jh", "n", "t", "th", "d", "dh", "n", "t", "th", "d", "dh", "n",
        "p", "ph", "b", "bh", "m", "y", "r", "l", "v", "sh", "sh", "s", "h", "l",
    ), strict=True)),
}  # fmt: skip
_VOWELS: Final = dict(
    zip(
        "अआइईउऊऋएऐओऔऑऍ",
        ("a", "a", "i", "i", "u", "u", "ri", "e", "ai", "o", "au", "o", "e"),
        strict=True,
    )
)
_SIGNS: Final = dict(zip("ािीुूृेैोौॉॅ", ("a", "i", "i", "u", "u", "ri", "e", "ai", "o", "au", "o", "e"), strict=True))
_VIRAMA: Final = "्"
_NUKTA: Final = "़"
_NASALS: Final = frozenset("ंँ")


def _romanised(word: str) -> str:
    """Devanagari in Latin letters, its unwritten vowel where one is spoken; other words as they are."""
    if word.isascii():
        return word
    told: list[str] = []
    open_vowel = False
    for character in unicodedata.normalize("NFD", word):
        if character in _CONSONANTS:
            told.append(("a" if open_vowel else "") + _CONSONANTS[character])
            open_vowel = True
        elif character in _SIGNS:
            told.append(_SIGNS[character])
            open_vowel = False
        elif character == _VIRAMA:
            open_vowel = False
        elif character == _NUKTA:
            continue
        else:
            told.append("a" if open_vowel else "")
            told.append("n" if character in _NASALS else _VOWELS.get(character, character))
            open_vowel = False
    return "".join(told)


_SPELLINGS: Final = (
    (re.compile("ee|ea|ie|ii|y"), "i"),
    (re.compile("oo|ou|uu"), "u"),
    (re.compile("w"), "v"),
    (re.compile("ph"), "f"),
    (re.compile("kh|q|c(?!h)"), "k"),
    (re.compile("gh"), "g"),
    (re.compile("th"), "t"),
    (re.compile("dh"), "d"),
    (re.compile("bh"), "b"),
    (re.compile("z"), "j"),
    (re.compile("sh"), "s"),
    (re.compile("x"), "ks"),
)
_INNER_VOWELS: Final = re.compile("(?<=.)[aeiouh]+")
_TWICE: Final = re.compile(r"(.)\1+")


def _sound(word: str) -> str:
    """Its consonants in one spelling, and the vowel that it begins with; blank where that says too little."""
    if not word.isascii() or not word.isalpha():
        return word if len(word) >= SHORTEST_SOUND and not word.isascii() else ""
    for spelt, alike in _SPELLINGS:
        word = spelt.sub(alike, word)
    spelt_alike = _TWICE.sub(r"\1", word)
    consonants = _TWICE.sub(r"\1", _INNER_VOWELS.sub("", word))
    if len(consonants) >= SHORTEST_SOUND:
        return consonants
    return spelt_alike if len(spelt_alike) >= SHORTEST_SPELT else ""
