"""Every vendor's hook beside a real Kafka and PostgreSQL: what is answered 200 is in the topic once, and merged once."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from channels.vendors import VENDORS
from service.hooks import bodies, registry
from service.postgres import PostgresDatabase
from service.secrets import Secrets
from tests.calls import CALLS, LEGS_ONLY, TEXTS, Call, Text, as_posted
from tests.together import broker, postgres
from tests.together.fleet import KEYS, Fleet, fleet
from tests.vendors import FORM, SECRET, signed

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

ORIGIN = "https://hooks.example.invalid"
SETTLED_SECONDS = 60
NOW = datetime.now(UTC).replace(microsecond=0)
DUE = (NOW + timedelta(days=5)).date()
Key = tuple[str, str]


def number(vendor: str, of: int) -> str:
    """A fake number of this vendor's borrower."""
    return f"+9190000{1000 * of + sorted({name for _, name in VENDORS}).index(vendor):05d}"


@pytest.fixture(scope="module")
def beside_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    with (
        broker.running(tmp_path_factory.mktemp("kafka"), ours=True) as brokers,
        postgres.running() as server,
        server.database() as dsn,
        fleet(folder, brokers.bootstrap, dsn, "hooks") as running,
    ):
        yield running


async def addresses(dsn: str) -> dict[Key, str]:
    """The path of a hook of each vendor, made as the command makes it."""
    secrets = Secrets([base64.urlsafe_b64decode(KEYS)])
    store = await PostgresDatabase.open(dsn, serving=False)
    try:
        made = {}
        for channel, vendor in sorted(VENDORS):
            how = {"tenant": "acme", "channel": channel, "vendor": vendor, "secret": SECRET, "public_url": ORIGIN}
            hook = await store.write(lambda conn, how=how: registry.create(conn, VENDORS, secrets, NOW, **how))  # type: ignore[misc]
            made[channel, vendor] = hook.path
        return made
    finally:
        await store.close()


async def unread(dsn: str) -> int:
    store = await PostgresDatabase.open(dsn, serving=False)
    try:
        return await store.read(bodies.unread)
    finally:
        await store.close()


def posts() -> list[tuple[Key, bytes, str]]:
    """A call of each voice vendor, a message and a stop of each messenger's, all of them twice, the second with other bytes."""
    told: list[tuple[Key, Any]] = []
    for vendor, tell in CALLS.items():
        call = Call(f"call-{vendor}", f"B-{vendor}", number(vendor, 1), NOW - timedelta(hours=1), DUE)
        told.append((("voice", vendor), tell(call)))
    for vendor, write in TEXTS.items():
        said = Text(
            f"text-{vendor}", number(vendor, 2), NOW - timedelta(minutes=2), f"I will pay 12500 on {DUE:%d %B %Y}"
        )
        told += [
            (("whatsapp", vendor), write(said)),
            (("whatsapp", vendor), write(Text(f"stop-{vendor}", number(vendor, 3), said.at, "STOP"))),
        ]
    found = []
    for key, document in told:
        for again in ({}, {"sent_again": "yes"}):
            found.append((key, *as_posted(*key, document | again)))
    return found


