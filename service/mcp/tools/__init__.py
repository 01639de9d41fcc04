"""The tools there are: every module here has one, named `TOOL`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from service.mcp.tool import Tool


def _found() -> tuple[Tool, ...]:
    modules = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").TOOL for name in modules)


TOOLS: Final[tuple[Tool, ...]] = _found()
