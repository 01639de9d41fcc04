"""`GET /v1/ops/rollout`: what each switch of a mode has changed, for whoever decides about the next one (DESIGN 16)."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from service.rollout import as_csv, measures
from service.routes.reads import OfNothing, after, readable
from service.web.calls import Call, answered, call, routes

router = routes("ops")

FORMATS: Final = ("json", "csv")


def _format(value: object) -> object:
    if value not in FORMATS:
        raise PydanticCustomError("not_in_enum", "json or csv")
    return value


class OfRollout(OfNothing):
    """In which form; JSON where none is given."""

    format: Annotated[str, BeforeValidator(_format)] = "json"


@call(
    router, "GET", "/v1/ops/rollout", "get_rollout", scope="ops", query=OfRollout,
    answers="200: for each channel its mode, the measures since the last switch, and before and since each one.",
)  # fmt: skip
async def get_rollout(call: Call) -> Response:
    """The measures of a roll-out, before and since each switch of a mode."""
    wanted = call.query(OfRollout)
    await after(call, wanted.after)
    with readable(call):
        found = await measures(call.parts, call.tenant)
    if wanted.format == "csv":
        return Response(as_csv(found), media_type="text/csv")
    return answered(found)
