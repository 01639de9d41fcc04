"""How a page is declared, drawn and refused.

A page's function gets a `Visit` (who asks, with which parts, for which tenant) and answers a response. Nobody signed in is led
to the door and back; a refusal, and an outage, is a page that says so in words, never a page without rows.

This file knows no borrower and no table.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl, quote

import structlog
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from service.errors import InvalidBody, MissingScope, Problem, Unavailable
from service.pages import session
from service.pages.drawing import Frame, Page, Refused, draw
from service.pages.drawing import words as words_of
from service.pages.session import Person
from service.web import edge
from service.web.calls import Parameters, checked
from service.web.rendering import problem_for

if TYPE_CHECKING:
    from service.wiring import Parts

CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FORM_FIELDS: Final = 40
SIGN_IN: Final = "/ops/sign-in"
ACT: Final = "events:ops"
ROOMS: Final = (
    ("/ops", "Overview", ""),
    ("/ops/borrowers", "Borrowers", ""),
    ("/ops/promises", "Promises", ""),
    ("/ops/callbacks", "Callbacks", ""),
    ("/ops/conversations", "Conversations", ""),
    ("/ops/missing-reports", "Missing reports", "Waiting for somebody"),
    ("/ops/set-aside", "Set aside", ""),
    ("/ops/chats", "Chats waiting", ""),
    ("/ops/corrections", "Corrections", ""),
    ("/ops/resumes", "Resumes", "How agents do"),
    ("/ops/shadow", "Shadow", ""),
    ("/ops/rollout", "Roll-out", ""),
    ("/ops/deliveries", "Deliveries", "The service"),
    ("/ops/hooks", "Hooks", ""),
    ("/ops/system", "System", ""),
    ("/ops/audit", "Audit", ""),
)
"""The pages that have a place of their own, in the order in which they are asked for; and what a group of them begins with."""

log = structlog.get_logger("service.pages")
M = TypeVar("M", bound=Parameters)


class FormNotOurs(Problem):
    status, code, title = 403, "form_not_ours", "This form is not one of ours"
    sentence = "the form was not sent from a page of this session: go back, load the page again and send it once more"


@dataclass(slots=True)
class Visit:
    """One request for a page. It may stand as a `Source` of what is posted: it has parts and a tenant."""

    request: Request
    parts: Parts
    person: Person
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def tenant(self) -> str:
        return self.person.key.tenant

    def may(self, scope: str) -> bool:
        return scope in self.person.key.scopes

    def require(self, scope: str) -> None:
        """Raises `MissingScope` unless the key has it."""
        if not self.may(scope):
            raise MissingScope(scope)

    def query(self, model: type[M]) -> M:
        """The query as this model. A field of a form that was left blank is one that is not there."""
        items = [(name, value) for name, value in self.request.query_params.multi_items() if value != ""]
        return checked(model, dict(items))

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def frame(self) -> Frame:
        """What stands around every page."""
        policy = self.parts.policies.for_tenant(self.tenant)
        return Frame(
            tenant=self.tenant,
            name=self.person.name,
            acts=self.may(ACT),
            keeps_privacy=self.may("privacy"),
            token=session.form_token(self.person, self.parts.secrets),
            zone=policy.time_zone,
            region=policy.region,
            now=self.parts.clock(),
            here=self.request.url.path,
            is_further=bool(self.request.query_params.get("cursor")),
            fresh=self.request.method == "GET",
            policy_problem=self.parts.policies.problem_of(self.tenant) or "",
            rooms=ROOMS,
        )

    def show(self, page: Page, status: int = 200) -> Response:
        return HTMLResponse(draw(page, self.frame()), status, headers=HEADERS)


Handler = Callable[[Visit], Awaitable[Response]]


def pages() -> APIRouter:
    """The pages of one room; none of them is among the calls that are documented."""
    return APIRouter(include_in_schema=False)


def page(router: APIRouter, method: str, path: str, *, scope: str = session.SCOPE) -> Callable[[Handler], Handler]:
    """Declares a page; `scope` is what the key must have besides that of the dashboard."""

    def declare(handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            parts: Parts = request.app.state.parts
            visit: Visit | None = None
            try:
                person = await session.person_of(request, parts)
                if person is None:
                    return to_the_door(request)
                parts.rate_limit.admit(person.key.key_id)
                edge.note(request.scope, tenant=person.key.tenant, key=person.key.key_id)
                visit = Visit(request, parts, person)
                visit.require(scope)
                if method == "POST":
                    visit.form = await form_of(request)
                    token = visit.form.get("token", "")
                    if not session.is_same_site(request) or not session.is_ours(token, person, parts.secrets):
                        raise FormNotOurs
                return await handler(visit)
            except Exception as fault:  # noqa: BLE001 (the outermost catch of a page: a person is owed one that says what failed)
                return refused(problem_for(fault), visit)

        router.add_api_route(path, answer, methods=[method], response_class=Response)
        return handler

    return declare


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each once. Raises `InvalidBody` for what is none."""
    try:
        pairs = parse_qsl(
            (await request.body()).decode("ascii"), keep_blank_values=True, max_num_fields=FORM_FIELDS, errors="strict"
        )
    except ValueError:
        raise InvalidBody([]) from None
    return {name: value.strip() for name, value in pairs}


