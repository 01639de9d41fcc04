"""How much work a call does: counted, because a time depends on the machine and on who else is at work on it.

What a regular expression does inside its engine is not counted here; how that grows is measured in `benchmarks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

LINEAR_SLACK = 1.25
"""How much more than its share a longer text may cost: what is done once, and tables that grow, are not exact."""


def calls_in(work: Callable[[], object]) -> int:
    """How many functions it calls, of Python's own too."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def grows_linearly(work: Callable[[int], object], size: int, times: int = 4) -> bool:
    """Whether so many times the size is at most so many times the work."""
    work(size // 2)  # what is set up by the first call is not counted; what is kept of one text does not serve another
    small = calls_in(lambda: work(size))
    return calls_in(lambda: work(size * times)) <= times * LINEAR_SLACK * small
