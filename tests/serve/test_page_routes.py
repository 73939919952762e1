"""The routes of the page."""

from __future__ import annotations

from pathlib import Path

from .page_agent import agent
from .served import Client, child, order

AGENT = Path(__file__).with_name("page_agent.py")


def test_the_page_and_what_it_asks(tmp_path: Path) -> None:
    """The page comes with a policy that lets it do no more than it does; questions and model calls are there."""
    with child(AGENT, "--db", str(tmp_path / "chat.db")) as client:
        page = client.ask("GET", "/")
        assert page.headers["content-type"].startswith("text/html")
        assert b"<title>rxagent</title>" in page.body
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; connect-src 'self'")
        assert "unsafe" not in policy
        assert policy.count("'sha256-") == 2
        client.create(app="rxagent")
        session = "/apps/rxagent/users/me/sessions/s1"
        assert client.get(f"{session}/pending") == []
        run_id = started(client, "refund order 7")
        (question,) = client.get(f"{session}/pending")
        assert question["kind"] == "confirmation"
        assert (question["name"], question["args"]) == ("refund", {"order": 7, "amount": 19.9})
        assert question["invocationId"] == run_id
        (call,) = client.get(f"/runs/{run_id}/model-calls")
        assert call["agent"] == agent.name
        assert call["request"]["contents"][0]["parts"] == [{"text": "refund order 7"}]
        assert client.ask("GET", "/runs/none/model-calls").status == 404
        assert client.ask("GET", "/apps/none/users/me/sessions/s1/pending").status == 404


def started(client: Client, text: str) -> str:
    answer = client.ask("POST", "/run", {**order(text), "appName": "rxagent"})
    assert answer.status == 200, answer
    return answer.headers["rxagent-run-id"]


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """No address but its own server's; nothing is loaded, built or made from text."""
    from rxagent.serve.page_routes import _page

    text, _ = _page()
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    for word in ("innerHTML", "eval(", "import ", '<link rel="stylesheet', 'src="'):
        assert word not in text
