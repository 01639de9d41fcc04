"""What stays in a process is not looked through for garbage; what comes later is."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from service.garbage import GARBAGE_AFTER_ALLOCATIONS, spare_what_stays


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    threshold, spared = gc.get_threshold(), gc.get_freeze_count()
    gc.set_threshold(700, 10, 10)  # as Python starts; the tests themselves look more seldom
    yield
    gc.set_threshold(*threshold)
    if not spared:  # else it was the run itself, for all that it had loaded
        gc.unfreeze()


@pytest.mark.usefixtures("_as_it_was")
def test_what_stays_is_not_looked_through_and_what_comes_later_still_is() -> None:
    spare_what_stays()
    assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_threshold()[0] == GARBAGE_AFTER_ALLOCATIONS
    circle: list[object] = []
    circle.append(circle)
    del circle
    assert gc.collect() > 0
