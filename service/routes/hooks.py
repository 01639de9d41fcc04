"""What vendors post: `/hooks/{channel}/{vendor}/{hook_id}` (API 11).

    1 find the hook: 404 for any other path
    2 check the vendor's signature over the raw bytes: 401
    3 a question how a call begins is answered
    4 the body is stored, sealed; 200 once it is durable, whatever it says
    5 it is read after

No vendor is ever told 400 or 422: to some of them that is final, to others a week of retries.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fastapi import Path
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from channels.delivery import FORM, CallStart, Delivery, Item, Vendor
from channels.fields import Unreadable
from channels.signatures import Received
from channels.vendors import VENDORS
from service.errors import MethodNotAllowed, NotFound, OtherHttp, Unauthenticated
from service.hooks import bodies
from service.hooks.registry import Hook
from service.hooks.starting import begun
from service.hooks.worker import CLAIM_SECONDS
from service.naming import own_numbers
from service.web import edge
from service.web.calls import answered, routes

if TYPE_CHECKING:
    from service.wiring import Parts

router = routes("hooks")

PATH = "/hooks/{channel}/{vendor}/{hook_id}"
INLINE_BYTES = 64 * 1024
"""A larger body is read in a thread, so that nobody else waits for it."""


Handler = Callable[[Request], Awaitable[Response]]


def _route(method: str, operation_id: str, answers: str) -> Callable[[Handler], Handler]:
    """Declares a call that a vendor makes: documented, and answered without a key of ours."""

    def declare(handler: Handler) -> Handler:
        async def documented(
            channel: str = Path(examples=["voice"]),
            vendor: str = Path(examples=["vapi"]),
            hook_id: str = Path(examples=["h_4kX"]),
        ) -> None:
            raise AssertionError("documented only: DirectRoute answers")

        async def handle(request: Request) -> Response:
            return await handler(request)

        documented.handle = handle  # type: ignore[attr-defined]
        router.add_api_route(
            PATH,
            documented,
            methods=[method],
            operation_id=operation_id,
            summary=(handler.__doc__ or operation_id).splitlines()[0],
            description=answers,
            response_class=Response,
            responses={200: {"description": answers}},
        )
        return handler

    return declare


@_route("POST", "take_hook", '200 `{"received": n}` once it is stored; 401 bad signature or stale; 404 unknown hook.')
async def take_hook(request: Request) -> Response:
    """A vendor's delivery, signed as that vendor signs."""
    parts, hook, vendor = await _found(request)
    body = await request.body()
    _check(request, hook, vendor, body, parts)
    delivery = _delivery(parts, hook, body, request.headers.get("content-type"))
    start = _call_start(vendor, delivery, request)
    if start is not None:
        parts.hook_requests.labels(hook.vendor, "call_start").inc()
        return answered(await begun(parts, hook.tenant, start))
    return await _stored(parts, hook, vendor, delivery)


@_route(
    "GET", "greet_hook", "Meta's handshake in plain text, 403 for a wrong token; on an Exotel hook a Passthru delivery."
)
async def greet_hook(request: Request) -> Response:
    """A handshake, or a delivery in the query."""
    parts, hook, vendor = await _found(request)
    if vendor.get == "delivery":
        query = request.scope["query_string"]
        _check(request, hook, vendor, b"", parts)
        return await _stored(parts, hook, vendor, _delivery(parts, hook, query, FORM))
    if vendor.get != "handshake":
        raise MethodNotAllowed
    asked = request.query_params
    token = asked.get("hub.verify_token", "")
    known = hook.verify_token is not None and hmac.compare_digest(token.encode(), hook.verify_token.encode())
    if asked.get("hub.mode") != "subscribe" or not known:
        parts.hook_refusals.note(hook.tenant, hook.hook_id, "handshake", parts.clock())
        raise OtherHttp(403)
    return PlainTextResponse(asked.get("hub.challenge", ""))


