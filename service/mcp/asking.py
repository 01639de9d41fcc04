"""A tool's arguments become a request of its operation, which answers as it does over HTTP.

    1 each argument goes where the operation takes it: its path, its query, or its body
    2 the operation answers: key, scope, tenant, strict reading and refusals are its own
    3 what it raises is the same problem, with its code

It knows neither the protocol that brought the arguments nor what any operation is about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from service.errors import FieldError, InvalidBody
from service.mcp.tool import Tool
from service.web import edge
from service.web.calls import JSON, DirectRoute, taken_by
from service.web.rendering import problem_for, problem_response

_IN_PATH: Final = re.compile(r"{(\w+)}")


class Asking:
    """One tool over its operation. Raises `LookupError` when there is no such operation."""

    def __init__(self, tool: Tool, operations: Mapping[str, DirectRoute]) -> None:
        if tool.operation not in operations:
            raise LookupError(f"a tool names the operation {tool.operation}, which is none")
        self.tool = tool
        self._route = operations[tool.operation]
        self._method = min(self._route.methods or ())
        self._in_path = tuple(_IN_PATH.findall(self._route.path))
        self._takes = taken_by(self._route)
        self._in_query = frozenset(
            field.alias or name for name, field in (self._takes.query.model_fields if self._takes.query else {}).items()
        )

    # -- what it takes --------------------------------------------------------------------------------------------

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The arguments as a JSON schema: made when an agent first asks, for it takes longer than the rest of the start."""
        properties: dict[str, Any] = {}
        definitions: dict[str, Any] = {}
        required: list[str] = list(self._in_path)
        for name in self._in_path:
            properties[name] = {"type": "string", "description": f"as `{name}` in the answer of `resume`"}
        for part in (self._takes.query, self._takes.body):
            if part is None:
                continue
            schema = _lean(TypeAdapter(part).json_schema())
            definitions |= schema.pop("$defs", {})
            if part is self._takes.body and self.tool.whole is not None:
                properties[self.tool.whole] = schema
                required.append(self.tool.whole)
            else:
                properties |= schema["properties"]
                required += schema.get("required", [])
        whole: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        return {**whole, "additionalProperties": False, **({"$defs": definitions} if definitions else {})}

    # -- 1 to 3 ---------------------------------------------------------------------------------------------------

    async def answer(self, arguments: Mapping[str, Any], asked_in: Request) -> Response:
        """What the operation answers to the key that asked; its refusals are answers too. Raises nothing."""
        try:
            return await self._route.get_route_handler()(self._request(arguments, asked_in))
        except Exception as error:  # noqa: BLE001  # as the edge does: the agent is owed an answer in our form
            return problem_response(problem_for(error))

    def _request(self, arguments: Mapping[str, Any], asked_in: Request) -> Request:
        rest = dict(arguments)
        in_path = self._texts(rest, self._in_path, needed=True)
        in_query = self._texts(rest, self._in_query, needed=False)
        if self.tool.whole is not None:
            if unknown := sorted(set(rest) - {self.tool.whole}):
                raise InvalidBody([FieldError(name, "unknown_field") for name in unknown])
            if self.tool.whole not in rest:
                raise InvalidBody([FieldError(self.tool.whole, "missing")])
            rest = rest[self.tool.whole]
        elif self._takes.body is None and rest:
            raise InvalidBody([FieldError(name, "unknown_field") for name in sorted(rest)])
        path = _IN_PATH.sub(lambda found: quote(in_path[found[1]], safe=""), self._route.path)
        scope = edge.beneath(
            asked_in.scope,
            b"" if self._takes.body is None else json.dumps(rest).encode(),
            method=self._method,
            path=path,
            raw_path=path.encode(),
            path_params=in_path,
            query_string=urlencode(in_query).encode(),
            route=self._route,
            headers=[
                *((name, value) for name, value in asked_in.scope["headers"] if name == b"authorization"),
                (b"content-type", JSON.encode()),
            ],
        )
        return Request(scope, _nothing_more)

    def _texts(self, rest: dict[str, Any], names: Iterable[str], *, needed: bool) -> dict[str, str]:
        """These arguments, taken out of `rest`, as they are written in a URL. Raises `InvalidBody`."""
        found: dict[str, str] = {}
        for name in sorted(names):
            value = rest.pop(name, None)
            if value is None:
                if needed:
                    raise InvalidBody([FieldError(name, "missing")])
                continue
            if not isinstance(value, str) and (not isinstance(value, int) or "string" in self._kinds(name)):
                raise InvalidBody([FieldError(name, "wrong_type")])
            found[name] = value if isinstance(value, str) else json.dumps(value)
        return found

    def _kinds(self, name: str) -> set[str]:
        """The types of JSON that this argument may have: an id is text, and a number no id."""
        schema = self.schema["properties"][name]
        return {one["type"] for one in schema.get("anyOf", [schema]) if "type" in one}


def _lean(schema: Any) -> Any:
    """Without the titles that repeat each name and the nulls that are the default of everything: a model reads it all."""
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _lean(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str)) and not (name == "default" and value is None)
    }


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}
