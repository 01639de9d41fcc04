"""Lists as files that a spreadsheet opens: what a cell says is text there, and never a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from starlette.responses import Response

from service.pages.drawing import hide
from service.pages.page import HEADERS, Visit

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""With one of these at its beginning a spreadsheet calculates a cell; the wide ones are read as the narrow."""


def wants_csv(visit: Visit) -> bool:
    return visit.request.query_params.get("form") == "csv"


def csv_of(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Response:
    """These columns of these rows, in UTF-8 with the mark by which spreadsheets know it."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([[cell(row.get(column)) for column in columns] for row in rows])
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response("\ufeff" + written.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def cell(value: Any) -> str:
    """A value as a cell that no spreadsheet takes for a formula; numbers of people are masked."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime() | date():
            return value.isoformat()
        case int() | float():
            return str(value)
        case list() | tuple():
            return "; ".join(cell(part) for part in value)
        case dict():
            return "; ".join(f"{name}={part}" for name, part in value.items())
    text = hide(str(value))
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) or text.startswith(_FORMULA) else text
