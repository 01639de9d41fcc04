"""The words that templates use are those that they are given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from channels import CHANNELS
from service import narrative as module
from service.narrative.wording import STEP, WORDS, templates
from statemachine.wire import OUTCOMES


@pytest.mark.parametrize(("template", "table"), [("narrative", "WORDS"), ("previous_step", "STEP")])
def test_the_words_a_template_offers_are_those_that_are_used(template: str, table: str) -> None:
    source = "".join(file.read_text() for file in Path(module.__file__).parent.glob("*.py"))
    words = (module.TEMPLATES / f"{template}.txt.j2").read_text()
    macros = set(re.findall(r"macro (\w+)\(", words))
    within = set(re.findall(r"\b(\w+)\(", re.sub(r"macro \w+\(", "", words)))
    used = set(re.findall(rf'\b{table}\["(\w+)"\]', source))
    if table == "WORDS":
        used |= {"received", "uncounted", "reversed", "unplaced"}
    assert used <= macros
    assert macros <= used | within


def test_every_channel_and_outcome_has_its_words() -> None:
    for words in (WORDS, STEP):
        assert words["ON"].keys() >= {*CHANNELS, "all"}  # type: ignore[attr-defined]
    assert WORDS["CHANNEL"].keys() == CHANNELS.keys()  # type: ignore[attr-defined]
    assert STEP["MET"].keys() == CHANNELS.keys()  # type: ignore[attr-defined]
    assert WORDS["ATTEMPT"].keys() == set(OUTCOMES)  # type: ignore[attr-defined]
    assert WORDS["OUTCOME"].keys() | {"third_party"} == set(OUTCOMES)  # type: ignore[attr-defined]


def test_a_name_that_nobody_gives_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        templates().from_string("{{ nobody }}").render()
