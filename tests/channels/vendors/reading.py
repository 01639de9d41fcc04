"""Bodies of vendors as tests read them: parsed at one time, and looked at as what they tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from channels.delivery import Delivery, Item
from channels.vendors import VENDORS
from statemachine.entries import Event, Summary
from tests.vendors import FORM, Sample

ARRIVED = datetime(2026, 11, 26, 6, tzinfo=UTC)
FORMS = (("voice", "twilio"), ("whatsapp", "twilio"), ("voice", "plivo"))


def parsed(channel: str, vendor: str, document: Any, **own: Any) -> list[Item]:
    """What the adapter makes of a document, posted as this vendor posts."""
    form = (channel, vendor) in FORMS
    body = urlencode(document) if form else json.dumps(document)
    content_type = FORM if form else "application/json"
    return VENDORS[channel, vendor].parse(Delivery(body.encode(), ARRIVED, content_type, **own))


def of(sample: Sample, **own: Any) -> list[Item]:
    return VENDORS[sample.channel, sample.vendor].parse(Delivery(sample.raw, ARRIVED, sample.content_type, **own))


def summary(items: list[Item]) -> Summary:
    """The one summary that is told."""
    (found,) = [body for item in items for body in item.bodies if isinstance(body, Summary)]
    return found


def events(items: list[Item]) -> list[Event]:
    return [body for item in items for body in item.bodies if isinstance(body, Event)]


def is_one_thing(item: Item) -> bool:
    """An item tells something, or is not for us, or cannot be taken: one of the three."""
    told = bool(item.bodies or item.messages or item.status or item.moved)
    return [told, item.ignored is not None, item.aside is not None].count(True) == 1


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document."""
    yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in below:
        yield from places(one, (*path, step))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with something else at a place; `...` takes the place away."""
    if not path:
        return None if value is ... else value
    step, rest = path[0], path[1:]
    if isinstance(document, dict):
        if not rest and value is ...:
            return {name: one for name, one in document.items() if name != step}
        return {name: put(one, rest, value) if name == step else one for name, one in document.items()}
    if not rest and value is ...:
        return [one for place, one in enumerate(document) if place != step]
    return [put(one, rest, value) if place == step else one for place, one in enumerate(document)]
