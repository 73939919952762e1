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
MISSING = not (NODE / "@ag-ui" / "client").is_dir() or shutil.which("node") is None
pytestmark = pytest.mark.skipif(MISSING, reason="needs node and npm's @ag-ui/client, which `make test` installs")


ENDINGS = ("success", "cancelled", "truncated", "interrupt")


def client(*scenes: str, module: str = "page_agent.py", agent: str = "agent") -> dict[str, Any]:
    with child(HERE / module, agent=agent) as server:
        url = f"http://{server.host}:{server.port}"
        command = ["node", str(HERE / "agui_client.cjs"), str(NODE), "@ag-ui/client", url, *scenes]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    return client(*ENDINGS)


def results(scene: dict[str, Any]) -> list[Any]:
    return [json.loads(one["content"]) for one in scene["messages"] if one["role"] == "tool"]


def test_success(seen: dict[str, Any]) -> None:
    """Thoughts and text come in pieces, and are one message each."""
    scene = seen["success"]
    assert scene["errors"] == [None]
    assert scene["last"]["outcome"] == {"type": "success"}
    assert [one["role"] for one in scene["messages"]] == ["user", "reasoning", "assistant"]
    assert scene["messages"][-1]["content"].endswith("the run stops, too.")
    assert scene["types"].count("TEXT_MESSAGE_CONTENT") > 5


def test_cancelled(seen: dict[str, Any]) -> None:
    """A stop by the route ends in `cancelled`, its call has a result, and the next run works."""
    scene = seen["cancelled"]
    assert scene["errors"] == [None, None]
    assert scene["outcomes"] == ["cancelled", "success"]
    [result] = results(scene)
    assert result["status"] in ("stopped", "never_started")  # the stop may come before the tool has begun
    assert scene["messages"][-1]["content"] == "You said: go on"


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
    assert scene["errors"] == [None, None]
    assert scene["outcomes"] == ["interrupt", "success"]
    assert scene["pending"] == []
    assert results(scene) == [{"status": "done", "order": 7, "amount": 19.9}]


def test_subagents() -> None:
    """The client takes what two agents say, one after the other, for what two subagents say."""
    scene = client("success", agent="team")["success"]
    assert scene["errors"] == [None]
    assert scene["types"].count("SUBAGENT_STARTED") == 2
    assert scene["types"].count("SUBAGENT_FINISHED") == 2
    assert [one.get("name") for one in scene["messages"] if one["role"] == "assistant"] == ["first", "second"]


def test_tools() -> None:
    """A call of the client's own tool is left to it; the tool message that it adds goes on with the run."""
    scene = client("tools", module="agui_agent.py")["tools"]
    assert scene["errors"] == [None, None, None]
    assert (scene["outcomes"], scene["left"]) == (["success"] * 3, [1, 0, 0])
    assert [one["role"] for one in scene["messages"]] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    answer, told = (one["content"] for one in scene["messages"] if one["role"] == "assistant" and one.get("content"))
    assert "'painted'" in answer
    assert told.endswith("The page:\norders")
    assert scene["types"].count("TOOL_CALL_RESULT") == 0
