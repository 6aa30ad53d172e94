"""Logging a browser in and out: by token or by a one-time link, with a cookie that scripts cannot read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ingress.auth.authenticator import COOKIE
from ingress.errors import HttpError
from openclaw_workers.store.browser_logins import SESSION_SECONDS

if TYPE_CHECKING:
    from ingress.context import IngressContext

MOST_SECRET_CHARS = 256
REFUSED = '<!doctype html><meta charset="utf-8"><title>OpenClaw</title><p><a href="/">This link is not valid</a></p>'
LOGGED_IN = '<!doctype html><meta charset="utf-8"><title>OpenClaw</title><p><a href="/">Continue</a></p>'


def routes(context: IngressContext) -> list[BaseRoute]:
    async def login(request: Request) -> Response:
        presented = _token_in(await request.body())
        token = await context.auth.find(request, presented)
        return _logged_in(
            JSONResponse({"ok": True}), await context.call(context.browser_logins.open, token.id), request
        )

    async def link(request: Request) -> Response:
        code = request.query_params.get("code", "")[:MOST_SECRET_CHARS]
        try:
            cookie = await context.auth.redeem(request, code)
        except HttpError as error:
            if error.status != 401 or "text/html" not in request.headers.get("accept", ""):
                raise
            return HTMLResponse(REFUSED, status_code=401, headers={"Refresh": "0; url=/?login=refused"})
        # Not a redirect: after a click in another page, a browser would not send a strict cookie with it.
        return _logged_in(HTMLResponse(LOGGED_IN, headers={"Refresh": "0; url=/"}), cookie, request)

    async def logout(request: Request) -> Response:
        if cookie := request.cookies.get(COOKIE):
            await context.call(context.browser_logins.end, cookie)
            context.auth.forget(cookie)
        response = JSONResponse({"ok": True})
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return response

    return [
        Route("/auth/login", login, methods=["POST"]),
        Route("/auth/link", link, methods=["GET"]),
        Route("/auth/logout", logout, methods=["POST"]),
    ]


def _token_in(body: bytes) -> str:
    try:
        token = json.loads(body)["token"]
    except (ValueError, TypeError, KeyError, RecursionError):
        token = None
    if not isinstance(token, str):
        raise HttpError(422, 'expected a JSON body {"token": "..."}')
    return token[:MOST_SECRET_CHARS]


def _logged_in(response: Response, cookie: str, request: Request) -> Response:
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=SESSION_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    response.headers["Cache-Control"] = "no-store"
    return response
