"""Guard: who may ask."""

from __future__ import annotations

import hmac
from typing import Final, final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .settings import ServeSettings

__all__ = ["Guard"]

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@final
class Guard:
    """Checks Host, Origin and token before a request reaches a route (an ASGI middleware).

    A web page of another origin may not write: browsers send some requests without asking first, and a server on
    loopback is reached from any page. The token is compared in constant time.
    """

    __slots__ = ("_app", "_public", "_public_below", "_settings", "_token")

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._public = settings.public | {"/health"}
        self._public_below = tuple(path.removesuffix("*") for path in self._public if path.endswith("/*"))
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 or 403."""
        if scope["type"] in ("http", "websocket"):
            refusal = self._refusal(scope, Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        host = headers.get("host", "")
        hosts = self._settings.hosts
        if hosts is not None and (urlsplit(f"//{host}").hostname or "") not in hosts:
            return _refuse(403, f"this server is not called {host!r}; name it with --host, or ask it as localhost")
        origin = headers.get("origin")
        if scope.get("method") not in _READING and origin is not None and not self._is_welcome(origin, host):
            return _refuse(403, f"pages of {origin} may not write here; allow them with --cors {origin}")
        if self._token is None or self._is_public(scope["path"]) or scope.get("method") == "OPTIONS":
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
            return None
        return _refuse(401, "send the header Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})

    def _is_public(self, path: str) -> bool:
        return path in self._public or path.startswith(self._public_below)

    def _is_welcome(self, origin: str, host: str) -> bool:
        allowed = self._settings.cors
        return "*" in allowed or origin in allowed or urlsplit(origin).netloc == host


def _refuse(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)
