"""Words that were forgotten, taken out of the elements that hold them (DESIGN 11, "Forgetting").

A tombstone has no words, only keyed hashes of folded ones. An element up to the tombstone's time that holds such words
loses the text they stand in; it keeps its place: its key and its keyed hash. A reason that is a code decides something
and is no text. Cleaning twice is cleaning once, and the order of tombstones does not matter, so a record is the same
whenever the request arrived. Money, flags, holds and stops stay.

Once everything was forgotten a record names identifiers by their keyed hash alone, those too that are told later: what binds
one still binds it, and each is one, whenever it was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from statemachine.elements import (
    WRONG_BORROWER,
    CallbackSaid,
    ClaimSaid,
    CommitmentSaid,
    ConversationBegun,
    ConversationTold,
    FactSaid,
    FactStatedOnce,
    HoldSet,
    IdentifierFact,
    PromiseWithdrawn,
    ProseTold,
    TextJudged,
)
from statemachine.grounding import folded
from statemachine.record import Bucket, Hasher, Record, Tombstone
from statemachine.screening.sentences import sentences_of

TEXTS: dict[type, tuple[str, ...]] = {
    CommitmentSaid: ("quote", "terms_said"),
    ConversationTold: ("agent", "disposition", "third_party"),
    HoldSet: ("reason",),
    IdentifierFact: ("reason",),
    PromiseWithdrawn: ("reason",),
    TextJudged: ("by", "sentence", "why"),
}
"""Where elements hold free text that may simply be absent."""
LABELS: dict[type, tuple[str, ...]] = {
    ConversationBegun: ("entered_state", "resume_id"),
    ConversationTold: ("entered_state", "language", "reached", "resume_id"),
    IdentifierFact: ("method",),
}
"""Where they hold what is a code as a rule, though nobody checks it: it stays while it is one and names no forgotten term."""
BORROWER = "borrower"
TERM_WORDS = 12
"""A forgotten term has at most so many words."""


def term_of(text: str, hasher: Hasher) -> tuple[int, str]:
    """A term as a tombstone holds it: how many folded words, and their keyed hash."""
    words = folded(text).split()[:TERM_WORDS]
    return len(words), hasher(" ".join(words))


def mentions(text: str, words: Sequence[tuple[int, str]], hasher: Hasher) -> bool:
    """Whether a text holds one of these terms, at word boundaries, folded."""
    if not words:
        return False
    spoken = folded(text).split()
    wanted: dict[int, set[str]] = {}
    for length, digest in words:
        wanted.setdefault(length, set()).add(digest)
    return any(
        hasher(" ".join(spoken[start : start + length])) in digests
        for length, digests in wanted.items()
        if length
        for start in range(len(spoken) - length + 1)
    )


_ENDED = re.compile(r"[.!?।…][\"'”’)\]»]*$")
_BULLET = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)])\s")


def without_mentions(text: str, words: Sequence[tuple[int, str]], hasher: Hasher) -> str:
    """Prose without the sentences in which one of these terms stands.

    Each sentence is judged by itself, and where it ends is told by its own signs: so terms may be taken out one by one or
    together, in any order. A name goes on behind "Smt." and into the next line; an item of a list does not.
    """
    if not mentions(text, words, hasher):
        return text
    told = _sentences(text)
    left = [part for part in told if not mentions(part, words, hasher)]
    return "".join(left).strip() if len(left) < len(told) else text


def _sentences(text: str) -> list[str]:
    """The sentences of a text, each with the blanks behind it; a line that no sign ends is one with the next, unless it is an
    item of a list."""
    found: list[str] = []
    goes_on = False
    for one in sentences_of(text):
        if goes_on:
            found[-1] += one.text + one.gap
        else:
            found.append(one.text + one.gap)
        is_line = one.gap.count("\n") == 1 and _ENDED.search(one.text) is None
        goes_on = is_line and _BULLET.match(found[-1]) is None
    return found


def cleaned(element: Any, tombstones: Sequence[Tombstone], hasher: Hasher) -> Any:
    """The element without forgotten words; the same object when it has none."""
    hidden = _hidden_names(element, hasher) if any(t.everything for t in tombstones) else {}
    changes = hidden | _words_gone(element, tombstones, hasher)
    return element.changed(**changes) if changes else element


def _words_gone(element: Any, tombstones: Sequence[Tombstone], hasher: Hasher) -> dict[str, Any]:
    due = [t for t in tombstones if element.at <= t.at]
    if not due:
        return {}
    everything = any(t.everything for t in due)
    words = [w for t in due for w in t.words]

    def named(text: str | None) -> bool:
        return text is not None and text not in ("", WRONG_BORROWER) and mentions(text, words, hasher)

    def forgotten(text: str | None) -> bool:
        return named(text) or (everything and text is not None and text not in ("", WRONG_BORROWER))

    changes: dict[str, Any] = {f: None for f in TEXTS.get(type(element), ()) if forgotten(getattr(element, f))}
    for f in LABELS.get(type(element), ()):
        label = getattr(element, f)
        if named(label) or (everything and label is not None and not is_code(label)):
            changes[f] = None
    match element:
        case ProseTold() if element.text and (everything or any(t.prose for t in due)):
            changes["text"] = ""
        case ProseTold() if (left := without_mentions(element.text, words, hasher)) != element.text:
            changes["text"] = left
        case TextJudged() if element.sentence and any(t.prose for t in due):
            changes["sentence"] = None
        case FactStatedOnce() if _fact_forgotten(element.fact, forgotten):
            changes["fact"] = element.fact.changed(text="", quote=None, fact_id="")
        case ConversationTold():
            changes |= _conversation(element, forgotten)
    return changes


def _hidden_names(element: Any, hasher: Hasher) -> dict[str, Any]:
    names = ("through", "identifier") if isinstance(element, IdentifierFact) else ("through",)
    told = {name: getattr(element, name) for name in names}
    return {name: new for name, old in told.items() if old is not None and (new := hidden(old, hasher)) != old}


HIDDEN_DIGITS = 16
_HIDDEN = re.compile(rf"~[0-9a-f]{{{HIDDEN_DIGITS}}}", re.ASCII)


def hidden(identifier: str, hasher: Hasher) -> str:
    """An identifier (`kind:value`) by its keyed hash: `kind:~` and hex digits. What is hidden stays as it is, and so does the
    `*` that stands for all of them."""
    kind, colon, value = identifier.partition(":")
    if not colon or _HIDDEN.fullmatch(value):
        return identifier
    return f"{kind}:~{hasher(identifier)[:HIDDEN_DIGITS]}"


_CODE = re.compile(r"[a-z0-9_.:-]{1,64}|[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*|r_[A-Za-z0-9_-]{1,64}", re.ASCII)


def is_code(text: str) -> bool:
    """Whether a label looks like what it should be: a state, a method, a language, an id of ours; no words of anybody."""
    return _CODE.fullmatch(text) is not None


def cleaned_record(record: Record, tombstones: Sequence[Tombstone], hasher: Hasher) -> Record:
    """Each element of a record as `cleaned`; the same record when none has forgotten words."""
    buckets = [cleaned_bucket(bucket, tombstones, hasher) for bucket in record.buckets]
    same = all(new is old for new, old in zip(buckets, record.buckets, strict=True))
    return record if same else record.changed(buckets=tuple(sorted(buckets, key=lambda bucket: bucket.name)))


OF_IDENTIFIERS = frozenset({"identifiers", "wrong_borrower"})
"""Kinds of buckets that are named by an identifier."""


def cleaned_bucket(bucket: Bucket, tombstones: Sequence[Tombstone], hasher: Hasher) -> Bucket:
    elements = tuple(cleaned(e, tombstones, hasher) for e in bucket.elements)
    name = bucket.name
    if name[0] in OF_IDENTIFIERS and any(t.everything for t in tombstones):
        name = (name[0], hidden(name[1], hasher))
    same = name == bucket.name and all(new is old for new, old in zip(elements, bucket.elements, strict=True))
    return bucket if same else Bucket(name=name, elements=elements, let_go=bucket.let_go)


def _fact_forgotten(fact: FactSaid, forgotten: Callable[[str | None], bool]) -> bool:
    about = None if fact.about == BORROWER else fact.about
    return forgotten(fact.text) or forgotten(fact.quote) or forgotten(about)


def _conversation(element: ConversationTold, forgotten: Callable[[str | None], bool]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if any(_fact_forgotten(f, forgotten) for f in element.facts):
        changes["facts"] = tuple(f for f in element.facts if not _fact_forgotten(f, forgotten))
    for name in ("claim", "callback"):
        said: ClaimSaid | CallbackSaid | None = getattr(element, name)
        if said and (gone := {f: None for f in ("quote", "said") if forgotten(getattr(said, f))}):
            changes[name] = said.changed(**gone)
    return changes
