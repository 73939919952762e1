"""AG-UI's own client for JavaScript against the server."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .browser import NODE
from .served import child

HERE = Path(__file__).parent
CLIENT, OLDER = "@ag-ui/client", "agui-old"
"""The client of AG-UI 1.0, and one of before, which applications still bring along."""


def is_missing(package: str) -> bool:
    return shutil.which("node") is None or not (NODE / package).is_dir()


def client(package: str, *scenes: str, module: str = "page_agent.py", agent: str = "agent") -> dict[str, Any]:
    if is_missing(package):
        pytest.skip(f"needs node and npm's {package}, which `make test` installs")
    with child(HERE / module, agent=agent) as server:
        url = f"http://{server.host}:{server.port}"
        command = ["node", str(HERE / "agui_client.cjs"), str(NODE), package, url, *scenes]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module", params=[CLIENT, OLDER])
def package(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def seen(package: str) -> dict[str, Any]:
    """Both clients, all scenes; neither throws."""
    stops = client(package, "cancelled", "truncated", "tools", module="agui_agent.py")
    found = stops | client(package, "success", "interrupt")
    assert [error for scene in found.values() for error in scene["errors"] if error] == []
    return found


def results(scene: dict[str, Any]) -> list[Any]:
    return [json.loads(one["content"]) for one in scene["messages"] if one["role"] == "tool"]


def test_success(seen: dict[str, Any]) -> None:
    """Thoughts and text come in pieces, and are one message each."""
    scene = seen["success"]
    assert scene["last"]["outcome"] == {"type": "success"}
    assert [one["role"] for one in scene["messages"]] == ["user", "reasoning", "assistant"]
    assert scene["messages"][-1]["content"].endswith("the run stops, too.")
    assert scene["types"].count("TEXT_MESSAGE_CONTENT") > 5


def test_cancelled(seen: dict[str, Any], package: str) -> None:
    """A stop by the route ends in `cancelled`, its call has a result, and the next run works.

    The older client has no such outcome: it gets a bare end, and a CUSTOM event that says what came of the run.
    """
    scene = seen["cancelled"]
    assert scene["outcomes"] == (["cancelled", "success"] if package == CLIENT else [None, "success"])
    told = [one["value"]["kind"] for one in scene["custom"] if one["name"] == "rxagent.outcome"]
    assert told == ([] if package == CLIENT else ["aborted"])
    assert [result["status"] for result in results(scene)] == ["stopped"]
    assert scene["messages"][-1]["content"].startswith("go [{'status': 'stopped'")


def test_truncated(seen: dict[str, Any]) -> None:
    """A client that hung up has a call without a result; the next run mends its messages.

    The client leaves those that it knows where they are, and puts what is new behind them.
    """
    scene = seen["truncated"]
    assert scene["types"].count("MESSAGES_SNAPSHOT") == 1
    assert scene["outcomes"] == ["success"]
    assert [one["role"] for one in scene["messages"]] == ["user", "assistant", "user", "tool", "assistant"]
    assert [one["reason"] for one in results(scene)] == ["client_disconnect"]


def test_interrupt(seen: dict[str, Any]) -> None:
    """A confirmation is an interrupt, and `resume` goes on with it."""
    scene = seen["interrupt"]
    assert scene["outcomes"] == ["interrupt", "success"]
    assert scene["pending"] == []
    assert results(scene) == [{"status": "done", "order": 7, "amount": 19.9}]


def test_tools(seen: dict[str, Any], package: str) -> None:
    """A call of the client's own tool is left to it; the tool message that it adds goes on with the run."""
    scene = seen["tools"]
    assert (scene["outcomes"], scene["left"]) == (["success"] * 3, [int(package == CLIENT), 0, 0])
    assert [one["role"] for one in scene["messages"]] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    answer, told = (one["content"] for one in scene["messages"] if one["role"] == "assistant" and one.get("content"))
    assert "'painted'" in answer
    assert told.endswith("The page:\norders")
    assert scene["types"].count("TOOL_CALL_RESULT") == 0


def test_subagents() -> None:
    """The client takes what two agents say, one after the other, for what two subagents say."""
    scene = client(CLIENT, "success", agent="team")["success"]
    assert scene["types"].count("SUBAGENT_STARTED") == 2
    assert scene["types"].count("SUBAGENT_FINISHED") == 2
    assert [one.get("name") for one in scene["messages"] if one["role"] == "assistant"] == ["first", "second"]
