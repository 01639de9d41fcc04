"""A model behind an endpoint of OpenAI's form: `POST {LLM_BASE_URL}/chat/completions`, not streamed, no tools (API 6).

Only `choices[0].message.content` is read. Nothing is tried twice here: whoever asks knows whether that is worth it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import openai
from openai.types.chat import ChatCompletionMessageParam

from service.models.asking import Failure, Message, ModelFailed

NO_KEY: Final = "none"
"""For endpoints that ask for none; the client will not go without."""
CONNECT_SECONDS: Final = 3.0

logging.getLogger("httpx").setLevel(logging.WARNING)  # it would tell of every request


class Endpoint:
    """A model of this name at this address. Close it when it is not needed any more."""

    def __init__(self, base_url: str, model: str, key: str | None) -> None:
        self._model = model
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=key or NO_KEY, max_retries=0)

    @property
    def name(self) -> str:
        return self._model

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._client.chat.completions.create(
                    model=self._model,
                    messages=[_message(message) for message in messages],
                    temperature=0,
                    max_tokens=tokens,
                    timeout=openai.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
                )
        except (TimeoutError, openai.APITimeoutError):
            raise ModelFailed("timeout", f"no answer within {seconds:g} seconds") from None
        except openai.APIStatusError as refused:
            raise ModelFailed("unavailable", f"the endpoint answered {refused.status_code}") from None
        except (openai.OpenAIError, ValueError) as fault:
            unreadable = isinstance(fault, openai.APIResponseValidationError | ValueError)
            reason: Failure = "unreadable" if unreadable else "unavailable"
            raise ModelFailed(reason, f"the endpoint could not be used: {type(fault).__name__}") from None
        return _content(answer)

    async def close(self) -> None:
        await self._client.close()


def _content(answer: object) -> str:
    """What came back is not checked by the client: an endpoint may answer anything."""
    choices = getattr(answer, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    content = getattr(message, "content", None)
    if not isinstance(content, str):
        raise ModelFailed("unreadable", "the answer has no choices[0].message.content")
    return content


def _message(message: Message) -> ChatCompletionMessageParam:
    if message.role == "system":
        return {"role": "system", "content": message.content}
    if message.role == "user":
        return {"role": "user", "content": message.content}
    return {"role": "assistant", "content": message.content}
