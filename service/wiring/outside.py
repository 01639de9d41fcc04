"""Who outside is asked, as the settings name them: a model, and the source of decisions."""

from __future__ import annotations

from service.decisions.reader import HttpReader, NoReader, SourceReader
from service.models import guarded, measured
from service.models.asking import Model
from service.models.guarded import Guarded
from service.settings import Settings


def model_of(
    settings: Settings,
    asker: measured.Asker,
    *,
    at_once: int = guarded.CALLS_AT_ONCE,
    rest_seconds: float = guarded.REST_SECONDS,
) -> Model | None:
    """The model that the settings name, within limits; None when they name none. What `asker` asks of it is counted."""
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    from service.models.endpoint import Endpoint  # its library takes half a second to import

    key = settings.llm_api_key
    endpoint = Endpoint(settings.llm_base_url, settings.llm_model, key.get_secret_value() if key else None)
    return Guarded(endpoint, at_once=at_once, rest_seconds=rest_seconds, measures=asker)


def source_reader(settings: Settings) -> SourceReader:
    """Who is asked what version a source is at; nobody, when the settings name none."""
    if settings.source_url is None:
        return NoReader()
    key = settings.source_key
    return HttpReader(settings.source_url, key.get_secret_value() if key else None)
