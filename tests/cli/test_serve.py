"""`rxagent serve`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.cli.exits import USAGE
from tests.serve.agents import waiting_module
from tests.serve.served import child


def test_it_serves_the_agent_on_loopback(tmp_path: Path) -> None:
    """It says where, serves the shell's app, asks for the token, and creates no session by itself."""
    with child(waiting_module(tmp_path), "--token", "s3cret") as client:
        assert client.host == "127.0.0.1"
        assert client.ask("GET", "/list-apps").status == 401
        headers = {"Authorization": "Bearer s3cret"}
        assert client.ask("GET", "/list-apps", headers=headers).json == ["rxagent"]
        body = {"userId": "me", "sessionId": "none", "newMessage": {"parts": [{"text": "Hi"}]}}
        assert client.ask("POST", "/run", body, headers).status == 404
        assert client.ask("GET", "/health", headers={"Host": "evil.example"}).status == 403


def test_the_token_may_stand_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RXAGENT_SERVE_TOKEN, so that it does not show in the list of processes."""
    monkeypatch.setenv("RXAGENT_SERVE_TOKEN", "s3cret")
    with child(waiting_module(tmp_path)) as client:
        assert client.ask("GET", "/list-apps").status == 401


@pytest.mark.parametrize("options", [["--port", "99999"], ["--port", "x"], ["--max-body", "0"]])
def test_options_that_cannot_be(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused before anything is served."""
    with pytest.raises(SystemExit) as caught:
        main(["serve", *options])
    assert caught.value.code == USAGE
    assert "usage: rxagent serve" in capsys.readouterr().err


def test_a_missing_extra_is_named() -> None:
    """Without uvicorn the shell says what to install."""
    code = "import sys; sys.modules['uvicorn'] = None; from rxagent.cli import main; sys.exit(main(['serve']))"
    shell = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shell.returncode == USAGE
    assert 'pip install "rxagent[serve]"' in shell.stderr
