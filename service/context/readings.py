"""Which readings may stay: those of this turn, known by its id and by nothing else (DESIGN 10, AC-78).

Theory of operation. A reading is a measurement: true when it was taken. Whether it is this turn's own is said by its turn id, not
by its clock, not by its place in the list, and not by whether another reading exists. So:

    1 a reading of another turn, or of none, is left out: it would be a measurement replayed, also when nothing newer is there
    2 of two readings of one source and subject in this turn the later one stays
    3 of those the same text at the same time stays once; two texts at one time both stay, for nobody can say which is right

What is left out is named with its reason, so that whoever misses it reads it again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from service.context.blocks import Dropped, Reason
from service.context.bodies import Reading

LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
"""A reading that says no time is older than any that does."""


def kept_readings(readings: Sequence[Reading], turn_id: str) -> tuple[list[Reading], list[Dropped]]:
    """The readings that a model may see, in the order of their source, subject and time, and the others."""
    dropped: list[Dropped] = []
    own: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for reading in readings:
        if reading.turn_id != turn_id:
            dropped.append(_dropped(reading, "earlier_turn" if reading.turn_id else "no_turn"))
        elif not reading.text.strip():
            dropped.append(_dropped(reading, "empty"))
        else:
            own[reading.source, reading.subject or ""].append(reading)
    kept: list[Reading] = []
    for _, of_one in sorted(own.items()):
        last = max(_read_at(reading) for reading in of_one)
        texts: set[str] = set()
        for reading in sorted(of_one, key=lambda reading: (_read_at(reading), reading.text)):
            if _read_at(reading) < last:
                dropped.append(_dropped(reading, "newer_reading"))
            elif reading.text in texts:
                dropped.append(_dropped(reading, "same_reading"))
            else:
                texts.add(reading.text)
                kept.append(reading)
    return kept, dropped


def _read_at(reading: Reading) -> datetime:
    return reading.observed_at or LONG_AGO


def _dropped(reading: Reading, reason: Reason) -> Dropped:
    return Dropped(reading.source, reading.subject, reading.turn_id, reason)
