"""Every standing there is, for tests that prove a thing by trying all of it."""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from itertools import product
from typing import Any

from statemachine.journey import Standing

VALUES: dict[str, tuple[Any, ...]] = {
    field.name: ("none", "proposed", "confirmed") if field.name == "rung" else (False, True)
    for field in fields(Standing)
}


def every_standing(**fixed: Any) -> Iterator[Standing]:
    """All combinations of values, those given held fixed."""
    return iter(_combined(tuple(fixed.items())))


@cache
def _combined(fixed: tuple[tuple[str, Any], ...]) -> list[Standing]:
    given = dict(fixed)
    choices = [(given[name],) if name in given else values for name, values in VALUES.items()]
    return [Standing(**dict(zip(VALUES, combination, strict=True))) for combination in product(*choices)]


def standing(**known: Any) -> Standing:
    """A verified borrower about whom nothing else is known, on an inbound contact; then what is given."""
    plain = {name: values[0] for name, values in VALUES.items()}
    return Standing(**{**plain, "identity_holds": True, "contact_made": True, **known})
