"""How much at a time: a key's rate, and what is in flight."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from service.errors import RateLimited
from service.web import edge
from service.web.edge import Edge, InFlight, RateLimit
from tests.service.edge.asking import application, ask, client_of


async def test_too_many_at_a_time_are_turned_away_and_come_back_later() -> None:
    gate, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        inside.release()
        await gate.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    in_flight = InFlight(limit_requests=2)
    guarded = Edge(app, in_flight=in_flight)
    async with client_of(guarded) as client:
        held = [asyncio.create_task(client.get("/")) for _ in range(2)]
        for _ in held:
            await inside.acquire()
        refused = await client.post("/", content=b"x")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert refused.headers["retry-after"] == "1"
        health = asyncio.create_task(client.get("/healthz"))
        await inside.acquire()
        gate.set()
        assert [(await answer).status_code for answer in [*held, health]] == [204, 204, 204]
        assert (await client.get("/")).status_code == 204
    assert in_flight.requests == 0


async def test_the_bodies_held_at_a_time_are_bounded() -> None:
    in_flight = InFlight(limit_bytes=100)
    app = application(in_flight=in_flight)
    assert (await ask("POST", "/v1/read", app, content=b"x" * 100)).status_code == 200
    answer = await ask("POST", "/v1/read", app, content=b"x" * 101)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert (in_flight.requests, in_flight.bytes) == (0, 0)


def test_the_limits_are_far_from_ordinary_use() -> None:
    limit = RateLimit(clock=lambda: 0.0)
    for _ in range(edge.RATE_LIMIT_BURST):
        limit.admit("k3f9a1")
    with pytest.raises(RateLimited):
        limit.admit("k3f9a1")
    limit.admit("another")
    assert edge.IN_FLIGHT_LIMIT_REQUESTS >= 500


def test_a_key_that_waits_as_told_is_taken_again() -> None:
    now = 0.0
    limit = RateLimit(per_second=0.5, burst=1, clock=lambda: now)
    limit.admit("a")
    with pytest.raises(RateLimited) as caught:
        limit.admit("a")
    assert caught.value.headers()["Retry-After"] == "2"
    now = 2.0
    limit.admit("a")


@settings(max_examples=60)
@given(
    st.sampled_from([(1.0, 1), (10.0, 5), (2_000.0, 4_000)]),
    st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
def test_no_key_gets_more_than_its_burst_and_its_rate(rate: tuple[float, int], pauses: list[float]) -> None:
    per_second, burst = rate
    now, taken, began = 0.0, 0, None
    limit = RateLimit(per_second, burst, clock=lambda: now)
    for pause in pauses:
        now += pause
        for _ in range(burst + 2):
            try:
                limit.admit("a")
            except RateLimited:
                break
            began = now if began is None else began
            taken += 1
            assert taken <= burst + (now - began) * per_second + 1e-6
    assert taken >= min(burst, 1)


def test_the_keys_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "RATE_LIMIT_KEYS", 10)
    now = 0.0
    limit = RateLimit(per_second=1, burst=1, clock=lambda: now)
    for number in range(1_000):
        limit.admit(f"k{number}")
        now += 0.05
    assert len(limit._whole_at) <= 11
    with pytest.raises(RateLimited):
        limit.admit("k999")
