"""Who may ask: tokens, origins, hosts, sizes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rxagent import LlmAgent
from rxagent.serve import ServeSettings
from rxagent.serve.server import LOOPBACK
from rxagent.testing import ScriptedModel

from .served import Served, served

TOKEN = "s3cret"
PUBLIC = frozenset({"/version", "/files/*"})
ORIGIN = "https://app.example"
SESSIONS = "/apps/app/users/me/sessions"


def serve(settings: ServeSettings) -> Iterator[Served]:
    with served(LlmAgent(name="support", model=ScriptedModel("Hello.")), settings) as server:
        yield server


@pytest.fixture
def guarded() -> Iterator[Served]:
    yield from serve(ServeSettings(token=TOKEN, max_body=1000, hosts=LOOPBACK, public=PUBLIC))


@pytest.fixture
def shared() -> Iterator[Served]:
    yield from serve(ServeSettings(cors=(ORIGIN,)))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_asked_for(guarded: Served) -> None:
    """Everything but /health and what is public needs it; a wrong one is as good as none, and is not repeated."""
    assert guarded.ask("GET", "/health").status == 200
    assert guarded.ask("GET", "/version").status == 200
    assert guarded.ask("GET", "/files/a/b").status == guarded.ask("GET", "/files/").status == 404
    for path in ("/list-apps", "/metrics", "/runs", "/nothing", "/files", "/filesystem"):
        assert guarded.ask("GET", path).status == 401
    refused = guarded.ask("GET", "/list-apps", headers=bearer("wrong"))
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert b"wrong" not in refused.body
    assert TOKEN.encode() not in refused.body
    assert guarded.ask("GET", "/list-apps", headers=bearer("\xe4")).status == 401
    assert guarded.ask("GET", "/list-apps", headers=bearer(TOKEN)).json == ["app"]
    assert TOKEN not in repr(guarded.desk.settings)


def test_other_hosts_are_refused(guarded: Served) -> None:
    """A page cannot reach the server by a name of its own that points to this machine."""
    assert guarded.ask("GET", "/health", headers={"Host": "evil.example"}).status == 403
    assert guarded.ask("GET", "/health", headers={"Host": "localhost:1"}).status == 200


def test_pages_of_other_origins_do_not_write(shared: Served) -> None:
    """Browsers send some requests without asking first: they are refused, unless the origin was allowed."""
    assert shared.ask("POST", SESSIONS, headers={"Origin": "https://evil.example"}).status == 403
    own = f"http://127.0.0.1:{shared.port}"
    assert shared.ask("POST", SESSIONS, headers={"Origin": own}).status == 200
    allowed = shared.ask("POST", SESSIONS, headers={"Origin": ORIGIN})
    assert (allowed.status, allowed.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "Rxagent-Run-Id" in allowed.headers["access-control-expose-headers"]


def test_cors_is_off(guarded: Served) -> None:
    """Without --cors no page of another origin may read an answer."""
    answer = guarded.ask("GET", "/health", headers={"Origin": ORIGIN})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_preflight_is_answered(shared: Served) -> None:
    """An allowed origin may send the headers that the routes read."""
    headers = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    assert shared.ask("OPTIONS", "/run_sse", headers=headers).status == 200


def test_bodies_are_bounded(guarded: Served) -> None:
    """One that is too large is refused before it is read, also when it does not say its length."""
    assert guarded.ask("POST", "/run", b"x" * 1001, bearer(TOKEN)).status == 413
    chunked = {**bearer(TOKEN), "Transfer-Encoding": "chunked"}
    body = b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n"
    assert guarded.ask("POST", "/run", body, chunked).status == 413
