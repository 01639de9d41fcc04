"""A message that is by itself a stop, or a start again: in any writing, on any channel in text (DESIGN 5, VENDORS D.5).

Theory of operation. A stop counts only when it is all that was written, so that "stop calling my brother" stays a sentence for
people to read. Courtesy around it is not counted ("please", "ji", "thanks"), nor that a word is said twice. What is left is one
of the phrases that people and providers use for it, or is put together of nothing but

    a word for ending (stop, band karo, मत भेजो), and words for messages and whom they are sent to

A wrong stop costs a channel until somebody opts in again; a stop that is not seen writes to somebody who said no. So a phrase
that people also use of payments, calls or visits is none: "cancel", "end", "band karo ye loan". Data and one function.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

Wish = tuple[Literal["stop", "start"], Literal["collections", "marketing"]]

LONGEST_CHARACTERS: Final = 80

STOPS: Final = frozenset(
    {
        # English, with the words of providers
        "stop", "stopall", "stop all", "stop it", "stop this", "stop now", "unsubscribe", "unsubscribe me", "opt out",
        "optout", "opt me out",
        "quit", "revoke", "remove me", "remove my number", "remove me from list", "remove me from your list",
        "remove me from this list", "take me off your list", "take me off this list", "leave me alone", "no messages",
        # Hindi in Latin script and in its own
        "band karo", "band kar do", "band kardo", "band karen", "band karein", "band kijiye", "bandh karo", "bandh kar do",
        "bund karo", "mat bhejo", "mat bhejna", "mat bhejiye",
        "बंद करो", "बंद कर दो", "बंद करें", "बंद करे", "बंद कीजिए", "बंद करिए", "बन्द करो", "बन्द करें", "मत भेजो", "मत भेजें",
        "मत भेजिए", "रोकें", "स्टॉप", "स्टाप",
        # the others of India
        "थांबवा", "बंद करा", "বন্ধ করুন", "বন্ধ করো", "বন্ধ কৰক", "બંધ કરો", "ਬੰਦ ਕਰੋ", "ବନ୍ଦ କରନ୍ତୁ", "நிறுத்து", "நிறுத்தவும்",
        "நிறுத்துங்கள்", "ఆపు", "ఆపండి", "ನಿಲ್ಲಿಸಿ", "ನಿಲ್ಲಿಸು", "നിർത്തുക", "നിർത്തൂ", "بند کرو", "بند کریں", "بند کر دیں",
    }
)  # fmt: skip
STARTS: Final = frozenset({"start", "unstop", "subscribe", "opt in", "optin", "शुरू करो", "शुरू करें", "shuru karo"})
MARKETING: Final = {"stop promotions": "stop", "stop marketing": "stop", "resume promotions": "start"}
"""Of marketing alone: no cease (DESIGN 5)."""

COURTESY: Final = frozenset(
    "please pls plz plss kindly kripya kripaya कृपया प्लीज़ प्लीज ji जी bhai भाई sir madam maam mam ok okay again ever "
    "thanks thankyou hello hi और bas बस".split()
) | {"thank you"}
_ENDINGS: Final = (
    "i dont want", "i do not want", "stop", "quit", "dont want", "do not want", "dont", "do not", "never", "no more",
    "nahi chahiye", "nahin chahiye", "नहीं चाहिए", "na karo", "na kare", "na karen", "na kijiye", "na bhejo",
    "na bheje", "na bhejen", "na bhejiye", "ना करें", "ना भेजें", "न करें", "न भेजें", "mat kiya karo",
    "mat bheja karo", "mat bheje", "mat bhejen", "band kar dijiye", "band kar dein", "band karo", "band kar do",
    "band kardo", "band karen", "band karein", "band kijiye", "bandh karo", "bandh kar do", "bund karo", "mat bhejo",
    "mat bhejna", "mat bhejiye", "mat karo", "mat kijiye", "mat karna", "mat kariye", "बंद करो", "बंद कर दो",
    "बंद करें", "बंद कीजिए", "बंद करिए", "बन्द करो", "मत भेजो", "मत भेजें", "मत भेजिए", "मत करो", "मत करें",
    "मत कीजिए",
)  # fmt: skip
_MESSAGES: Final = frozenset(
    "message messages messaging msg msgs msges sms text texts texting contact contacting whatsapp मैसेज मेसेज मैसेजेस संदेश सन्देश "
    "एसएमएस एस एम एस व्हाट्सएप".split()
)
_BESIDE: Final = frozenset(
    "me us my to on this these the that your any all more such send sending from you aap bhejna karna mujhe mujhko hume "
    "humein hamein ko ye yeh sab sabhi aise par pe मुझे मुझको हमें को ये यह सब सभी ऐसे पर आप भेजना करना".split()
)
_NOT_A_WORD: Final = re.compile(r"[^\w\s]|_")


def asked(text: str | None) -> Wish | None:
    """Whether a whole message is a stop, or a start again, and of what."""
    if not text or len(text) > LONGEST_CHARACTERS:
        return None
    told = _plain(folded(text))
    if told in MARKETING:
        return ("stop" if MARKETING[told] == "stop" else "start"), "marketing"
    if told in STOPS or ("?" not in text and _is_put_together(told)):
        return "stop", "collections"
    return ("start", "collections") if told in STARTS else None


def folded(text: str) -> str:
    """Its words in small letters, without signs; vowel signs are kept."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = plain.replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "")
    marks = "".join(
        sign if unicodedata.category(sign).startswith("M") else _NOT_A_WORD.sub(" ", sign) for sign in plain
    )
    return " ".join(marks.split())


def _plain(told: str) -> str:
    """Without courtesy at its ends, and each word once where it is said twice. "S T O P" is a word."""
    words = told.split()
    if len(words) > 2 and all(len(word) == 1 and word.isalpha() for word in words):
        return "".join(words)
    while words and (words[0] in COURTESY or " ".join(words[:2]) in COURTESY):
        words = words[1:] if words[0] in COURTESY else words[2:]
    while words and (words[-1] in COURTESY or " ".join(words[-2:]) in COURTESY):
        words = words[:-1] if words[-1] in COURTESY else words[:-2]
    if words and len(set(words)) == 1:
        words = words[:1]
    return " ".join(words)


def _is_put_together(told: str) -> bool:
    """A word for ending, a word for messages, and nothing else but whom they are sent to."""
    for ending in _ENDINGS:
        if f" {ending} " in f" {told} ":
            rest = set(f" {told} ".replace(f" {ending} ", " ", 1).split())
            if rest & _MESSAGES and rest <= _MESSAGES | _BESIDE | COURTESY:
                return True
    return False
