"""What version a source is at, asked of the source itself; over HTTP, of one address that answers for all of a lender's sources.

    POST {SOURCE_URL}   {"tenant": "acme", "source": "offers", "entity": null}
    200                 {"version": "v13"}

Anything else (a status, no answer in time, no version in it) is `SourceUnreadable`: nothing is concluded from it, and nothing
is acted upon. What a version means is not known here.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import httpx
import msgspec

from service.decisions.bodies import WORD_CHARACTERS

READ_SECONDS: Final = 2.0
ANSWER_BYTES: Final = 64 << 10


class SourceUnreadable(Exception):
    """The source did not say what version it is at; the sentence says why, without a word of an answer."""


class SourceReader(Protocol):
    can_read: bool
    """Whether there is anybody to ask."""

    async def version(self, tenant: str, source: str, entity: str | None) -> str:
        """The version that the source is at now. Raises `SourceUnreadable`."""

    async def close(self) -> None: ...


class NoReader:
    """Where no source can be asked: versions are known by what is reported."""

    can_read = False

    async def version(self, tenant: str, source: str, entity: str | None) -> str:
        raise SourceUnreadable("no reader of sources is configured")

    async def close(self) -> None:
        """Nothing is open."""


class _Answer(msgspec.Struct):
    version: str


class HttpReader:
    """Asks one address. Close it when it is not needed any more."""

    can_read = True

    def __init__(self, url: str, key: str | None = None, transport: httpx.AsyncBaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._url = url
        self._client = httpx.AsyncClient(headers=headers, timeout=READ_SECONDS, transport=transport)

    async def version(self, tenant: str, source: str, entity: str | None) -> str:
        asked = {"tenant": tenant, "source": source, "entity": entity}
        try:
            async with asyncio.timeout(READ_SECONDS), self._client.stream("POST", self._url, json=asked) as answer:
                if answer.status_code != httpx.codes.OK:
                    raise SourceUnreadable(f"the reader answered {answer.status_code}")
                told = b""
                async for part in answer.aiter_bytes():
                    told += part
                    if len(told) > ANSWER_BYTES:
                        raise SourceUnreadable("the reader's answer is too long")
        except TimeoutError:
            raise SourceUnreadable("the reader did not answer in time") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as why:
            raise SourceUnreadable(f"the reader could not be asked: {type(why).__name__}") from None
        return _version_in(told)

    async def close(self) -> None:
        await self._client.aclose()


def _version_in(told: bytes) -> str:
    try:
        version = msgspec.json.decode(told, type=_Answer).version
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise SourceUnreadable("the reader's answer names no version") from None
    if not version.strip() or len(version) > WORD_CHARACTERS or "\0" in version:
        raise SourceUnreadable("the reader's answer names no version")
    return version
