"""The page, and what it asks besides the routes of sessions and runs."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rxagent.plugins import PluginManager
from rxagent.runner import Runner
from rxagent.streams import aio

from .desk import Desk
from .recording import ModelCalls
from .session_routes import json_response

__all__ = ["PAGE_PATHS", "page_routes"]

PAGE_PATHS: Final = frozenset({"/"})
"""What is the same for everybody, and holds no secret: the page itself asks for the token."""


def page_routes(desk: Desk) -> list[Route]:
    """For `create_app(..., more=(page_routes,))`; each runner gets a plugin that remembers its latest model calls.

    GET /                      the page
    GET /runs/R/model-calls    [{"invocationId", "agent", "startedAt", "firstMs", "tookMs", "events", "request",
                               "response"?, "error"?}]: of the run's invocation, as far as this process remembers it
    """
    return _PageRoutes(desk).routes()


@final
class _PageRoutes:
    __slots__ = ("_calls", "_desk")

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._calls = {name: _recorded(runner) for name, runner in desk.runners.items()}

    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            Route("/runs/{run}/model-calls", self.model_calls),
        ]

    async def page(self, _: Request) -> Response:
        """GET /"""
        text, policy = _page()
        headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
        return Response(text, 200, headers, "text/html")

    async def model_calls(self, request: Request) -> Response:
        """GET what the models of a run were asked, and answered."""
        record = await self._desk.find(request.path_params["run"])
        calls = self._calls[record.key.app_name].of_invocation(record.invocation_id)
        return json_response(await aio.in_thread(lambda: [call.as_json() for call in calls]))


def _recorded(runner: Runner) -> ModelCalls:
    """The runner's recording plugin; it gets one when it has none."""
    for plugin in runner.plugins.plugins:
        if isinstance(plugin, ModelCalls):
            return plugin
    calls = ModelCalls()
    runner.plugins = PluginManager((calls, *runner.plugins.plugins))
    return calls


@cache
def _page() -> tuple[str, str]:
    """The page, and the policy that lets it run its own code, talk to its own server, and do nothing else."""
    text = files(__package__).joinpath("page/index.html").read_text("utf-8")
    policy = {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "script-src": " ".join(_hashes(text, "script")),
        "style-src": " ".join(_hashes(text, "style")),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return text, "; ".join(f"{name} {value}" for name, value in policy.items())


def _hashes(text: str, tag: str) -> Iterable[str]:
    for body in re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", text, re.DOTALL):
        yield f"'sha256-{b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
