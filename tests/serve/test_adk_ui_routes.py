"""The routes behind ADK's UI, and where its files come from. They need neither the UI nor a browser."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.cli.exits import USAGE
from rxagent.errors import UsageError
from rxagent.serve.adk_ui import find_adk_ui
from rxagent.serve.adk_ui_graph import as_dot, as_tree

from .page_agent import agent, team
from .served import Client, child, order

AGENT = Path(__file__).with_name("page_agent.py")
APP = "/dev/apps/rxagent"
BEARER = {"Authorization": "Bearer s3cret"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    (folder / "index.html").write_text("<title>the UI</title>")
    (folder / "main.js").write_text("// its code")
    return folder


@pytest.fixture(scope="module")
def server(bundle: Path) -> Iterator[Client]:
    with child(AGENT, "--adk-ui", str(bundle)) as client:
        yield client


def test_the_files_and_what_the_ui_is_told(server: Client) -> None:
    """The UI is at /dev-ui/, asks this server alone, and tells nobody how it is used."""
    page = server.ask("GET", "/dev-ui/?app=rxagent")
    assert (page.status, page.body) == (200, b"<title>the UI</title>")
    assert page.headers["content-type"].startswith("text/html")
    assert "javascript" in server.ask("GET", "/dev-ui/main.js").headers["content-type"]
    moved = server.ask("GET", "/dev-ui?app=rxagent")
    assert (moved.status, moved.headers["location"]) == (307, "/dev-ui/?app=rxagent")
    config = server.ask("GET", "/dev-ui/assets/config/runtime-config.json")
    assert (config.json, config.headers["cache-control"]) == ({"backendUrl": "", "telemetry": False}, "no-store")
    assert server.get("/config/telemetry") == {"telemetry": False}
    assert server.ask("POST", "/config/telemetry", {"telemetry": True}).json == {"telemetry": False}
    assert server.ask("GET", "/dev-ui/none").status == 404


def test_a_token_is_asked_for_all_but_the_files(bundle: Path) -> None:
    """The files are public, and nothing else becomes so by the way."""
    with child(AGENT, "--adk-ui", str(bundle), "--token", "s3cret") as client:
        for path in ("/dev-ui", "/dev-ui/", "/dev-ui/main.js", "/dev-ui/assets/config/runtime-config.json"):
            assert client.ask("GET", path).status < 400
        for path in (f"{APP}/build_graph", f"{APP}/eval_sets", "/config/telemetry", "/list-apps", "/dev-uix"):
            assert client.ask("GET", path).status == 401
        for path in (
            "/dev-ui/../list-apps",
            "/dev-ui/%2e%2e/list-apps",
            "/dev-ui//list-apps",
            "/dev-ui/../../etc/hosts",
        ):
            assert client.ask("GET", path).status == 404
        assert client.ask("GET", f"{APP}/build_graph", headers=BEARER).status == 200


def test_agents_and_tools_are_drawn(server: Client) -> None:
    """As a tree, and as a graph for light and for dark screens; the edges are those of the tree."""
    tree = server.get(f"{APP}/build_graph")
    assert (tree["name"], tree["root_agent"]) == ("rxagent", as_tree(agent))
    assert [tool["name"] for tool in tree["root_agent"]["tools"]] == ["export_report", "refund", "ask_depot"]
    for is_dark in (False, True):
        graph = server.get(f"{APP}/build_graph_image?dark_mode={str(is_dark).lower()}")
        assert graph == {"": {"dotSrc": as_dot(agent, is_dark)}}
    assert '"support" -> "refund()"' in as_dot(agent)
    assert as_dot(agent) != as_dot(agent, is_dark=True)
    assert '"team" -> "first"' in as_dot(team)
    assert [one["name"] for one in as_tree(team)["sub_agents"]] == ["first", "second"]
    assert server.ask("GET", f"{APP}/build_graph_image?node=x").status == 404


def test_runs_and_model_calls_are_spans(server: Client) -> None:
    """A span for each run that has ended, and below it one for each model call, with its request and response."""
    server.create("spans", app="rxagent")
    spans = f"{APP}/debug/trace/session/spans"
    assert server.get(spans) == []
    answer = server.ask("POST", "/run", {**order("hello", session="spans"), "appName": "rxagent"})
    run, call = server.get(spans)
    assert run["name"] == "invocation"
    assert run["span_id"] == run["trace_id"] == answer.headers["rxagent-run-id"] == call["parent_span_id"]
    assert call["name"] == "call_llm"
    assert run["start_time"] <= call["start_time"] <= call["end_time"] <= run["end_time"]
    attributes = call["attributes"]
    assert attributes["gcp.vertex.agent.event_id"] in [event["id"] for event in answer.json]
    request = json.loads(attributes["gcp.vertex.agent.llm_request"])
    assert request["contents"] == [{"role": "user", "parts": [{"text": "hello"}]}]
    response = json.loads(attributes["gcp.vertex.agent.llm_response"])
    assert response["content"]["parts"][0]["text"] == "You said: hello"


def test_the_rest_is_empty(server: Client) -> None:
    """What rxagent does not have is told as ADK tells that there is none; an app that is not there is a 404."""
    for path in ("eval_sets", "eval_results", "tests", "debug/trace/session/none"):
        assert server.get(f"{APP}/{path}") == []
    assert server.get(f"{APP}/eval-sets") == {"evalSetIds": []}
    assert server.get(f"{APP}/eval-results") == {"evalResultIds": []}
    assert server.get(f"{APP}/metrics-info") == {"metricsInfo": []}
    assert server.get(f"{APP}/users/me/sessions/s/events/e/graph") == {}
    assert server.ask("GET", f"{APP}/builder?ts=1").body == b""
    for path in ("eval_sets", "build_graph", "build_graph_image", "builder", "debug/trace/session/none"):
        assert server.ask("GET", f"/dev/apps/none/{path}").status == 404


def test_without_the_option_there_is_none(tmp_path: Path) -> None:
    """`rxagent serve` alone has none of these routes."""
    with child(AGENT) as client:
        for path in ("/dev-ui/", "/config/telemetry", f"{APP}/build_graph"):
            assert client.ask("GET", path).status == 404


def test_the_installed_package_is_found_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code stays asleep; where it is not, or has no UI, it is said what to do."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "google"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(UsageError, match="pip install google-adk"):
        find_adk_ui()
    package = tmp_path / "google" / "adk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('woken up')")
    with pytest.raises(UsageError, match="pip install google-adk"):
        find_adk_ui()
    browser = package / "cli" / "browser"
    browser.mkdir(parents=True)
    (browser / "index.html").write_text("")
    assert find_adk_ui() == browser
    monkeypatch.delitem(sys.modules, "google", raising=False)


def test_a_folder_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell says so before it listens."""
    assert main(["serve", f"{AGENT.stem}:agent", "--adk-ui", str(tmp_path)]) == USAGE
    assert "has no index.html" in capsys.readouterr().err
