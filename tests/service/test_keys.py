"""Keys are shown once, stored hashed, and stop when they are revoked or past."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from service import keys
from service.database import DatabaseUnavailable, Store
from service.keys import CACHE_SECONDS, OUTAGE_SECONDS, SCOPES, InvalidKey, Key, Keyring
from tests.service.conftest import Where
from tests.service.embedded import open_store

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Clock:
    """Both clocks of a keyring, moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def database(where: Where) -> AsyncIterator[Store]:
    opened = await open_store(where())
    yield opened
    await opened.close()


@pytest.fixture
def ring(database: Store, clock: Clock) -> Keyring:
    return Keyring(database, clock, monotonic=clock.monotonic)


async def made(database: Store, tenant: str = "acme", scopes: Any = ("read",), **options: Any) -> tuple[str, Key]:
    return await database.write(lambda c: keys.create(c, tenant, scopes, NOON, **options))


async def revoked(database: Store, key_id: str, at: datetime = NOON) -> Key | None:
    return await database.write(lambda c: keys.revoke(c, key_id, at))


# -- making and listing ------------------------------------------------------------------------------------------------


async def test_a_key_is_shown_once_and_kept_as_a_hash(database: Store, ring: Keyring) -> None:
    key, kept = await made(database, scopes=["events:agent", "read"], name="asha")
    assert key.startswith(f"bm_{kept.key_id}_")
    assert kept.as_listed() == {
        "key_id": kept.key_id,
        "tenant": "acme",
        "scopes": ["read", "events:agent"],
        "name": "asha",
        "created_at": NOON,
        "expires_at": None,
        "revoked_at": None,
    }
    assert await ring.lookup(key) == kept
    rows = await database.read(lambda c: c.exec_driver_sql("SELECT * FROM api_key").all())
    assert kept.key_id in str(rows)
    assert key not in str(rows)


async def test_a_tenant_exists_by_its_first_key(database: Store) -> None:
    assert not await database.read(lambda c: keys.exists(c, "acme"))
    _, kept = await made(database)
    await revoked(database, kept.key_id)
    assert await database.read(lambda c: keys.exists(c, "acme"))
    assert not await database.read(lambda c: keys.exists(c, "other"))


async def test_keys_are_listed_by_tenant_in_the_order_they_were_made(database: Store) -> None:
    for tenant, minutes in (("acme", 2), ("acme", 1), ("other", 0)):
        at = NOON + timedelta(minutes=minutes)
        await database.write(lambda c, t=tenant, at=at: keys.create(c, t, ["read"], at))  # type: ignore[misc]
    listed = await database.read(lambda c: keys.listed(c, "acme"))
    assert [k.created_at.minute for k in listed] == [1, 2]
    assert len(await database.read(keys.listed)) == 3


@pytest.mark.parametrize(
    ("tenant", "scopes", "options", "why"),
    [
        ("Acme", ["read"], {}, "tenant"),
        ("", ["read"], {}, "tenant"),
        ("a" * 41, ["read"], {}, "tenant"),
        ("acme\n", ["read"], {}, "tenant"),
        ("acme", [], {}, "none given"),
        ("acme", ["read", "write"], {}, "unknown: write"),
        ("acme", ["READ"], {}, "unknown: READ"),
        ("acme", ["read"], {"name": " "}, "name"),
        ("acme", ["read"], {"name": "two\nlines"}, "name"),
        ("acme", ["read"], {"name": "n" * 101}, "name"),
        ("acme", ["read"], {"expires_at": NOON}, "past"),
        ("acme", ["read"], {"expires_at": (NOON + timedelta(days=1)).replace(tzinfo=None)}, "offset"),
    ],
)
async def test_a_key_that_cannot_be_is_refused_with_a_sentence(
    database: Store, tenant: str, scopes: list[str], options: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidKey, match=why):
        await made(database, tenant, scopes, **options)
    assert await database.read(keys.listed) == []


async def test_every_scope_of_the_contract_can_be_given(database: Store) -> None:
    _, kept = await made(database, scopes=SCOPES)
    assert kept.scopes == {"read", "events:agent", "events:ledger", "events:ops", "search:all", "privacy", "ops"}


async def test_revoking_twice_keeps_the_first_time(database: Store) -> None:
    _, kept = await made(database)
    first = await revoked(database, kept.key_id, NOON + timedelta(hours=1))
    again = await revoked(database, kept.key_id, NOON + timedelta(hours=2))
    assert first is not None
    assert first == again
    assert first.revoked_at == NOON + timedelta(hours=1)
    assert await revoked(database, "nokey1") is None


# -- looking up --------------------------------------------------------------------------------------------------------


async def test_only_the_key_itself_is_the_key(database: Store, ring: Keyring) -> None:
    key, kept = await made(database)
    other, _ = await made(database, "other")
    secret = key.removeprefix(f"bm_{kept.key_id}_")
    lookalikes = ["", "bm_", key[:-1], key + "x", key.upper(), f"bm_aaaaaa_{secret}", kept.key_id, f" {key}", "é" * 50]
    lookalikes.append(f"bm_{kept.key_id}_{other.split('_', 2)[2]}")
    for wrong in lookalikes:
        assert await ring.lookup(wrong) is None, wrong
    assert await ring.lookup(key) == kept


async def test_a_revoked_key_stops_within_five_seconds(database: Store, ring: Keyring, clock: Clock) -> None:
    key, kept = await made(database)
    assert await ring.lookup(key) == kept
    await revoked(database, kept.key_id)
    clock.seconds = CACHE_SECONDS
    assert CACHE_SECONDS < 5
    assert await ring.lookup(key) is None
    clock.seconds += 0.1
    assert await ring.lookup(key) is None


async def test_a_key_that_is_used_all_the_time_stops_as_well(database: Store, ring: Keyring, clock: Clock) -> None:
    key, kept = await made(database)
    await ring.lookup(key)
    await revoked(database, kept.key_id)
    for _ in range(50):
        clock.seconds += 0.1
        last = await ring.lookup(key)
    assert last is None


async def test_a_key_expires_to_the_second_though_it_is_remembered(
    database: Store, ring: Keyring, clock: Clock
) -> None:
    key, kept = await made(database, expires_at=NOON + timedelta(seconds=2))
    assert await ring.lookup(key) == kept
    clock.seconds = 1.9
    assert await ring.lookup(key) == kept
    clock.seconds = 2
    assert await ring.lookup(key) is None


async def test_a_new_key_is_known_at_once(database: Store, ring: Keyring) -> None:
    for _ in range(3):
        key, kept = await made(database)
        assert await ring.lookup(key) == kept


async def test_while_the_database_is_away_known_keys_go_on_for_a_while(
    database: Store, ring: Keyring, clock: Clock
) -> None:
    key, kept = await made(database)
    unused, _ = await made(database)
    await ring.lookup(key)
    await database.close()
    clock.seconds = CACHE_SECONDS + 1
    assert await ring.lookup(key) == kept
    with pytest.raises(DatabaseUnavailable):
        await ring.lookup(unused)
    clock.seconds = OUTAGE_SECONDS + 1
    with pytest.raises(DatabaseUnavailable):
        await ring.lookup(key)


async def test_no_more_keys_are_remembered_than_the_limit(
    database: Store, ring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "CACHE_KEYS", 3)
    for _ in range(6):
        await ring.lookup((await made(database))[0])
    assert len(ring._known) == 3
    assert not any(name.startswith("bm_") for name in ring._known), "and none of them in clear"
