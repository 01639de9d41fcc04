"""The door: signing in with a key that bears a person's name, and out again; and the files that every page loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import structlog
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from service import audit
from service.pages import session
from service.pages.drawing import ROOM, Page, draw
from service.pages.page import HEADERS, SIGN_IN, FormNotOurs, Visit, form_of, page, pages, refused, seen_again
from service.web.rendering import problem_for

if TYPE_CHECKING:
    from service.wiring import Parts

router = pages()
log = structlog.get_logger("service.pages")

KEY_CHARACTERS: Final = 300
FILES: Final = {"ops.css": "text/css", "ops.js": "text/javascript", "mark.svg": "image/svg+xml"}


@dataclass(frozen=True)
class SignIn(Page):
    """The door. `back` is where one wanted to be, a path of ours."""

    template: ClassVar[str] = "sign_in.html.j2"
    back: str
    problem: str


def _back(given: str | None) -> str:
    """A path of the dashboard; never another site, whatever was put in the address."""
    fits = given is not None and (given == "/ops" or given.startswith(("/ops/", "/ops?"))) and given.isprintable()
    return given if fits and given is not None and "\\" not in given and not given.startswith(SIGN_IN) else session.PATH


def _door(back: str, problem: str = "", status: int = 200) -> Response:
    return HTMLResponse(draw(SignIn(back, problem), None), status, headers=HEADERS)


@router.get(SIGN_IN)
async def door(request: Request) -> Response:
    return _door(_back(request.query_params.get("next")))


@router.post(SIGN_IN)
async def sign_in(request: Request) -> Response:
    """Opens a session for a key in force that has the scope and bears a name."""
    parts: Parts = request.app.state.parts
    try:
        if not session.is_same_site(request):
            raise FormNotOurs
        form = await form_of(request)
        back = _back(form.get("next"))
        given = form.get("key", "")[:KEY_CHARACTERS]
        key = await parts.keyring.lookup(given) if given else None
        if key is None:
            return _door(back, "There is no such key, or it has been revoked.", 401)
        if (why := session.may_enter(key)) is not None:
            return _door(back, why, 403)
        parts.rate_limit.admit(key.key_id)
        now = parts.clock()
        begun = session.begun(key, now)
        line = audit.Line(key.tenant, now, session.Person(key, begun).who, "signed_in")
        await parts.database.write(lambda conn: audit.add(conn, line))
        response = seen_again(back)
        session.put(response, begun, parts.secrets, request, now)
        return response
    except Exception as fault:  # noqa: BLE001 (the outermost catch of a page: a person is owed one that says what failed)
        return refused(problem_for(fault), None)


@page(router, "POST", "/ops/sign-out")
async def sign_out(visit: Visit) -> Response:
    response = seen_again(SIGN_IN)
    session.drop(response)
    return response


def _serve(name: str, media_type: str) -> None:
    content = (ROOM / name).read_bytes()
    headers = {**HEADERS, "Cache-Control": "no-cache"}

    @router.get(f"/ops/{name}")
    async def file() -> Response:
        return Response(content, media_type=media_type, headers=headers)


for _name, _media_type in FILES.items():
    _serve(_name, _media_type)
