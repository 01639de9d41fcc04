"""Who has signed in to the dashboard: a sealed cookie that names a key and ends by itself, and what ties a form to it.

The key itself is in no cookie: what is sealed is its id and a word of this session. Each request looks the key up again, so a
key that is revoked ends its sessions at once. What a person may see is not known here, but that a key without the scope of
the dashboard, or without a name to stand in audit lines, does not get in.
"""

from __future__ import annotations

import hmac
import secrets as randomness
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from service.secrets import CannotOpen, Secrets

if TYPE_CHECKING:
    from service.keys import Key
    from service.wiring import Parts

COOKIE: Final = "borrower_memory_ops"
PATH: Final = "/ops"
SCOPE: Final = "ops"
SESSION_HOURS: Final = 10
"""A working day; then one signs in again."""
TICKET_MINUTES: Final = 30
"""So long a page that asks "is this meant?" can be answered."""
COOKIE_CHARACTERS: Final = 2_000
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "testserver", "test"})
_TOKEN_PURPOSE: Final = "ops form"


class Session(msgspec.Struct, frozen=True):
    """What is sealed in the cookie."""

    key_id: str
    word: str
    ends_at: datetime


class Ticket(msgspec.Struct, frozen=True):
    """One doing, named before it is done, so that sending its form twice does it once."""

    word: str
    event_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Person:
    """Who looks: a key with a name, and the session in which it does."""

    key: Key
    session: Session

    @property
    def name(self) -> str:
        return self.key.name or self.key.key_id

    @property
    def who(self) -> str:
        """As audit lines name them: the key's id and its name."""
        return f"{self.key.key_id} {self.name}"


def begun(key: Key, now: datetime) -> Session:
    """A new session of this key; it ends with the key, when that is sooner."""
    ends_at = now + timedelta(hours=SESSION_HOURS)
    return Session(key.key_id, randomness.token_urlsafe(18), min(ends_at, key.expires_at or ends_at))


def may_enter(key: Key) -> str | None:
    """Why a key that is valid does not open the dashboard; None when it does."""
    if SCOPE not in key.scopes:
        return "This key has no scope `ops`."
    if key.name is None:
        return "This key bears no name, and what is done here stands under one: make one with `keys create --name`."
    return None


def put(response: Response, session: Session, secrets: Secrets, request: Request, now: datetime) -> None:
    """Gives the browser its cookie: not for scripts, not for other sites, and over TLS alone but on this very machine."""
    response.set_cookie(
        COOKIE,
        secrets.seal(msgspec.json.encode(session)).decode("ascii"),
        max_age=max(0, int((session.ends_at - now).total_seconds())),
        path=PATH,
        secure=not _is_plain_loopback(request),
        httponly=True,
        samesite="lax",
    )


def drop(response: Response) -> None:
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="lax")


async def person_of(request: Request, parts: Parts) -> Person | None:
    """Who sent this request; None for nobody, and for whoever's time or key has ended. Raises `DatabaseUnavailable`."""
    sealed = request.cookies.get(COOKIE, "")
    if not sealed or len(sealed) > COOKIE_CHARACTERS:
        return None
    try:
        session = msgspec.json.decode(parts.secrets.open(sealed.encode("utf-8", "replace")), type=Session)
    except (CannotOpen, msgspec.MsgspecError):
        return None
    if parts.clock() >= session.ends_at:
        return None
    key = await parts.keyring.by_id(session.key_id)
    return Person(key, session) if key is not None and may_enter(key) is None else None


# -- forms ---------------------------------------------------------------------------------------------------------------


def form_token(person: Person, secrets: Secrets) -> str:
    """What every form of this session carries, and no other site can know."""
    return secrets.keyed_hash(person.session.word, _TOKEN_PURPOSE)


def is_ours(given: str, person: Person, secrets: Secrets) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), form_token(person, secrets).encode())


def is_same_site(request: Request) -> bool:
    """Whether a browser says that this was sent from a page of ours; one that says nothing is taken at its token's word."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")


def ticket(person: Person, secrets: Secrets, now: datetime) -> str:
    """A sealed name for one doing of this session."""
    made = Ticket(person.session.word, f"ops:{randomness.token_urlsafe(12)}", now)
    return secrets.seal(msgspec.json.encode(made)).decode("ascii")


def read_ticket(given: str, person: Person, secrets: Secrets, now: datetime) -> Ticket | None:
    """None for one of another session, or too old."""
    if len(given) > COOKIE_CHARACTERS:
        return None
    try:
        read = msgspec.json.decode(secrets.open(given.encode("utf-8", "replace")), type=Ticket)
    except (CannotOpen, msgspec.MsgspecError):
        return None
    fits = read.word == person.session.word and now - read.at <= timedelta(minutes=TICKET_MINUTES)
    return read if fits else None


def _is_plain_loopback(request: Request) -> bool:
    return request.url.scheme == "http" and request.url.hostname in LOOPBACK
