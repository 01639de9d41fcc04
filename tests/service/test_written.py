"""Text that knows who wrote it: put together, put into templates, and never without a writer (DESIGN 10)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from service.models.asking import Message
from service.written import Piece, Written, rendered, written, written_by
from statemachine.volatility import Writer
from tests.examples import often

WORDS = Environment(trim_blocks=True, lstrip_blocks=True).from_string(
    "{% macro list(name, lines) -%}\nFor {{ name }}:\n{% for line in lines %}\n- {{ line }}\n{% endfor %}\n{%- endmacro %}"
)
LIST = WORDS.module.list  # type: ignore[attr-defined]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=often(80))
@given(TEXT, st.lists(TEXT, max_size=4))
def test_a_template_is_one_writers_and_what_is_put_into_it_another_s(name: str, lines: list[str]) -> None:
    made = rendered(Writer.FRAME, LIST, written(Writer.QUESTION, name), written_by(Writer.REPORT, lines))
    assert made == LIST(name, lines)
    assert made == "".join(piece.text for piece in made.pieces)
    assert [p.text for p in made.pieces if p.writer == Writer.REPORT] == [line for line in lines if line]
    assert "".join(p.text for p in made.pieces if p.writer == Writer.QUESTION) == name
    assert "".join(p.text for p in made.pieces if p.writer == Writer.FRAME) == LIST("", [""] * len(lines))


def test_what_is_put_in_may_itself_be_of_several() -> None:
    inner = Written([Piece(Writer.READING, "14,300"), Piece(Writer.FRAME, " "), Piece(Writer.REPORT, "said")])
    made = rendered(Writer.PROPOSE, LIST, inner, [])
    assert [piece.writer for piece in made.pieces] == ["propose", "reading", "frame", "report", "propose"]


def test_a_plain_text_is_nobodys_and_reaches_no_model() -> None:
    with pytest.raises(TypeError, match="no writer"):
        Message("user", "hello")  # type: ignore[arg-type]
    assert Message("user", written(Writer.QUESTION, "hello")).content == "hello"
