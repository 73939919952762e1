"""The application as a whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rxagent import LlmAgent, Runner, SqliteSessionService
from rxagent.errors import StoreError
from rxagent.serve import create_app
from rxagent.serve.desk import Desk
from rxagent.sessions import InMemorySessionService
from rxagent.testing import ScriptedModel

from .served import order, served


def agent() -> LlmAgent:
    return LlmAgent(name="support", model=ScriptedModel("Hello.", repeat_last=True))


class BrokenStore(InMemorySessionService):
    """A store that cannot be read."""

    def get_session(self, *args: Any, **kwargs: Any) -> Any:
        raise StoreError("the disk is on fire")


def test_health_and_version() -> None:
    """What a balancer and ADK's page ask first."""
    with served(agent()) as server:
        assert server.get("/health") == {"status": "ok"}
        assert server.get("/version")["language"] == "python"


def test_errors_before_the_headers_are_in_words() -> None:
    """An unknown path, a wrong method and a broken store have a status and a reason."""
    runner = Runner(agent(), app_name="app", session_service=BrokenStore(), auto_create_session=False)
    with served(runner) as server:
        assert server.ask("GET", "/nothing").status == 404
        assert server.ask("GET", "/run").status == 405
        for answer in (server.ask("GET", "/apps/app/users/me/sessions/s1"), server.ask("POST", "/run", order())):
            assert (answer.status, answer.json) == (500, {"detail": "the disk is on fire"})


def test_more_routes_get_the_desk() -> None:
    """Other faces are added to the same runs."""
    seen: list[Desk] = []

    async def hello(_: Request) -> Response:
        return Response("hello")

    def more(desk: Desk) -> list[Route]:
        seen.append(desk)
        return [Route("/hello", hello)]

    with Runner(agent(), app_name="app") as runner:
        app = create_app(runner, more=[more])
        assert "/hello" in [getattr(route, "path", None) for route in app.routes]
        assert seen == [app.state.desk]


def test_two_apps_in_one_server(tmp_path: Path) -> None:
    """Each has its sessions; a run is found whichever it belongs to; a request must say which it means."""
    service = SqliteSessionService(tmp_path / "chat.db")
    one, two = (Runner(agent(), app_name=name, session_service=service) for name in ("one", "two"))
    with one, two, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.serve.served.create_app", lambda runner, **options: create_app(runner, two))
        with served(one) as server:
            assert server.get("/list-apps") == ["one", "two"]
            answer = server.ask("POST", "/run", {**order(), "appName": "two"})
            run_id = answer.headers["rxagent-run-id"]
            assert server.get(f"/runs/{run_id}")["appName"] == "two"
            assert server.get("/apps/one/users/me/sessions") == []
            assert server.ask("POST", "/run", {**order(), "appName": None}).status == 404
    service.close()


def test_the_package_alone_knows_nothing_of_servers() -> None:
    """`import rxagent` and a run load neither starlette nor uvicorn."""
    program = (
        "import sys; from rxagent import LlmAgent, Runner; from rxagent.testing import ScriptedModel;"
        "list(Runner(LlmAgent(name='a', model=ScriptedModel('Hi'))).run('me', 's1', 'Hi'));"
        "print({'starlette', 'uvicorn', 'rxagent.serve'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "set()"
