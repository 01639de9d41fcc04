"""An open chat from its lines: any order and any repetition give the same turns; when it is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.chats import VOICE_NOTE, Line, Said, line_of, modality_of, over_at, posted_line, said_in, within
from channels.messages import ChatMessage
from statemachine.entries import ConversationMessage
from tests.examples import often

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUIET = timedelta(minutes=30)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def line(id_: str, text: str = "hello", seconds: float = 0, kind: str = "said", **fields: str) -> Line:
    told = {"provider": "api", "speaker": "borrower", **fields}
    return Line(message_id=id_, kind=kind, text=text, at=at(seconds), **told)  # type: ignore[arg-type]


def texts(*lines: Line) -> list[str]:
    return [said.text for said in said_in(lines)]


ids = st.sampled_from(["m-1", "m-2", "m-3"])
lines_of_a_chat = st.lists(
    st.builds(
        line,
        ids,
        st.sampled_from(["5000", "25 ko", "haan", "nahi"]),
        st.integers(0, 5),
        st.sampled_from(["said", "said", "edit", "revoke"]),
        speaker=st.sampled_from(["borrower", "agent"]),
        replaces=ids,
    ),
    max_size=8,
)


@settings(max_examples=often(150))
@given(lines_of_a_chat, st.data())
def test_any_order_and_repetition_of_lines_gives_the_same_turns(told: list[Line], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(told), max_size=4)) if told else []
    assert said_in(data.draw(st.permutations([*told, *again]))) == said_in(told)


@settings(max_examples=often(100))
@given(lines_of_a_chat)
def test_what_was_revoked_stands_nowhere_and_nothing_stands_twice(told: list[Line]) -> None:
    revoked = {one.replaces for one in told if one.kind == "revoke"}
    never_edited = not any(one.kind == "edit" for one in told)
    turns = said_in(told)
    assert len(turns) <= len({one.message_id for one in told} | {one.replaces for one in told})
    if never_edited:
        standing = {one.message_id for one in told if one.kind == "said"} - revoked
        assert len(turns) == len(standing)


def test_turns_stand_in_the_order_in_which_they_were_written() -> None:
    assert texts(line("m-2", "b", 2), line("m-1", "a", 1), line("m-3", "c", 3)) == ["a", "b", "c"]


def test_an_edit_takes_the_text_and_keeps_the_place() -> None:
    told = [line("m-1", "4000", 1), line("m-2", "ok", 2), line("m-3", "5000", 3, "edit", replaces="m-1")]
    assert texts(*told) == ["5000", "ok"]
    assert texts(*told, line("m-4", "6000", 4, "edit", replaces="m-3")) == ["6000", "ok"], "an edit of the edit"


def test_an_edit_whose_original_never_came_is_told_and_the_other_sides_edit_is_not() -> None:
    assert texts(line("m-3", "5000", 3, "edit", replaces="m-1")) == ["5000"]
    other = line("m-3", "9000", 3, "edit", replaces="m-1", speaker="agent")
    assert texts(line("m-1", "5000", 1), other) == ["5000"]


def test_edits_that_name_each_other_end() -> None:
    told = [line("m-1", "a", 1, "edit", replaces="m-2"), line("m-2", "b", 2, "edit", replaces="m-1")]
    assert texts(*told) == texts(*reversed(told))


def test_a_revocation_that_comes_first_withholds_what_comes_later_and_its_edits() -> None:
    revoked = line("m-9", "", 5, "revoke", replaces="m-1")
    assert texts(revoked, line("m-1", "secret", 1), line("m-2", "more", 2, "edit", replaces="m-1")) == []


def test_one_message_told_twice_with_other_words_is_one_message() -> None:
    told = [line("m-1", "5000", 1), line("m-1", "6000", 2)]
    assert texts(*told) == texts(*reversed(told)) == ["5000"]


def test_a_posted_line_edits_by_what_it_replaces_and_revokes_what_it_names() -> None:
    posted = {"type": "conversation.message", "occurred_at": NOON, "borrower_id": "B-1", "channel": "whatsapp"}
    posted |= {"conversation_id": "c-1", "speaker": "borrower", "event_id": "e", "text": "x"}

    def read(**fields: object) -> Line:
        return posted_line(ConversationMessage.model_validate({**posted, **fields}))

    assert read(message_id="m-1").kind == "said"
    assert (read(message_id="m-2", replaces="m-1").kind, read(message_id="m-2", replaces="m-1").replaces) == (
        "edit",
        "m-1",
    )
    assert (read(message_id="m-1", deleted=True).kind, read(message_id="m-1", deleted=True).replaces) == (
        "revoke",
        "m-1",
    )
    tools = read(message_id="m-1", extra={"tools": ["get_dues"], "observed_at": "2026-11-20T12:00:00+05:30"})
    assert (tools.tools, tools.observed_at) == (("get_dues",), datetime(2026, 11, 20, 6, 30, tzinfo=UTC))
    odd = read(message_id="m-1", extra={"tools": "get_dues", "observed_at": "today"})
    assert (odd.tools, odd.observed_at) == ((), None)


@pytest.mark.parametrize(
    ("kind", "media", "text", "told"),
    [
        ("text", None, " hello ", "hello"),
        ("media", "audio", "", "[a voice note]"),
        ("media", "image", "paid slip", "paid slip"),
        ("media", "location", "", "[location]"),
        ("button", None, "Pay on 25th", "Pay on 25th"),
    ],
)
def test_a_messengers_message_is_a_line(kind: str, media: str | None, text: str, told: str) -> None:
    message = ChatMessage("meta", "whatsapp", "m-1", "borrower", text, NOON, kind=kind, media=media)  # type: ignore[arg-type]
    assert (line_of(message).text, line_of(message).kind) == (told, "said")


@pytest.mark.parametrize(
    ("theirs", "modality"),
    [([VOICE_NOTE], "speech"), ([VOICE_NOTE, VOICE_NOTE], "speech"), ([VOICE_NOTE, "haan"], "text"), ([], "text")],
)
def test_only_a_chat_of_voice_notes_is_speech(theirs: list[str], modality: str) -> None:
    said = [Said("agent", "When?", NOON), *(Said("borrower", text, NOON) for text in theirs)]
    assert modality_of(said) == modality


def test_a_chat_is_over_when_it_ended_or_has_been_quiet() -> None:
    assert over_at(NOON, None, QUIET) == NOON + QUIET
    assert over_at(NOON, at(5), QUIET) == at(5)
    assert over_at(at(10), NOON, QUIET) == at(10), "a last word belongs to it"
    assert over_at(at(120), NOON, QUIET) == at(120) + QUIET, "it goes on"


def test_the_newest_turns_are_kept_within_bounds_and_the_newest_always() -> None:
    told = [Said("borrower", "x" * 10, at(n)) for n in range(6)]
    assert within(told, 4, 1_000) == 2
    assert within(told, 100, 30) == 3
    assert within(told, 100, 1) == 5
    assert within([], 1, 1) == 0
