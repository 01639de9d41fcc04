"""Sealing, keyed hashes, the key file and API keys."""

import base64
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service import secrets
from service.secrets import CannotOpen, Secrets
from service.settings import PREFIX, SettingsError
from service.settings import load as load_settings

ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 3))
DATA = st.binary(max_size=200)


def words(*keys: bytes) -> str:
    return ",".join(base64.urlsafe_b64encode(key).decode() for key in keys)


@settings(max_examples=30)
@given(DATA)
def test_what_is_sealed_opens_and_shows_nothing(data: bytes) -> None:
    sealed = Secrets([ONE]).seal(data)
    assert Secrets([ONE]).open(sealed) == data
    assert len(data) < 4 or data not in base64.urlsafe_b64decode(sealed)
    assert Secrets([ONE]).seal(data) != sealed


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    before = Secrets([ONE]).seal(b"x")
    rotated = Secrets([TWO, ONE])
    assert rotated.open(before) == b"x"
    assert Secrets([TWO]).open(rotated.seal(b"y")) == b"y"
    with pytest.raises(CannotOpen):
        Secrets([ONE]).open(rotated.seal(b"y"))


@settings(max_examples=30)
@given(DATA, st.data())
def test_a_changed_seal_does_not_open(data: bytes, draw: st.DataObject) -> None:
    raw = bytearray(base64.urlsafe_b64decode(Secrets([ONE]).seal(data)))
    raw[draw.draw(st.integers(0, len(raw) - 1))] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(CannotOpen):
        Secrets([ONE]).open(base64.urlsafe_b64encode(bytes(raw)))


@pytest.mark.parametrize("sealed", [b"", b"x", b"\xff" * 100, b"gAAAAA=="])
def test_what_is_no_seal_does_not_open(sealed: bytes) -> None:
    with pytest.raises(CannotOpen):
        Secrets([ONE]).open(sealed)


def test_the_last_key_makes_the_hashes_and_rotation_keeps_them() -> None:
    before = Secrets([ONE]).keyed_hash("+919000000001", "phone")
    assert Secrets([TWO, ONE]).keyed_hash("+919000000001", "phone") == before
    assert Secrets([ONE, TWO]).keyed_hash("+919000000001", "phone") != before
    assert re.fullmatch("[0-9a-f]{64}", before)


@settings(max_examples=60)
@given(st.tuples(st.text(max_size=5), st.text(max_size=5)), st.tuples(st.text(max_size=5), st.text(max_size=5)))
def test_hashes_are_equal_for_the_same_data_and_purpose_only(one: tuple[str, str], other: tuple[str, str]) -> None:
    hashes = [Secrets([ONE]).keyed_hash(data, purpose) for data, purpose in (one, other)]
    assert (hashes[0] == hashes[1]) == (one == other)


def test_text_is_hashed_as_its_utf8() -> None:
    assert Secrets([ONE]).keyed_hash("हाँ", "term") == Secrets([ONE]).keyed_hash("हाँ".encode(), "term")


@pytest.mark.parametrize("keys", [[], [b"short"], [ONE, b""]])
def test_keys_have_32_bytes(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Secrets(keys)


# -- the key file ------------------------------------------------------------------------------------------------------


def load(directory: Path, **variables: str) -> Secrets:
    given = {PREFIX + name: text for name, text in variables.items()}
    return Secrets.load(load_settings(given, directory=directory))


def key_file(directory: Path) -> Path:
    return directory / ".borrower-memory" / "borrower-memory.db.secret-keys"


def test_the_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = load(tmp_path)
    file = key_file(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(file.parent) == [file.name]
    assert load(tmp_path).keyed_hash("x", "p") == first.keyed_hash("x", "p")
    assert len(base64.urlsafe_b64decode(file.read_bytes())) == 32


def test_many_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: load(tmp_path).keyed_hash("x", "p"), range(48)))
    assert len(set(found)) == 1
    assert os.listdir(key_file(tmp_path).parent) == [key_file(tmp_path).name]


def test_the_setting_comes_before_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, SECRET_KEYS=words(ONE)).keyed_hash("x", "p") == Secrets([ONE]).keyed_hash("x", "p")
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_hold_a_list_after_rotation(tmp_path: Path) -> None:
    load(tmp_path)
    key_file(tmp_path).write_text(words(THREE, ONE) + "\n")
    found = load(tmp_path)
    assert found.open(Secrets([ONE]).seal(b"x")) == b"x"
    assert found.keyed_hash("x", "p") == Secrets([ONE]).keyed_hash("x", "p")


def test_new_keys_are_never_made_for_a_database_that_is_there(tmp_path: Path) -> None:
    load(tmp_path)
    key_file(tmp_path).unlink()
    database = key_file(tmp_path).with_name("borrower-memory.db")
    database.write_bytes(b"SQLite format 3\x00")
    with pytest.raises(SettingsError, match=key_file(tmp_path).name):
        load(tmp_path)
    assert not key_file(tmp_path).exists()
    database.write_bytes(b"")
    load(tmp_path)


@pytest.mark.parametrize("content", ["", "nonsense", words(ONE)[:-5], words(ONE, ONE), "é", "A" * 100_000])
def test_a_file_that_does_not_check_stops_the_start_and_is_not_shown(tmp_path: Path, content: str) -> None:
    load(tmp_path)
    key_file(tmp_path).write_text(content)
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    assert key_file(tmp_path).name in str(caught.value)
    assert not content or content not in str(caught.value)


def test_a_file_that_everybody_can_read_stops_the_start(tmp_path: Path) -> None:
    load(tmp_path)
    key_file(tmp_path).chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        load(tmp_path)


# -- API keys ----------------------------------------------------------------------------------------------------------


def test_keys_have_the_form_of_the_contract_and_never_repeat() -> None:
    made = [secrets.new_key() for _ in range(200)]
    assert len({key for _, key in made}) == 200
    for key_id, key in made:
        assert re.fullmatch(r"[a-z0-9]{6}", key_id)
        assert re.fullmatch(rf"bm_{key_id}_[A-Za-z0-9_-]{{32,}}", key)
        assert secrets.key_id_of(key) == key_id
        assert secrets.key_matches(key, secrets.key_hash(key))
        assert key not in secrets.key_hash(key)


GOOD = "bm_k3f9a1_" + "x" * 43


@pytest.mark.parametrize(
    "key",
    ["", "bm_", "bm_zzzzzz_nonsense", GOOD[:-12], GOOD + "é", "bm_\xe9", GOOD.replace("k3f9a1", "K3F9A1"),
     GOOD.replace("k3f9a1", "k3f9a1b"), GOOD + "\n", " " + GOOD, GOOD + "y" * 200, "bm_k३f9a1_" + "x" * 43],
)  # fmt: skip
def test_what_has_not_the_form_of_a_key_has_no_id(key: str) -> None:
    assert secrets.key_id_of(key) is None


@pytest.mark.parametrize("key", ["", GOOD[:-1], GOOD + "x", GOOD.upper(), "bm_\xe9", "\ud83d", GOOD + "\x00"])
def test_another_key_does_not_match_whatever_its_signs(key: str) -> None:
    assert not secrets.key_matches(key, secrets.key_hash(GOOD))
    assert not secrets.key_matches(GOOD, secrets.key_hash(key))
    assert secrets.key_matches(GOOD, secrets.key_hash(GOOD))
