"""`rxagent resume`: answers to open questions, interrupted runs, and how `chat` asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from . import shells

AGENT = ("my_agents:refunds", "--db", "c.db")


def refunded(folder: Path) -> list[str]:
    path = folder / "refunds.txt"
    return path.read_text().split() if path.exists() else []


@pytest.fixture
def asked(folder: Path) -> Path:
    """A folder with a session that waits for a confirmation."""
    ended = shells.rxagent(folder, "run", AGENT[0], "Refund order 7", *AGENT[1:])
    assert ended.returncode == 0
    assert "may it call refund(order=7)?" in ended.stderr
    assert "rxagent resume my_agents:refunds --db c.db" in ended.stderr
    return folder


def test_approve(asked: Path) -> None:
    """--approve lets the call run, in another process; a second one finds nothing that waits."""
    ended = shells.rxagent(asked, "resume", *AGENT, "--approve")
    assert (ended.returncode, ended.stdout) == (0, "Refunded.\n")
    assert refunded(asked) == ["7"]
    again = shells.rxagent(asked, "resume", *AGENT, "--approve")
    assert (again.returncode, again.stderr) == (2, "rxagent: nothing waits for an answer in this session\n")
    assert refunded(asked) == ["7"]


def test_reject(asked: Path) -> None:
    """--reject refuses it; the model is told."""
    ended = shells.rxagent(asked, "resume", *AGENT, "--reject")
    assert (ended.returncode, ended.stdout) == (0, "Not refunded.\n")
    assert refunded(asked) == []


def test_behind_a_pipe_the_questions_are_listed(asked: Path) -> None:
    """Without an answer each open question is a line of JSON; its id chooses it."""
    listed = shells.rxagent(asked, "resume", *AGENT)
    [question] = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (question["name"], question["args"], question["kind"]) == ("refund", {"order": 7}, "confirmation")
    wrong = shells.rxagent(asked, "resume", *AGENT, "--call", "nope", "--approve")
    assert (wrong.returncode, question["call_id"] in wrong.stderr) == (2, True)
    assert shells.rxagent(asked, "resume", *AGENT, "--call", question["call_id"], "--approve").returncode == 0
    assert refunded(asked) == ["7"]


def test_at_a_terminal_it_asks(asked: Path) -> None:
    """The question is shown with its call; y lets it run."""
    with shells.TerminalShell(asked, "resume", *AGENT) as shell:
        shell.wait_for("may it call refund(order=7)?")
        shell.wait_for("Approve? [y/n, Enter: later] ")
        shell.send("maybe\n")
        shell.wait_for("Type y to let it run")
        shell.wait_for("Approve? [y/n, Enter: later] ")
        shell.send("y\n")
        shell.wait_for("Refunded.")
        assert shell.wait() == 0
    assert refunded(asked) == ["7"]


def test_without_a_question_the_newest_run_goes_on(folder: Path) -> None:
    """A run that had ended has nothing left to do; so is it by its id; an unknown id is wrong usage."""
    shells.rxagent(folder, "run", "my_agents:echo", "Hello", "--db", "c.db")
    ended = shells.rxagent(folder, "resume", "my_agents:echo", "--db", "c.db")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "Nothing was left to do.\n")
    wrong = shells.rxagent(folder, "resume", "my_agents:echo", "--db", "c.db", "--invocation", "e-1")
    assert (wrong.returncode, "e-1" in wrong.stderr) == (2, True)


def test_an_interrupted_run_goes_on(folder: Path) -> None:
    """Ctrl-C in mid-answer, then resume: the answer is asked for again, and comes."""
    with shells.TerminalShell(folder, "run", "my_agents:later", "Where are you?", "--db", "c.db") as shell:
        shell.wait_for("It is 21 ")
        shell.send("\x03")
        assert shell.wait() == 130
    ended = shells.rxagent(folder, "resume", "my_agents:echo", "--db", "c.db")
    assert (ended.returncode, ended.stdout) == (0, "Understood.\n")


def test_chat_asks(folder: Path) -> None:
    """A conversation asks for the confirmation at once, and goes on; put off, it is asked again at the next start."""
    with shells.TerminalShell(folder, "chat", *AGENT) as shell:
        shell.wait_for("> ")
        shell.send("Refund order 7\n")
        shell.wait_for("Approve? [y/n, Enter: later] ")
        shell.send("\n")
        shell.wait_for("> ")
        shell.send("\x04")
        assert shell.wait() == 0
    assert refunded(folder) == []
    with shells.TerminalShell(folder, "chat", *AGENT) as shell:
        shell.wait_for("may it call refund(order=7)?")
        shell.wait_for("Approve? [y/n, Enter: later] ")
        shell.send("y\n")
        shell.wait_for("Refunded.")
        shell.wait_for("> ")
        shell.send("\x04")
        assert shell.wait() == 0
    assert refunded(folder) == ["7"]
