"""What stands at every other address beneath the room: a page, since a person is there and not a program.

A borrower's addresses to which only forms are sent lead, when they are typed or come back to after signing in, to the borrower.
"""

from __future__ import annotations

from starlette.responses import Response

from service.errors import NotFound
from service.pages.drawing import segment
from service.pages.page import Visit, page, pages, seen_again

router = pages()


@page(router, "GET", "/ops/borrowers/{borrower_id}/reveal")
@page(router, "GET", "/ops/borrowers/{borrower_id}/export")
async def borrower(visit: Visit) -> Response:
    return seen_again(f"/ops/borrowers/{segment(visit.path('borrower_id'))}")


@page(router, "GET", "/ops/{rest:path}")
async def nothing(visit: Visit) -> Response:
    raise NotFound
