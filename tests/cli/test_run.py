"""`rxagent run`: one question, one answer."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.events import Event

from . import shells


def test_the_answer_is_on_stdout_and_the_calls_on_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer alone goes to stdout, once, although it comes in pieces and then as a whole; notes go to stderr."""
    assert main(["run", "my_agents:support", "Weather?"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "It is 21 degrees.\n"
    assert shown.err == '-> get_weather(city="Oslo")\n<- get_weather: {"city": "Oslo", "degrees": 21}\n'


def test_each_event_is_a_line_of_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json every line of stdout is an event, partial ones included, and nothing else is there."""
    assert main(["run", "my_agents:support", "Weather?", "--json"]) == 0
    shown = capsys.readouterr()
    events = [Event.model_validate_json(line) for line in shown.out.splitlines()]
    assert [(event.text, bool(event.partial)) for event in events[2:]] == [
        ("It is ", True),
        ("21 ", True),
        ("degrees.", True),
        ("It is 21 degrees.", False),
        ("", False),  # the end marker
    ]
    assert [call.name for call in events[0].function_calls] == ["get_weather"]
    assert "invocationId" in json.loads(shown.out.splitlines()[0])
    assert shown.err == ""


def test_a_session_goes_on_in_the_next_process(folder: Path) -> None:
    """With --db the next run finds what the last one left."""
    for text in ("Weather?", "Thanks."):
        assert shells.rxagent(folder, "run", "my_agents:echo", text, "--db", "c.db", "--session", "s1").returncode == 0
    shown = shells.rxagent(folder, "sessions", "show", "s1", "--db", "c.db").stdout
    assert [line.split(maxsplit=1)[1] for line in shown.splitlines()] == [
        "user: Weather?",
        "echo: Understood.",
        "echo: (finished)",
        "user: Thanks.",
        "echo: Understood.",
        "echo: (finished)",
    ]


def test_what_is_piped_has_no_escape_codes(folder: Path) -> None:
    """Behind a pipe there are no colours, on stdout or on stderr."""
    ended = shells.rxagent(folder, "run", "my_agents:support", "Weather?")
    assert ended.stdout == "It is 21 degrees.\n"
    assert shells.ESCAPE not in ended.stdout + ended.stderr


def test_the_answer_streams_and_ctrl_c_leaves_it(folder: Path) -> None:
    """Pieces reach the reader as they come; Ctrl-C then ends with 130 and says what was saved and what was lost."""
    with shells.start(folder, "run", "my_agents:slow", "Weather?", "--db", "c.db") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        seen = b""
        while seen != b"It is 21 ":  # the model is silent from here on
            byte = process.stdout.read(1)
            assert byte, process.stderr.read()
            seen += byte
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b"\n"
    assert err.decode() == "Stopped. Saved: your message. Lost: 9 characters of the unfinished answer.\n"
    log = shells.rxagent(folder, "sessions", "show", "default", "--db", "c.db").stdout
    assert log == "  1  user: Weather?\n  2  slow: INVOCATION_ABORTED: The run was aborted: user_stop\n"


def test_a_failed_run_is_told_without_a_traceback(folder: Path) -> None:
    """A typed error ends with 1 and its message on stderr, nothing else."""
    ended = shells.rxagent(folder, "run", "my_agents:unreachable", "Hi")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "rxagent: nobody listens at example:1; start the server\n"


def test_a_fault_in_the_agents_code_shows_its_place(folder: Path) -> None:
    """An error that is not rxagent's own ends with 1 and a traceback: its author needs the place."""
    ended = shells.rxagent(folder, "run", "my_agents:faulty", "Hi")
    assert (ended.returncode, ended.stdout) == (1, "half \n")
    assert "Traceback" in ended.stderr
    assert "RuntimeError: boom" in ended.stderr


def test_a_reader_that_goes_stops_the_run(folder: Path) -> None:
    """When the reader of stdout has gone, the run is left quietly, with the exit code of a broken pipe."""
    with shells.start(folder, "run", "my_agents:slow", "Weather?", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("my_agents", "write MODULE:AGENT"),
        ("nowhere:agent", "there is no module 'nowhere'"),
        ("my_agents:nobody", "module 'my_agents' has no 'nobody'; its agents: echo, "),
        ("my_agents:number", "my_agents:number is no agent but of type int"),
        ("broken_module:agent", "module 'broken_module' cannot be imported: NameError"),
    ],
)
def test_an_agent_that_is_not_there(target: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be loaded ends with 2 and says what was not found."""
    assert main(["run", target, "Hi"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("how", "code", "reason"), [("SIGTERM", 143, "worker_shutdown"), ("timeout", 124, "request_timeout")]
)
def test_other_stops(how: str, code: int, reason: str, folder: Path) -> None:
    """SIGTERM and --timeout stop the run as Ctrl-C does, each with a reason and an exit code; the seal is stored."""
    more = ["--timeout", "1"] if how == "timeout" else []
    with shells.start(folder, "run", "my_agents:slow", "Weather?", "--db", "c.db", *more) as process:
        assert process.stdout is not None
        seen = b""
        while seen != b"It is 21 ":
            byte = process.stdout.read(1)
            assert byte
            seen += byte
        if how == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.decode() == "Stopped. Saved: your message. Lost: 9 characters of the unfinished answer.\n"
    log = shells.rxagent(folder, "sessions", "show", "default", "--db", "c.db").stdout
    assert log == f"  1  user: Weather?\n  2  slow: INVOCATION_ABORTED: The run was aborted: {reason}\n"


def test_ctrl_c_in_a_tool_seals_its_call(folder: Path) -> None:
    """Stopped in a tool: the call and its seal are stored, and the next question is answered."""
    with shells.start(folder, "run", "my_agents:toiling", "Work.", "--db", "c.db") as process:
        assert process.stderr is not None
        assert {process.stderr.readline(), process.stderr.readline()} == {b"-> work()\n", b"working\n"}
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    lines = err.decode().splitlines()
    assert lines[0].startswith('<- work: {"status": "stopped"')
    assert lines[-1] == "Stopped. Saved: your message, 1 call, 1 sealed call. Lost: nothing."
    ended = shells.rxagent(folder, "run", "my_agents:echo", "Hello", "--db", "c.db")
    assert (ended.returncode, ended.stdout) == (0, "Understood.\n")
