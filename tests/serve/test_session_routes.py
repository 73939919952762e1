"""Sessions over HTTP, in ADK's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rxagent import LlmAgent
from rxagent.testing import ScriptedModel

from .served import Served, served

SESSIONS = "/apps/app/users/me/sessions"


@pytest.fixture
def server() -> Iterator[Served]:
    agent = LlmAgent(name="support", description="Helps.", model=ScriptedModel("Hello.", repeat_last=True))
    with served(agent) as found:
        yield found


def test_apps_are_listed(server: Served) -> None:
    """By name; with ?detailed=true as objects."""
    assert server.get("/list-apps") == ["app"]
    [app] = server.get("/list-apps?detailed=true")["apps"]
    assert app == {"name": "app", "rootAgentName": "support", "description": "Helps.", "language": "python"}


def test_a_session_is_created_read_listed_changed_and_deleted(server: Served) -> None:
    """The whole life of a session; the fields are those of ADK's Session, its times seconds."""
    made = server.create("s1", state={"a": 1, "user:b": 2})
    assert set(made) == {"id", "appName", "userId", "state", "events", "lastUpdateTime"}
    assert (made["id"], made["appName"], made["userId"], made["events"]) == ("s1", "app", "me", [])
    assert made["state"] == {"a": 1, "user:b": 2}
    assert 1e9 < made["lastUpdateTime"] < 1e11
    with server.start() as stream:
        list(stream)
    patched = server.ask("PATCH", f"{SESSIONS}/s1", {"stateDelta": {"a": 3}})
    assert patched.json["state"]["a"] == 3
    assert patched.headers["rxagent-last-seq"] == "3"
    read = server.session()
    assert read == patched.json
    assert [event["author"] for event in read["events"]] == ["user", "support", "user"]
    assert all(1e9 < event["timestamp"] < 1e11 for event in read["events"])
    [listed] = server.get(SESSIONS)
    assert (listed["id"], listed["events"]) == ("s1", [])
    assert server.ask("DELETE", f"{SESSIONS}/s1").body == b"null"
    assert server.ask("GET", f"{SESSIONS}/s1").status == 404
    assert server.get(SESSIONS) == []


def test_a_session_may_begin_with_events(server: Served) -> None:
    """They are stored in order; events that claim to be the runtime's are refused and make no session."""
    event = {"author": "user", "content": {"role": "user", "parts": [{"text": "Before."}]}}
    assert [one["content"] for one in server.create("s1", events=[event])["events"]] == [event["content"]]
    assert [one["content"] for one in server.session()["events"]] == [event["content"]]
    bad = {**event, "actions": {"escalate": True}}
    assert server.ask("POST", SESSIONS, {"sessionId": "s2", "events": [bad]}).status == 400
    assert server.ask("GET", f"{SESSIONS}/s2").status == 404


def test_ids_are_made_or_taken(server: Served) -> None:
    """Without an id the session gets one; ADK's older route takes the id from the path; a taken id is a 409."""
    made = server.ask("POST", SESSIONS).json
    assert server.get(f"{SESSIONS}/{made['id']}") == made
    assert server.ask("POST", f"{SESSIONS}/s1", {"a": 1}).json["state"] == {"a": 1}
    assert server.ask("POST", f"{SESSIONS}/s1").status == 409
    assert server.ask("POST", SESSIONS, {"sessionId": "s1"}).status == 409


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{SESSIONS}/none", None, 404),
        ("PATCH", f"{SESSIONS}/none", {"stateDelta": {}}, 404),
        ("PATCH", f"{SESSIONS}/none", {}, 422),
        ("PATCH", f"{SESSIONS}/none", None, 422),
        ("POST", f"{SESSIONS}/s1", ["x"], 422),
        ("POST", SESSIONS, b"{", 422),
        ("POST", SESSIONS, {"state": 1}, 422),
        ("POST", SESSIONS, {"sessionId": "a/b"}, 422),
        ("GET", "/apps/none/users/me/sessions", None, 404),
        ("GET", "/apps/app/users/%0a/sessions", None, 422),
    ],
)
def test_what_cannot_be_done(server: Served, method: str, path: str, body: Any, status: int) -> None:
    """It is refused with a reason in words."""
    answer = server.ask(method, path, body)
    assert answer.status == status
    assert isinstance(answer.json["detail"], str)


def test_sessions_of_a_new_user_can_be_created_at_once(server: Served) -> None:
    """Ten requests at the same time for an app and a user that nobody knows: all succeed."""
    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda number: server.create(f"s{number}", "new", state={"app:k": number}), range(10)))
    assert len({one["id"] for one in made}) == 10
    assert len(server.get("/apps/app/users/new/sessions")) == 10
