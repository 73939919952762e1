"""`rxagent doctor`: a server examined."""

from __future__ import annotations

import json

import pytest

from rxagent.cli import main
from rxagent.models.local import LocalModel
from rxagent.models.local_server import servers
from rxagent.streams.scope import CancelScope
from rxagent.testing.chat_server import ChatServer, status
from tests.models.test_chat_probe import Double, picky


def test_a_table_and_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    """`rxagent doctor URL --model M` prints a line for each probe and the profile to use; progress goes to stderr."""
    with ChatServer(Double()) as server:
        assert main(["doctor", server.base_url, "--model", "m"]) == 0
    shown = capsys.readouterr()
    head, columns, *rows = shown.out.splitlines()
    assert head.startswith(f"{server.base_url}, model m (an unknown kind of server; ")
    assert columns.split() == ["probe", "detail"]
    assert [row[:14].strip() for row in rows[:3]] == ["stream", "usage", "reasoning"]
    assert rows[-1] == 'profile to use: profile="default"'
    assert "tool call ..." in shown.err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` it prints one object: findings, and the profile with what differs, also as Python."""
    with ChatServer(Double(picky)) as server:
        assert main(["doctor", server.base_url, "--model", "m", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report.keys() == {"url", "model", "server", "requests", "findings", "profile"}
    assert report["findings"][0].keys() == {"probe", "verdict", "detail"}
    assert report["profile"]["changes"]["call_ids"] == "nine"
    assert report["profile"]["changes"]["inputs"] == ["audio", "file"]
    assert report["profile"]["python"].startswith('profile=replace(profile_named("default", model), call_ids=')


def test_what_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model, with no address, and with a server that refuses, it says what to do; no key is shown."""
    monkeypatch.setenv("RXAGENT_API_KEY", "sk-very-secret-0123456789")
    assert main(["doctor", "http://127.0.0.1:1/v1"]) == 2
    assert "--model NAME" in capsys.readouterr().err
    assert main(["doctor", "nonsense", "--model", "m"]) == 2
    assert "base_url" in capsys.readouterr().err
    with ChatServer(lambda _: status(401, {"error": {"message": "sk-very-secret-0123456789 is wrong"}})) as server:
        assert main(["doctor", server.base_url, "--model", "m"]) == 1
    shown = capsys.readouterr().err
    assert "RXAGENT_API_KEY" in shown
    assert "secret" not in shown


def test_the_local_models_server(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A real llama.cpp server is known as one, streams, reports usage, takes null content, and stops when left."""
    pytest.importorskip("xllamacpp")
    with servers.lease(LocalModel()._parameters(), CancelScope()) as server:
        monkeypatch.setenv("RXAGENT_API_KEY", server.client._address.headers["Authorization"].split()[1])
        assert main(["doctor", f"{server.address}/v1", "--model", "local", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    verdicts = {one["probe"]: one["verdict"] for one in report["findings"]}
    assert report["server"] == report["profile"]["name"] == "llama.cpp"
    sure = ("stream", "usage", "tool result", "JSON schema", "cancel")
    assert {name: verdicts[name] for name in sure} == dict.fromkeys(sure, "yes")
    assert verdicts["images"] == "no"
