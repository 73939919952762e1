"""The application: routes, middleware, what happens at its end."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from rxagent.errors import RxAgentError
from rxagent.runner import Runner

from .artifact_routes import ArtifactRoutes
from .desk import Desk
from .faults import status_of
from .guard import Guard
from .run_routes import RUN_ID, RunRoutes
from .session_routes import SessionRoutes, json_response
from .settings import ServeSettings

__all__ = ["create_app", "desk_of"]


def create_app(
    *runners: Runner,
    settings: ServeSettings | None = None,
    more: Iterable[Callable[[Desk], Iterable[BaseRoute]]] = (),
) -> Starlette:
    """A Starlette application that serves these runners, each as an app under its name.

    more: functions that make further routes, given the desk. The runners stay the caller's, who closes them. At the
    end of its lifespan the application stops its runs (`worker_shutdown`) and waits until they have sealed.
    """
    settings = settings or ServeSettings()
    desk = Desk(runners, settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await desk.close()

    routes: list[BaseRoute] = list(_own_routes(desk))
    for kind in (SessionRoutes, ArtifactRoutes, RunRoutes):
        routes += kind(desk).routes()
    for make in more:
        routes += make(desk)
    middleware = [Middleware(Guard, settings=settings)]
    if settings.cors:
        exposed = (RUN_ID, "Rxagent-Outcome", "Rxagent-Last-Seq")
        cors = Middleware(
            CORSMiddleware,
            allow_origins=settings.cors,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            expose_headers=exposed,
        )
        middleware.insert(0, cors)  # outside, so that a refusal can be read, too
    app = Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={HTTPException: _refused, RxAgentError: _failed, Exception: _broken},
        lifespan=lifespan,
    )
    app.state.desk = desk
    return app


def desk_of(app: Starlette) -> Desk:
    """The desk of an application that `create_app` made."""
    desk: Desk = app.state.desk
    return desk


def _own_routes(desk: Desk) -> list[Route]:
    async def health(_: Request) -> Response:
        return json_response({"status": "ok"})

    async def versions(_: Request) -> Response:
        said = {"version": version("rxagent"), "language": "python", "language_version": platform.python_version()}
        return json_response(said)

    async def metrics(_: Request) -> Response:
        text = desk.metrics.text(desk.standing(), desk.readers)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return [Route("/health", health), Route("/version", versions), Route("/metrics", metrics)]


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return json_response({"detail": error.detail}, error.status_code, error.headers)


async def _failed(_: Request, error: Exception) -> Response:
    return json_response({"detail": str(error)}, status_of(error))


async def _broken(_: Request, error: Exception) -> Response:
    return json_response({"detail": f"{type(error).__name__}: {error}"}, 500)
