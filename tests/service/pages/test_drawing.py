"""Every template is given the names that it uses, and uses the names that it is given; and counts, kept as long as they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import fields

import pytest
from jinja2 import meta, nodes

import service.pages.room  # noqa: F401 (brings in every page)
from service.pages.counts import REST_LIMIT_SECONDS, Counts
from service.pages.drawing import ROOM, Page, environment

AROUND = {"frame", "refresh"}
PAGES = sorted(Page.__subclasses__(), key=lambda page: page.template)


def used_in(name: str) -> set[str]:
    """The names that a template, and all that it is made of, takes from outside."""
    environment_ = environment()
    tree = environment_.parse((ROOM / name).read_text())
    found = meta.find_undeclared_variables(tree)
    for other in meta.find_referenced_templates(tree):
        if other is not None:
            found |= used_in(other)
    own = {node.name for node in tree.find_all(nodes.Macro)} | {
        node.target.name for node in tree.body if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name)
    }
    return found - own - {"parts"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.template)
def test_a_template_uses_what_it_is_given_and_nothing_else(page: type[Page]) -> None:
    assert used_in(page.template) - AROUND == {field.name for field in fields(page)}


def test_every_template_is_a_page_or_part_of_one() -> None:
    assert {page.template for page in PAGES} | {"layout.html.j2", "parts.html.j2"} == {
        file.name for file in ROOM.glob("*.j2")
    }


def test_nothing_in_a_template_is_marked_as_safe() -> None:
    for file in ROOM.glob("*.j2"):
        assert "|safe" not in file.read_text().replace(" ", "")
        assert "autoescape" not in file.read_text()


class Watch:
    """A clock that counting moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counting(watch: Watch, seconds: float) -> tuple[Iterator[int], object]:
    made = iter(range(100))

    async def make() -> int:
        watch.now += seconds
        await asyncio.sleep(0)
        return next(made)

    return made, make


async def test_a_count_is_kept_twenty_times_as_long_as_it_took() -> None:
    watch = Watch()
    counts = Counts[int](watch)
    _, make = counting(watch, 0.1)
    assert await counts.of("a", make) == 0  # type: ignore[arg-type]
    watch.now += 1.9
    assert await counts.of("a", make) == 0  # type: ignore[arg-type]
    watch.now += 0.2
    assert await counts.of("a", make) == 1, "a small one is waited for"  # type: ignore[arg-type]
    assert await counts.of("b", make) == 2, "each name has its own"  # type: ignore[arg-type]


async def test_a_large_count_is_made_anew_behind_the_one_that_is_shown() -> None:
    watch = Watch()
    counts = Counts[int](watch)
    _, make = counting(watch, 10)
    assert await counts.of("a", make) == 0  # type: ignore[arg-type]
    watch.now += REST_LIMIT_SECONDS + 1
    assert await counts.of("a", make) == 0  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    assert await counts.of("a", make) == 1  # type: ignore[arg-type]
    watch.now += 1_000
    assert await counts.of("a", make) == 2, "one that is too old is not shown"  # type: ignore[arg-type]


async def test_an_outage_is_told_and_not_hidden_behind_an_old_count() -> None:
    watch = Watch()
    counts = Counts[int](watch)

    async def fails() -> int:
        raise ConnectionError

    _, make = counting(watch, 0.01)
    await counts.of("a", make)  # type: ignore[arg-type]
    watch.now += 100
    with pytest.raises(ConnectionError):
        await counts.of("a", fails)
    assert await counts.of("a", make) == 1  # type: ignore[arg-type]


async def test_those_who_ask_at_once_are_told_the_same() -> None:
    watch = Watch()
    counts = Counts[int](watch)
    _, make = counting(watch, 0.1)
    assert await asyncio.gather(*(counts.of("a", make) for _ in range(5))) == [0] * 5  # type: ignore[arg-type]
