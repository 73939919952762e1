"""ADK's own web UI, in front of this server: the static bundle of google-adk, and the routes that it asks."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from rxagent.errors import UsageError

from .adk_ui_graph import as_dot, as_tree
from .adk_ui_traces import SessionTraces
from .desk import Desk
from .ids import checked_id
from .session_routes import json_response

__all__ = ["ADK_UI", "ADK_UI_PATHS", "adk_ui_routes", "find_adk_ui"]

ADK_UI: Final = "/dev-ui/"
"""Where it is."""
ADK_UI_PATHS: Final = frozenset({"/dev-ui", "/dev-ui/*"})
"""What is the same for everybody, and holds no secret. The UI has no way to send a token with all else it asks."""

_BUNDLE: Final = Path("cli", "browser")
_FIRST: Final = "index.html"
_APP: Final = "/dev/apps/{app}"
_NO_TELEMETRY: Final = {"telemetry": False}  # not None: then the UI would ask its user


def find_adk_ui(folder: str | Path | None = None) -> Path:
    """The folder of the bundle: this one, else that of the google-adk that is installed, which is not imported.

    Raises UsageError when there is none.
    """
    if folder is not None:
        if not Path(folder, _FIRST).is_file():
            raise UsageError(f"{str(folder)!r} has no {_FIRST}; give the folder google/adk/cli/browser of ADK Python")
        return Path(folder)
    try:
        spec = find_spec("google.adk")
    except ModuleNotFoundError:
        spec = None
    for place in (spec and spec.submodule_search_locations) or ():
        if Path(place, _BUNDLE, _FIRST).is_file():
            return Path(place, _BUNDLE)
    raise UsageError("ADK's UI is not there; pip install google-adk, or give its folder google/adk/cli/browser")


def adk_ui_routes(folder: Path) -> Callable[[Desk], list[BaseRoute]]:
    """For `create_app(..., more=(page_routes, adk_ui_routes(find_adk_ui())))`. Behind `page_routes`, whose memory of
    model calls its panes show, too.

    GET /dev-ui/                        the UI; /dev-ui/?app=APP opens an app
    GET /config/telemetry               {"telemetry": false}, whatever is sent to it
    GET /dev/apps/A/build_graph         the agents and their tools, as ADK's UI wants them
    GET /dev/apps/A/build_graph_image   {"": {"dotSrc"}}: the same as a graph
    GET /dev/apps/A/debug/trace/session/S   [span]: the session's runs and model calls, as far as they are known
    GET /dev/apps/A/...                 what rxagent does not have: no evaluations, no tests, nothing for the builder
    """
    return lambda desk: _AdkUi(desk, folder).routes()


@final
class _AdkUi:
    __slots__ = ("_desk", "_folder", "_traces")

    def __init__(self, desk: Desk, folder: Path) -> None:
        self._desk = desk
        self._folder = folder
        self._traces = SessionTraces(desk)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/dev-ui", _to_ui),
            Route("/dev-ui/assets/config/runtime-config.json", _config),
            Mount(ADK_UI, StaticFiles(directory=self._folder, html=True)),
            Route("/config/telemetry", _telemetry, methods=["GET", "POST"]),
            Route(_APP + "/build_graph", self.tree),
            Route(_APP + "/build_graph_image", self.graph),
            Route(_APP + "/debug/trace/session/{session}", self.spans),
            Route(_APP + "/builder", self.builder),
            *(Route(_APP + path, self.nothing(value)) for path, value in _NOTHING.items()),
        ]

    async def tree(self, request: Request) -> Response:
        """GET the app, its agents and tools."""
        runner = self._desk.runner(request.path_params["app"])
        return json_response({"name": runner.app_name, "root_agent": as_tree(runner.agent)})

    async def graph(self, request: Request) -> Response:
        """GET the app as a graph."""
        runner = self._desk.runner(request.path_params["app"])
        if request.query_params.get("node"):
            raise HTTPException(404, "this graph has no levels; ask for it without ?node=")
        is_dark = request.query_params.get("dark_mode", "").lower() in ("1", "true")
        return json_response({"": {"dotSrc": as_dot(runner.agent, is_dark)}})

    async def spans(self, request: Request) -> Response:
        """GET what is known of a session's runs."""
        runner = self._desk.runner(request.path_params["app"])
        session_id = checked_id("sessionId", request.path_params["session"])
        return json_response(await self._traces.of(runner, session_id))

    async def builder(self, request: Request) -> Response:
        """GET the file of an agent: there is none, agents are code here."""
        self._desk.runner(request.path_params["app"])
        return PlainTextResponse("")

    def nothing(self, value: Any) -> Callable[[Request], Any]:
        """A route that has nothing to tell."""

        async def nothing(request: Request) -> Response:
            self._desk.runner(request.path_params["app"])
            return json_response(value)

        return nothing


_NOTHING: Final[dict[str, Any]] = {
    "/eval_sets": [],
    "/eval-sets": {"evalSetIds": []},
    "/eval_results": [],
    "/eval-results": {"evalResultIds": []},
    "/metrics-info": {"metricsInfo": []},
    "/tests": [],
    "/users/{user}/sessions/{session}/events/{event}/graph": {},
}
"""What ADK answers when there is nothing."""


async def _to_ui(request: Request) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(ADK_UI + query)


async def _config(_: Request) -> Response:
    return json_response({"backendUrl": "", **_NO_TELEMETRY}, headers={"Cache-Control": "no-store"})


async def _telemetry(_: Request) -> Response:
    return json_response(_NO_TELEMETRY)
