"""Which requests pass through the framework's layers, and which pass them by."""

from pathlib import Path

import pytest

from service.web.app import Api as App
from tests.service.api import Api, api


def app_of(api: Api) -> App:
    app = api.client._transport.app  # type: ignore[attr-defined]
    assert isinstance(app, App)
    return app


async def test_a_call_with_a_fixed_path_needs_no_layer_of_the_framework(tmp_path: Path) -> None:
    async with api(tmp_path, fresh=True) as one:
        app = app_of(one)
        assert (await one.resume("B-1"))["found"] is False
        assert app.middleware_stack is None, "it builds its layers when a request first enters it"
        assert (await one.client.get("/v1/borrowers/B-1")).status_code == 404
        assert app.middleware_stack is not None


async def test_with_telemetry_every_call_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "borrower-memory")
    async with api(tmp_path, fresh=True) as one:
        assert (await one.resume("B-1"))["found"] is False
        assert app_of(one).middleware_stack is not None


async def test_both_ways_answer_alike_what_is_no_call(tmp_path: Path) -> None:
    async with api(tmp_path) as one:
        assert (await one.client.get("/v1/resume")).status_code == 405
        assert (await one.client.post("/v1/resume", content=b"{")).json()["code"] == "malformed_json"
        assert (await one.client.post("/v1/resume/", json={})).status_code == 404
