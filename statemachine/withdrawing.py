"""Promises without words that whoever said them took back: a message that was edited or revoked after it was reported.

No summary lowers a rung (DESIGN 3, law 4), so what was promised stands where it stood, with its terms, its time and what became
of it; its words are told by nobody any more, whether it is in force, kept, broken or replaced. That they were taken back is
evidence too: a later report of the conversation names the earlier ones. Where evidence of that was let go, nobody knows of which
words it was, and every promise of its channel up to then is told without them.

What else a report said (prose, facts, a claim, an appointment) goes by itself: the conversation's highest revision alone
tells it. Why words were taken back is not known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from statemachine.bucket_names import WITHDRAWN_WORDS
from statemachine.elements import CommitmentSaid, WordsWithdrawn
from statemachine.record import Record


def without_words(
    commitments: Sequence[CommitmentSaid], withdrawals: Iterable[WordsWithdrawn], record: Record
) -> list[CommitmentSaid]:
    """The commitments, those of reports of which words were taken back without theirs. Nothing is left by which they could be
    checked."""
    reports: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in withdrawals:
        reports[one.channel, one.conversation_id].update(one.reports)
    unknown_until = {b.name[1]: b.let_go[0] for b in record.buckets if b.name[0] == WITHDRAWN_WORDS and b.let_go}

    def is_withdrawn(said: CommitmentSaid) -> bool:
        if said.event_id in reports.get((said.channel, said.conversation_id), ()):
            return True
        return said.channel in unknown_until and said.at <= unknown_until[said.channel]

    return [
        said.changed(grounding="unchecked", quote=None, terms_said=None) if is_withdrawn(said) else said
        for said in commitments
    ]