async def _found(request: Request) -> tuple[Parts, Hook, Vendor]:
    """1. The hook of this path. Raises `NotFound`."""
    parts: Parts = request.app.state.parts
    named = request.path_params
    vendor = VENDORS.get((named["channel"], named["vendor"]))
    hook = None
    if vendor is not None:
        hook = await parts.hooks.lookup(named["channel"], named["vendor"], named["hook_id"])
    if vendor is None or hook is None:
        raise NotFound
    parts.rate_limit.admit(hook.hook_id)
    edge.note(request.scope, tenant=hook.tenant, vendor=hook.vendor)
    return parts, hook, vendor


def _check(request: Request, hook: Hook, vendor: Vendor, body: bytes, parts: Parts) -> None:
    """2. Raises `NotSigned`. An address is signed as the vendor was given it, not as a proxy passes it on."""
    url = str(request.url)
    if hook.public_url is not None:
        query = request.scope["query_string"].decode("latin-1")
        url = hook.public_url + request.scope["path"] + (f"?{query}" if query else "")
    content_type = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    headers = {name.lower(): value for name, value in request.headers.items()}
    why = vendor.scheme(Received(body, headers, url, content_type == FORM), hook.secret, parts.clock())
    if why is not None:
        edge.note(request.scope, refused=why)
        parts.hook_requests.labels(hook.vendor, why).inc()
        parts.hook_refusals.note(hook.tenant, hook.hook_id, why, parts.clock())
        raise NotSigned


class NotSigned(Unauthenticated):
    """Which of them it is, is told to ops alone."""

    sentence = "the body is not signed with the secret of this hook, or its signature is missing or too old"


def _delivery(parts: Parts, hook: Hook, body: bytes, content_type: str | None) -> Delivery:
    policy = parts.policies.for_tenant(hook.tenant)
    return Delivery(
        body=body,
        received_at=parts.clock(),
        content_type=content_type,
        zone=hook.time_zone,
        region=policy.region,
        own_numbers=own_numbers(policy),
    )


def _call_start(vendor: Vendor, delivery: Delivery, request: Request) -> CallStart | None:
    """3. The question how a call begins, if the body is one."""
    if vendor.call_start is None or len(delivery.body) > INLINE_BYTES:
        return None
    try:
        return vendor.call_start(delivery, request.query_params)
    except Unreadable:
        return None


async def _stored(parts: Parts, hook: Hook, vendor: Vendor, delivery: Delivery) -> Response:
    """4 and 5. Raises `DatabaseUnavailable`: a vendor that retries does so then, and nothing was said to be taken."""
    row = {
        "tenant": hook.tenant,
        "hook_id": hook.hook_id,
        "channel": hook.channel,
        "vendor": hook.vendor,
        "received_at": delivery.received_at,
        "content_type": delivery.content_type[:200] if delivery.content_type else None,
        "time_zone": hook.time_zone,
        "body": await _off_the_loop(len(delivery.body), parts.secrets.seal, delivery.body),
        "claimed_until": delivery.received_at + timedelta(seconds=CLAIM_SECONDS),
    }
    body_id = await parts.database.write(lambda conn: bodies.add(conn, **row))
    parts.hook_requests.labels(hook.vendor, "taken").inc()
    items = await _items(vendor, delivery)
    parts.hook_worker.hand(body_id, items if len(delivery.body) <= INLINE_BYTES else None)
    return answered({"received": sum(item.is_counted for item in items or ())})


async def _items(vendor: Vendor, delivery: Delivery) -> list[Item] | None:
    """What the body tells, to be counted; None when it cannot be read, of which the worker makes what is to be made."""
    try:
        found: list[Item] = await _off_the_loop(len(delivery.body), vendor.parse, delivery)
    except Exception:  # noqa: BLE001 (it is stored: whatever reading it does, the vendor is told so)
        return None
    return found


async def _off_the_loop(size: int, function: Any, argument: Any) -> Any:
    return function(argument) if size <= INLINE_BYTES else await asyncio.to_thread(function, argument)