async def all_posted(url: str, paths: dict[Key, str]) -> Counter[int]:
    """At once; the statuses that were answered."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:

        async def post(key: Key, body: bytes, content_type: str) -> int:
            headers = signed(*key, body, datetime.now(UTC), url=ORIGIN + paths[key]) | {"content-type": content_type}
            answer = await client.post(paths[key], content=body, headers=headers)
            assert answer.status_code != 200 or answer.json() == {"received": 1}, (key, answer.text)
            return answer.status_code

        return Counter(await asyncio.gather(*(post(*one) for one in posts())))


def settled(service: Fleet) -> None:
    """Everything that was stored is read, and everything that was told is merged."""
    end = datetime.now(UTC) + timedelta(seconds=SETTLED_SECONDS)
    while asyncio.run(unread(service.dsn)):
        assert datetime.now(UTC) < end
    service.merged_to_the_end(SETTLED_SECONDS)


def test_what_every_vendor_posts_is_in_the_topic_and_the_record_once(beside_kafka: Fleet) -> None:
    service = beside_kafka
    people = {vendor: f"B-{vendor}" for vendor in TEXTS}
    with service.client() as client:
        since = (NOW - timedelta(days=1)).isoformat()
        links = [
            {
                "event_id": f"link-{of}-{vendor}", "type": "identifier.linked", "occurred_at": since,
                "borrower_id": f"{borrower}-{of}", "identifier": {"kind": "phone", "value": number(vendor, of)},
            }
            for vendor, borrower in people.items()
            for of in (2, 3)
        ]  # fmt: skip
        told = client.post("/v1/events/batch", json={"events": links}).json()["results"]
        assert {one["http_status"] for one in told} <= {200, 202}
        service.merged_to_the_end(SETTLED_SECONDS)

        paths = asyncio.run(addresses(service.dsn))
        assert asyncio.run(all_posted(service.url, paths)) == {200: 2 * (len(CALLS) + 2 * len(TEXTS))}
        settled(service)

        for vendor in CALLS:
            found = client.get(f"/v1/borrowers/B-{vendor}").json()
            items = client.get(f"/v1/borrowers/B-{vendor}/timeline").json()["items"]
            assert [(item["kind"], item["revisions"]) for item in items] == [("conversation", 1)], vendor
            if vendor in LEGS_ONLY:
                assert (found["contact_attempts"], found["commitment"]) == (1, None), vendor
                continue
            promise = found["commitment"]
            assert (promise["status"], promise["amount"], promise["due_date"]) == (
                "confirmed",
                "12500.00",
                DUE.isoformat(),
            ), vendor
        for vendor, borrower in people.items():
            resumed = client.post("/v1/resume", json={"channel": "voice", "borrower_id": f"{borrower}-2"}).json()
            assert [chat["last_speaker"] for chat in resumed["open_conversations"]] == ["borrower"], vendor
            stopped = client.get(f"/v1/borrowers/{borrower}-3").json()["opt_outs"]
            assert [(one["channel"], one["purpose"]) for one in stopped] == [("whatsapp", "collections")], vendor
        stats = client.get("/v1/ops/stats").json()
        assert (stats["set_aside"], stats["conflicts"]) == (0, 0)

    ids = (json.loads(entry.value)["id"] for entry in service.entries())
    in_topic = Counter(id_ for id_ in ids if not id_.startswith(" "))  # those are writers' own
    assert set(in_topic.values()) == {1}, "a second delivery is no second entry"
    assert len(in_topic) == len(links) + len(CALLS) + len(TEXTS)


def test_a_refused_signature_is_counted_by_the_process_that_refused_it(beside_kafka: Fleet) -> None:
    service = beside_kafka
    paths = asyncio.run(addresses(service.dsn))
    for key, path in paths.items():
        if VENDORS[key].needs_secret:
            body, kind = (b"CallSid=1", FORM) if key[1] in ("twilio", "plivo") else (b"{}", "application/json")
            headers = signed(*key, body, datetime.now(UTC), secret="wrong", url=ORIGIN + path) | {"content-type": kind}
            for _ in range(3):
                assert httpx.post(service.url + path, content=body, headers=headers, timeout=30).status_code == 401, key
    wanted = {path.rpartition("/")[2] for key, path in paths.items() if VENDORS[key].needs_secret}
    end = datetime.now(UTC) + timedelta(seconds=SETTLED_SECONDS)
    while True:
        counted = {
            row["hook_id"]: row["count"]
            for row in service.rows("SELECT hook_id, sum(count) AS count FROM hook_refused GROUP BY 1")
        }
        if counted == dict.fromkeys(wanted, 3):
            return
        assert datetime.now(UTC) < end, counted
