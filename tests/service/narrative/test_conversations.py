"""Which conversations are told in their own words, and which by a line alone."""

from __future__ import annotations

from service.narrative.conversations import conversations_in_words
from tests.service.narrative.histories import state_of, told


def test_each_channels_last_and_its_last_with_the_borrower_are_told_in_words() -> None:
    history = (
        told("c-1", "She asked for time.", hours=-9),
        told("c-2", "She will see.", hours=-8),
        told("c-3", "Her brother answered.", hours=-7, outcome="third_party", third_party="brother"),
        told("w-1", "She sent a greeting.", hours=-6, channel="whatsapp"),
        told("w-2", hours=-5, channel="whatsapp"),
    )
    state, cycle, _ = state_of(history)
    lines = {c.conversation_id: line for c, line, _ in conversations_in_words(state, cycle, listed=9)}
    assert list(lines) == ["c-1", "c-2", "c-3", "w-1", "w-2"], "each has a line, in the order in which they ended"
    prose = {entry.body.conversation_id: entry.body.summary for entry in history}  # type: ignore[union-attr]
    in_words = {name for name, line in lines.items() if prose[name] and prose[name] in line}
    assert in_words == {"c-2", "c-3", "w-1"}
    assert [c.conversation_id for c, *_ in conversations_in_words(state, cycle, listed=2)] == ["w-1", "w-2"]
