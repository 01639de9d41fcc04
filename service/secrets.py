"""Keys of the service: what is sealed at rest, what is known by its keyed hash only, and API keys.

Of the configured keys the first encrypts, all decrypt, and the last makes keyed hashes and never changes, because a
hash that changed would no longer find the borrower it stands for (API 13). What is sealed or hashed, and where it is
stored, is not known here.
"""

import base64
import hashlib
import hmac
import os
import re
import secrets
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from service.settings import PREFIX, SECRET_KEY_BYTES, Settings, SettingsError, decode_keys

KEY_ID_CHARS: Final = 6
KEY_SECRET_BYTES: Final = 32
KEY_FORM: Final = re.compile(r"bm_([a-z0-9]{6})_[A-Za-z0-9_-]{32,128}", re.ASCII)
KEY_FILE_LIMIT_BYTES: Final = 4_096

_KEY_ID_ALPHABET: Final = string.ascii_lowercase + string.digits
# The last key also seals. Deriving the hashing key from it keeps the two uses apart.
_HASHING: Final = b"borrower-memory keyed hash 1"


class CannotOpen(Exception):
    """No configured key opens this: it was sealed under a key that is gone, or it was changed."""


class Secrets:
    """Seals and hashes under a list of 32-byte keys. A seal is a Fernet token: AES and HMAC, safe to keep as text."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != SECRET_KEY_BYTES for key in keys):
            raise ValueError(f"one or more keys of {SECRET_KEY_BYTES} bytes are needed")
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])
        self._hashing_key = hmac.digest(keys[-1], _HASHING, "sha256")

    @classmethod
    def load(cls, settings: Settings) -> Self:
        """From the setting, else from the file beside SQLite, which is made when neither it nor the database is there.

        Call this before the database is opened. Raises `SettingsError`.
        """
        if settings.secret_keys is not None:
            return cls([key.get_secret_value() for key in settings.secret_keys])
        file, database = settings.secret_keys_file, settings.database.sqlite_path
        assert file is not None, "the settings demand SECRET_KEYS with PostgreSQL"
        assert database is not None
        in_use = database.exists() and database.stat().st_size > 0  # looked at first: keys are made before databases
        if not file.exists():
            if in_use:
                raise SettingsError(
                    f"the database {database.name} is there but its keys, {file.name}, are not: restore that file or"
                    f" set {PREFIX}SECRET_KEYS; under new keys no number would find its borrower again"
                )
            _make_key_file(file)
        return cls(_read_key_file(file))

    def seal(self, data: bytes) -> bytes:
        return self._fernet.encrypt(data)

    def open(self, sealed: bytes) -> bytes:
        """Raises `CannotOpen`."""
        try:
            return self._fernet.decrypt(sealed)
        except InvalidToken:
            raise CannotOpen("sealed under a key that is not configured, or changed since") from None

    def keyed_hash(self, data: str | bytes, purpose: str) -> str:
        """64 hex digits. The same data under two purposes gives hashes that cannot be brought together."""
        raw = data.encode() if isinstance(data, str) else data
        label = purpose.encode()
        message = len(label).to_bytes(2, "big") + label + raw
        return hmac.digest(self._hashing_key, message, "sha256").hex()


def _make_key_file(file: Path) -> None:
    """Whole or not at all, for its owner alone, and never over one that another process made meanwhile."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(base64.urlsafe_b64encode(secrets.token_bytes(SECRET_KEY_BYTES)) + b"\n")
            opened.flush()
            os.fsync(opened.fileno())
        os.link(draft, file)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _read_key_file(file: Path) -> tuple[bytes, ...]:
    if os.name == "posix" and file.stat().st_mode & 0o007:
        raise SettingsError(f"the key file {file.name} is open to everybody on this machine: chmod 600 it")
    try:
        return decode_keys(file.read_bytes()[:KEY_FILE_LIMIT_BYTES].decode("ascii"))
    except ValueError as error:
        reason = "it is not ASCII" if isinstance(error, UnicodeError) else str(error)
        raise SettingsError(f"the key file {file.name} does not check: {reason}") from None


# -- API keys ----------------------------------------------------------------------------------------------------------


def new_key() -> tuple[str, str]:
    """A key's id and the key itself, `bm_<id>_<secret>` (API 2). The key is shown once and stored as `key_hash`."""
    key_id = "".join(secrets.choice(_KEY_ID_ALPHABET) for _ in range(KEY_ID_CHARS))
    return key_id, f"bm_{key_id}_{secrets.token_urlsafe(KEY_SECRET_BYTES)}"


def key_id_of(key: str) -> str | None:
    """The id in what claims to be a key; None when it has not the form of one."""
    found = KEY_FORM.fullmatch(key)
    return found[1] if found else None


def key_hash(key: str) -> str:
    """64 hex digits. Unsalted and fast, which is enough for 256 random bits and would not be for a password."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def key_matches(key: str, stored_hash: str) -> bool:
    """In constant time, whatever was sent."""
    return hmac.compare_digest(key_hash(key).encode(), stored_hash.encode())
