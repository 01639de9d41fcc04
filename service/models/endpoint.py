"""A model behind an endpoint of OpenAI's form: `POST {LLM_BASE_URL}/chat/completions`, not streamed, no tools (API 6).

Only `choices[0].message.content` is read, and of no answer more than `ANSWER_BYTES`, nor the body of a refusal. Nothing is tried
twice here: whoever asks knows whether that is worth it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Final

import httpx2
import openai
from openai.types.chat import ChatCompletionMessageParam

from service.models.asking import Message, ModelFailed

NO_KEY: Final = "none"
"""For endpoints that ask for none; the client will not go without."""
CONNECT_SECONDS: Final = 3.0
ANSWER_BYTES: Final = 1 << 20
"""Of one answer, which is a few sentences."""

logging.getLogger("httpx").setLevel(logging.WARNING)  # it would tell of every request


class _Refused(openai.OpenAIError):
    """The endpoint answered with this status, and what else it says is not read."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


class Endpoint:
    """A model of this name at this address. Close it when it is not needed any more."""

    def __init__(self, base_url: str, model: str, key: str | None) -> None:
        self._model = model
        client = openai.DefaultAsyncHttpxClient(event_hooks={"response": [_look_at_status]})
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=key or NO_KEY, max_retries=0, http_client=client)

    @property
    def name(self) -> str:
        return self._model

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        asking = self._client.chat.completions.with_streaming_response.create(
            model=self._model,
            messages=[_message(message) for message in messages],
            temperature=0,
            max_tokens=tokens,
            timeout=openai.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
        )
        told = bytearray()
        try:
            async with asyncio.timeout(seconds), asking as answer:
                async for part in answer.iter_bytes():
                    told += part
                    if len(told) > ANSWER_BYTES:
                        raise ModelFailed("unreadable", "the answer is too long")
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException):
            raise ModelFailed("timeout", f"no answer within {seconds:g} seconds") from None
        except _Refused as refused:
            raise ModelFailed("unavailable", f"the endpoint answered {refused.status}") from None
        except (openai.OpenAIError, httpx2.HTTPError) as fault:
            raise ModelFailed("unavailable", f"the endpoint could not be used: {type(fault).__name__}") from None
        return _content(told)

    async def close(self) -> None:
        await self._client.close()


async def _look_at_status(response: httpx2.Response) -> None:
    """Raises `_Refused` before anything of a refusal's body is read."""
    if response.is_error:
        raise _Refused(response.status_code)


def _content(told: bytearray) -> str:
    """An endpoint may answer anything. Raises `ModelFailed`."""
    try:
        content = json.loads(told)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        content = None
    if not isinstance(content, str):
        raise ModelFailed("unreadable", "the answer has no choices[0].message.content")
    return content


def _message(message: Message) -> ChatCompletionMessageParam:
    if message.role == "system":
        return {"role": "system", "content": message.content}
    if message.role == "user":
        return {"role": "user", "content": message.content}
    return {"role": "assistant", "content": message.content}
