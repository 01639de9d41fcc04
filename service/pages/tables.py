"""Lists as files that a spreadsheet opens: what a cell says is text there, and never a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Final

from starlette.responses import Response

from service.pages.drawing import hide, hide_in_id
from service.pages.page import HEADERS, Visit

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""With one of these at its beginning a spreadsheet calculates a cell; the wide ones are read as the narrow."""
LENDERS: Final = frozenset({"loan_id", "cycle_id", "amount", "outstanding"})
"""Columns in which no number of a person can stand, however long theirs are: shown as they are, as the pages do."""
CUSTOMERS: Final = frozenset({"borrower_id", "borrowers"})
IDS: Final = frozenset({"conversation_id", "event_id", "decision_id", "resume_id", "entity"})
"""Columns of ids, which tell one row from another: masked in them is what can be called, and not every long number."""


def wants_csv(visit: Visit) -> bool:
    return visit.request.query_params.get("form") == "csv"


def csv_of(visit: Visit, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Response:
    """These columns of these rows, in UTF-8 with the mark by which spreadsheets know it."""
    region = visit.parts.policies.for_tenant(visit.tenant).region
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([[_of_column(column, row.get(column), region) for column in columns] for row in rows])
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response("\ufeff" + written.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _of_column(name: str, value: Any, region: str) -> str:
    if name in LENDERS:
        return cell(value, masked=str)
    if name in CUSTOMERS or name in IDS:
        return cell(value, masked=partial(hide_in_id, region=region, abroad=name in IDS))
    return cell(value)


def cell(value: Any, masked: Callable[[str], str] = hide) -> str:
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
            return "; ".join(cell(part, masked) for part in value)
    text = masked(str(value))
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) or text.startswith(_FORMULA) else text
