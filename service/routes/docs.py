"""The page on which the calls can be read and tried, and the way to it from the bare address; no key.

The page is Swagger UI as a package brings it with itself, so it works where nothing outside can be reached, and its policy
lets it load and ask nothing but this service.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from service.web.answers import document_answers

router = APIRouter(include_in_schema=False)

TEMPLATES: Final = Path(__file__).parents[2] / "templates"
CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # the style sheet draws its arrows so
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
FILES: Final = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
    "start.js": "text/javascript",
}
"""What the page loads, beneath `/docs/`."""


@router.get("/")
async def landing() -> Response:
    """Whoever opens the bare address in a browser wants to know what is here."""
    return RedirectResponse("docs")


@router.get("/docs")
async def page(request: Request) -> Response:
    app = request.app
    return HTMLResponse(_PAGE.render(title=app.title, document=app.openapi_url.removeprefix("/")), headers=HEADERS)


def _serve(name: str, media_type: str) -> None:
    here = TEMPLATES / "docs.js" if name == "start.js" else files("fastapi_offline") / "static" / name
    content = here.read_bytes()

    @router.get(f"/docs/{name}")
    async def file() -> Response:
        return Response(content, media_type=media_type, headers=HEADERS)


for _name, _media_type in FILES.items():
    _serve(_name, _media_type)

_PAGE = Environment(
    loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True, keep_trailing_newline=True
).get_template("docs.html.j2")


def document_keys(app: FastAPI) -> None:
    """The framework's document of the calls, which says how a key is given too (the page then has a field for it), and what
    is answered; made once."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made()
            document.setdefault("components", {})["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
            document_answers(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
