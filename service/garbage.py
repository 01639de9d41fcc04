"""Looking for garbage in cycles, as seldom as a process that stays up can afford."""

from __future__ import annotations

import gc
from typing import Final

GARBAGE_AFTER_ALLOCATIONS: Final = 20_000
"""Between two looks for garbage in cycles. At Python's 700 a busy service looks every few requests, and finds nothing:
what a request, or an entry that is merged, leaves behind is let go as it ends. A tenth of its time went there."""


def spare_what_stays() -> None:
    """What was made by now (modules, routes, models) stays until the end and need not be looked through again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(max(GARBAGE_AFTER_ALLOCATIONS, gc.get_threshold()[0]), *gc.get_threshold()[1:])
