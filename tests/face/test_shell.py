"""The shell and the five lines, as processes of their own: on a scripted server, and on the local model."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rxagent.testing.chat_server import ChatServer

from .blocks import blocks
from .preludes import FACE, NOT_YET, only_a_story

ROOT = Path(__file__).parents[2]
[SHELL] = [block.source.splitlines() for block in FACE if block.section.startswith("12.")]
[FIVE_LINES] = [block.source for block in FACE if block.section.startswith("1.")]
AGENTS = """
from rxagent import LlmAgent

support = LlmAgent(name="support", model={model!r}, instruction="Answer in one sentence.")
"""


def command(name: str) -> list[str]:
    """The face's line of a command, as arguments of this Python."""
    [line] = [line for line in SHELL if line.startswith(f"rxagent {name}")]
    words = shlex.split(line, comments=True)[1:]
    return [sys.executable, "-m", "rxagent.cli", *(word for word in words if word not in NOT_YET)]


def environment(**changes: str) -> dict[str, str]:
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("RXAGENT_", "OPENAI_"))}
    return {**plain, "NO_COLOR": "1", "TERM": "dumb", **changes}


def shell(
    name: str, folder: Path, *, say: str = "", server: ChatServer | None = None
) -> subprocess.CompletedProcess[str]:
    changes = {} if server is None else {"RXAGENT_BASE_URL": server.base_url, "RXAGENT_MODEL": "scripted"}
    return subprocess.run(
        command(name),
        cwd=folder,
        env=environment(**changes),
        input=say,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_chat(tmp_path: Path) -> None:
    """`rxagent chat` answers each line."""
    with ChatServer([["Hi ", "there."], ["Bye."]]) as server:
        ended = shell("chat", tmp_path, say="Hello\nGood bye\n", server=server)
    assert ended.returncode == 0, ended.stderr
    assert "Hi there." in ended.stdout
    assert "Bye." in ended.stdout
    assert len(server.requests) == 2


def test_run_and_sessions(tmp_path: Path) -> None:
    """`rxagent run` stores its session in the file, `rxagent sessions` lists it."""
    (tmp_path / "my_agents.py").write_text(AGENTS.format(model="scripted"))
    with ChatServer(only_a_story) as server:
        ended = shell("run", tmp_path, server=server)
        assert ended.returncode == 0, ended.stderr
        assert "Once 39" in ended.stdout
        again = shell("run", tmp_path, server=server)
        assert again.returncode == 0, again.stderr
        messages = server.requests[1].json["messages"]
    assert [message["role"] for message in messages][-3:] == ["user", "assistant", "user"]  # the session went on
    listed = shell("sessions", tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert "s1" in listed.stdout


@contextmanager
def serving(folder: Path, server: ChatServer) -> Iterator[str]:
    """The face's `rxagent serve`, on a free port: its address."""
    (folder / "my_agents.py").write_text(AGENTS.format(model="scripted"))
    variables = environment(RXAGENT_BASE_URL=server.base_url, PYTHONUNBUFFERED="1")
    words = [*command("serve"), "--port", "0"]
    with subprocess.Popen(words, cwd=folder, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(word for word in process.stdout.readline().split() if word.startswith("http://"))
        finally:
            process.terminate()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the README's lines are curl's")
def test_serve(tmp_path: Path) -> None:
    """`rxagent serve` says where it is, and answers each line of the README."""
    [readme] = [block.source for block in blocks(ROOT / "README.md") if block.section == "Over HTTP"]
    with ChatServer(only_a_story) as server, serving(tmp_path, server) as address:
        said = ""
        for line in readme.splitlines()[1:]:
            run = re.search(r'"runId":"([^"]+)"', said)
            line = line.replace("localhost:8000", address).replace("RUN", run[1] if run else "RUN")
            ended = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=60, check=True)
            assert "detail" not in ended.stdout
            said += ended.stdout
    assert "Once 39" in said
    assert said.count("event: outcome") == 2


def test_doctor() -> None:
    """`rxagent doctor` says what a server does, and which profile to use."""
    words = command("doctor")
    [address] = [word for word in words if word.startswith("http")]
    with ChatServer(only_a_story) as server:
        words[words.index(address)] = server.base_url
        ended = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "profile to use: " in ended.stdout


def test_the_shell_on_the_local_model(tmp_path: Path) -> None:
    """Chat and run work without a key, a network and a server."""
    pytest.importorskip("xllamacpp")
    (tmp_path / "my_agents.py").write_text(AGENTS.format(model="local"))
    for ended in (shell("chat", tmp_path, say="Say hello.\n"), shell("run", tmp_path)):
        assert ended.returncode == 0, ended.stderr
        assert len(ended.stdout.strip()) > 0


def test_the_five_lines_on_the_local_model() -> None:
    """The first block of the face prints an answer of the embedded model."""
    pytest.importorskip("xllamacpp")
    ended = subprocess.run(
        [sys.executable, "-c", FIVE_LINES], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.strip()) > 10
