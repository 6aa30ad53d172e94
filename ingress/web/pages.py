"""The page under `/`, its files under `/assets`, and the rendering of what a model wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ingress.errors import HttpError
from ingress.web.assets import Asset, load_assets
from openclaw_workers.domain.tokens import Scope

if TYPE_CHECKING:
    from ingress.context import IngressContext

VIEWS = ("chat", "runs", "fleet", "schedules", "memory", "skills", "usage")
"""Each has its own address and addresses below it; the script of the page reads them. As in static/js/nav.js."""
MOST_BODY_BYTES = 4 * 1024 * 1024
MOST_TEXTS = 64
VERSION = version("openclaw-workers")
NOT_KEPT = {"Cache-Control": "no-store"}

HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self' data: blob:",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # The browser asks each time whether a file has changed, so that an update needs no other names.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


class RenderRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    texts: list[str] = Field(max_length=MOST_TEXTS)


def routes(context: IngressContext) -> list[BaseRoute]:
    assets = load_assets()
    page = assets["index.html"]

    async def show_page(request: Request) -> Response:
        return _file(request, page)

    async def show_asset(request: Request) -> Response:
        return _file(request, _find(assets, request.path_params["path"]))

    async def me(request: Request) -> Response:
        """Who is signed in; null if nobody is. The API answers 401, which a browser would report as an error."""
        try:
            principal = await context.auth.principal(request)
        except HttpError as error:
            if error.status != 401:
                raise
            return JSONResponse({"version": VERSION, "me": None}, headers=NOT_KEPT)
        known = {"scope": principal.scope, "agent": principal.agent, "person": principal.person}
        return JSONResponse({"version": VERSION, "me": known}, headers=NOT_KEPT)

    async def render(request: Request) -> Response:
        await context.auth.require(request, Scope.READ)
        asked = await _render_request(request)
        return JSONResponse({"html": await context.call(_rendered, asked.texts)})

    return [
        Route("/", show_page, methods=["GET"]),
        *(Route(f"/{view}", show_page, methods=["GET"]) for view in VIEWS),
        *(Route(f"/{view}/{{rest:path}}", show_page, methods=["GET"]) for view in VIEWS),
        Route("/assets/{path:path}", show_asset, methods=["GET"]),
        Route("/web/me", me, methods=["GET"]),
        Route("/web/render", render, methods=["POST"]),
    ]


def _rendered(texts: Sequence[str]) -> list[str | None]:
    from ingress.web.render import render_markdown  # noqa: PLC0415 - 2 MB that an ingress without viewers does not need

    return [render_markdown(text) for text in texts]


def _find(assets: Mapping[str, Asset], path: str) -> Asset:
    asset = assets.get(path)
    if asset is None or path == "index.html":
        raise HttpError(404, f"no such file: {path[:200]}")
    return asset


def _file(request: Request, asset: Asset) -> Response:
    headers = {**HEADERS, "ETag": asset.etag}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    body = asset.body
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = asset.compressed
    return Response(body, media_type=asset.media_type, headers=headers)


async def _render_request(request: Request) -> RenderRequest:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise HttpError(413, f"at most {MOST_BODY_BYTES} bytes can be rendered at once")
    try:
        return RenderRequest.model_validate_json(bytes(body))
    except ValidationError as error:
        raise HttpError(422, 'expected a JSON body {"texts": ["..."]}', hint=str(error.errors()[0]["msg"])) from None