_A_BORROWER: Final = re.compile(r"/ops/borrowers/[^/]+")


def to_the_door(request: Request) -> Response:
    """Where one signs in, and from there back to where one wanted to be: of a borrower's form, to the borrower."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.method != "GET":
        found = _A_BORROWER.match(request.url.path)
        wanted = found[0] if found else session.PATH
    back = f"?next={quote(wanted, safe='')}" if wanted != session.PATH else ""
    return RedirectResponse(f"{SIGN_IN}{back}", 303, headers={"Cache-Control": "no-store"})


def seen_again(path: str) -> Response:
    """After something was done: the page that shows it, so that loading it again does nothing twice."""
    return RedirectResponse(path, 303, headers={"Cache-Control": "no-store"})


TITLES: Final = {
    "invalid_body": "This cannot be shown or done",
    "missing_scope": "Your key may not do this",
    "not_found": "There is no such page",
    "unavailable": "It cannot be read just now",
}
"""Of a refusal, by its code, where the API's own title is no word for whoever reads a page."""
WRONG: Final = {
    "unknown_field": "is not asked here",
    "missing": "is missing",
    "wrong_type": "cannot be read",
    "not_in_enum": "is none of the values there are",
    "not_a_date": "is no date",
    "naive_timestamp": "is a time without its zone",
    "bad_id": "can be no id",
    "too_long": "is too long",
    "invalid_identifier": "can be no number or address",
    "unknown_identifier": "is another than the one that was linked",
    "not_the_borrowers_id": "is not the borrower's id",
}
"""What a refused field is, after its name."""


def what_is_wrong(refusal: InvalidBody, labels: Mapping[str, str]) -> str:
    """In words, for the form that was sent: each field by the label that it has there."""
    told = [
        f"{labels.get(one.field.rpartition('.')[2], one.field)}: {WRONG.get(one.code, words_of(one.code))}."
        for one in refusal.errors
    ]
    return " ".join(told) or refusal.detail


def refused(problem: Problem, visit: Visit | None) -> Response:
    """A refusal or an outage as a page. An outage never looks like a list without rows."""
    is_ours = problem.status >= 500
    asked = visit.request if visit is not None and problem.errors and visit.request.method == "GET" else None
    words = Refused(
        title=TITLES.get(problem.code, problem.title),
        status=problem.status,
        detail=problem.detail,
        fields=tuple(f"{error.field}: {WRONG.get(error.code, words_of(error.code))}" for error in problem.errors),
        is_outage=isinstance(problem, Unavailable) or is_ours,
        without=asked.url.path if asked is not None and asked.url.query else "",
    )
    frame = visit.frame() if visit is not None else None
    return HTMLResponse(draw(words, frame), problem.status, headers={**problem.headers(), **HEADERS})
