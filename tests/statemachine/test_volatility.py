"""Volatility: the table of API 3, row by row, and what is in no table."""

import itertools
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from statemachine import volatility
from statemachine.volatility import (
    FACT_KINDS,
    TOOLS,
    WRITERS,
    FactKind,
    Kind,
    Tool,
    Volatility,
    Writer,
    tool_volatility,
    turn_volatility,
    volatility_of,
    worst,
)

OF_API_3 = {
    "preferred_contact_time preferred_channel preferred_language income_day employment household": (
        FactKind(Volatility.STABLE, 180, True)
    ),
    "goal": FactKind(Volatility.STABLE, 90, True),
    "reason_for_delay request complaint": FactKind(Volatility.EVENT, 180, True),
    "payment_method payer mandate settlement_request allocation": FactKind(Volatility.STABLE, None, False),
    "balance amount_pending days_past_due outstanding_step offer": FactKind(Volatility.LIVE, 0, False),
}


def test_the_table_is_the_one_of_the_contract() -> None:
    told = {kind: row for kinds, row in OF_API_3.items() for kind in kinds.split()}
    assert dict(FACT_KINDS) == told
    assert set(FACT_KINDS) == set(Kind)


@pytest.mark.parametrize("kind", ["", "note", "Balance", "preferred_colour", "balance "])
def test_an_unknown_kind_is_live(kind: str) -> None:
    assert volatility_of(kind) is Volatility.LIVE


def test_no_kind_that_a_model_may_teach_is_live() -> None:
    assert not [kind for kind, row in FACT_KINDS.items() if row.inferred_allowed and row.volatility is Volatility.LIVE]


def test_an_unknown_tool_is_live() -> None:
    assert tool_volatility("get_dues") is Volatility.LIVE


def test_a_known_tool_answers_with_its_row() -> None:
    assert {name: tool_volatility(name) for name in TOOLS} == dict(TOOLS)


def test_the_worst_spoils_the_rest_in_any_order() -> None:
    live, event, stable = Volatility.LIVE, Volatility.EVENT, Volatility.STABLE
    for some in itertools.permutations((live, event, stable)):
        assert worst(some) is live
    assert worst([stable, event, stable]) is event
    assert worst([stable]) is stable


def test_without_provenance_nothing_is_known() -> None:
    assert worst([]) is Volatility.LIVE


# -- exhaustive -----------------------------------------------------------------------------------------------------------


def test_every_name_has_a_row_and_every_row_a_name() -> None:
    for names, table in ((Kind, FACT_KINDS), (Tool, TOOLS), (Writer, WRITERS)):
        assert {str(name) for name in names} == {str(row) for row in table}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "row", [f"{names.__name__}.{name.name}" for names in (Kind, Tool, Writer) for name in list(names)[::5]]  # type: ignore[attr-defined]
)  # fmt: skip
def test_a_missing_row_fails_at_import(row: str) -> None:
    source = Path(volatility.__file__).read_text()
    without = re.sub(rf"^ +{re.escape(row)}: .*\n", "", source, count=1, flags=re.MULTILINE)
    assert without != source
    module = ModuleType("volatility_without_a_row")
    sys.modules[module.__name__] = module  # where dataclasses look for their module
    try:
        with pytest.raises(RuntimeError, match=row.partition(".")[0]):
            exec(compile(without, "volatility.py", "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((), "live"),
        (("post_event",), "event"),
        (("post_event", "post_summary"), "event"),
        (("post_event", "get_dues"), "live"),
        (("get_flags", "post_event"), "live"),
    ],
)
def test_a_turn_has_the_worst_of_its_tools(tools: tuple[str, ...], expected: str) -> None:
    assert turn_volatility(tools) == expected
