"""A command line as a tool: what it gives, and that it ends, with all that it has started."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rxagent.errors import ConfigError
from rxagent.invocation import AbortSignal, RunConfig
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import ProcessTool
from tests.promises.stopping import statuses
from tests.runner.driving import SSE, USER, Consumer, Ends, log, runner_of, within


def shell(script: str) -> list[str]:
    """Run a script."""
    return ["sh", "-c", script]


def ran(script: str, config: RunConfig | None = None, **options: Any) -> tuple[dict[str, Any], Consumer]:
    """The result of one call in a run, and what its consumer saw."""
    runner = runner_of(ScriptedModel([call("shell", script=script)], ["Done."]), tools=[ProcessTool(shell, **options)])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config)).wait()
    assert consumer.ends == ["completed"], consumer.error
    return statuses(log(runner))["shell"], consumer


def test_what_it_gives() -> None:
    """Exit code and output, errors among it; a command that a signal ends has minus its number."""
    assert ran("echo one; echo two >&2; exit 3")[0] == {"exit_code": 3, "output": "one\ntwo\n"}
    assert ran("kill -9 $$")[0] == {"exit_code": -signal.SIGKILL, "output": ""}
    assert ran("cat")[0] == {"exit_code": 0, "output": ""}  # its stdin is empty


def test_no_shell_looks_at_the_arguments() -> None:
    """What the model gives is one argument, whatever stands in it."""

    def say(text: str) -> list[str]:
        """Say."""
        return ["echo", text]

    runner = runner_of(ScriptedModel([call("say", text="$(id); `id` > x")], ["Done."]), tools=[ProcessTool(say)])
    list(runner.run(USER, "s", "Hi"))
    assert statuses(log(runner))["say"]["output"] == "$(id); `id` > x\n"


def test_the_model_is_told_of_its_parameters(tmp_path: Path) -> None:
    """Name, description and parameters are the function's; cwd and env are the process's."""
    tool = ProcessTool(shell, cwd=tmp_path, env={"WORD": "here", "PATH": os.environ["PATH"]})
    declaration = tool.declaration()
    assert (declaration.name, declaration.description) == ("shell", "Run a script.")
    assert ran("pwd; echo $WORD", cwd=tmp_path, env={"WORD": "here"})[0]["output"] == f"{tmp_path.resolve()}\nhere\n"


def test_progress_is_shown_and_not_stored() -> None:
    """Output comes as partial events while the command runs, and stands in the result alone afterwards."""
    result, consumer = ran("for i in 1 2 3; do echo $i; sleep 0.05; done", SSE)
    shown = [(event.custom_metadata or {}).get("tool_progress") for event in consumer.events if event.partial]
    texts = [one["text"] for one in shown if one]
    assert "".join(texts) == result["output"] == "1\n2\n3\n"
    assert len(texts) >= 2
    assert {one["name"] for one in shown if one} == {"shell"}
    silent = ran("echo 1")[1]
    assert not [event for event in silent.events if event.partial]


@pytest.mark.parametrize("mode", ["none", "sequential", "parallel", "parallel_subscribe"])
def test_several_at_once(mode: Any) -> None:
    """Two commands run at the same time unless the mode is sequential, and both show their progress."""
    model = ScriptedModel([call("shell", script="echo a; sleep 0.2"), call("shell", script="echo b; sleep 0.2")], ["."])
    runner = runner_of(model, tools=[ProcessTool(shell)])
    config = RunConfig(streaming_mode="sse", tool_execution_mode=mode)
    began = time.monotonic()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config)).wait()
    assert consumer.ends == ["completed"]
    assert time.monotonic() - began < (5 if mode == "sequential" else 1.5)
    shown = [(event.custom_metadata or {}).get("tool_progress") for event in consumer.events if event.partial]
    assert sorted(one["text"] for one in shown if one) == ["a\n", "b\n"]


def test_output_is_bounded() -> None:
    """Of a long output the middle is left out, and said to be; progress has it all, or as much as is taken."""
    result, _ = ran("yes 0123456789 | head -c 1000000", max_output=1000)
    assert len(result["output"]) < 1100
    assert result["left_out"] == 1_000_000 - 1000
    assert result["output"].startswith("0123456789\n")
    assert "\n... 999000 characters left out ...\n" in result["output"]


def test_bytes_that_are_no_text() -> None:
    """What does not decode becomes U+FFFD; a character that is cut between two reads does not."""
    assert ran(r"printf '\377\303'; sleep 0.05; printf '\251'")[0]["output"] == "\ufffd\u00e9"


def test_a_command_that_is_not_there() -> None:
    """It is an error for the model, as is one that takes too long; its output so far is told."""

    def nothing() -> list[str]:
        """Nothing."""
        return ["/no/such/program"]

    runner = runner_of(ScriptedModel([call("nothing")], ["Done."]), tools=[ProcessTool(nothing)])
    list(runner.run(USER, "s", "Hi"))
    assert statuses(log(runner))["nothing"]["message"].startswith("The command '/no/such/program' cannot be started")
    late = ran("echo half; sleep 60", timeout=0.2)[0]
    assert (late["status"], late["output"]) == ("error", "half\n")


def test_what_cannot_be_a_tool() -> None:
    """A coroutine, and limits that are none, are refused; a command that is no list fails the call."""

    async def later() -> list[str]:
        """Later."""
        return ["true"]

    with pytest.raises(ConfigError, match="is a coroutine"):
        ProcessTool(later)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="above 0"):
        ProcessTool(shell, timeout=0)


def ticking(file: Path, how: str) -> str:
    """A script with a grandchild that ticks in a file, and ignores TERM when asked to."""
    trap = "trap '' TERM; " if how == "stubborn" else ""
    return f"({trap}while :; do date +%N > {file}; sleep 0.02; done) & echo started; {trap}wait"


@pytest.mark.parametrize("stop", ["abort", "dispose", "deadline"])
@pytest.mark.parametrize("how", ["polite", "stubborn"])
def test_grandchildren_end_with_the_run(tmp_path: Path, how: str, stop: str) -> None:
    """A stop ends the whole group, by TERM or, after the grace, by KILL: nothing ticks when the run has ended."""
    file, ends, signal_ = tmp_path / "tick", Ends(), AbortSignal()
    model = ScriptedModel([call("shell", script=ticking(file, how))])
    runner = runner_of(model, tools=[ProcessTool(shell, grace=0.3)], plugins=[ends])
    config = SSE.model_copy(update={"timeout": 0.5 if stop == "deadline" else None})
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config, abort_signal=signal_))
    while "tool_progress" not in (consumer.next().custom_metadata or {}):
        pass
    assert within(file.exists)
    if stop == "abort":
        signal_.set()
    elif stop == "dispose":
        consumer.dispose()
    assert ends.next().kind == ("disposed" if stop == "dispose" else "aborted")
    last = file.read_text()
    threading.Event().wait(0.1)
    assert file.read_text() == last
    assert runner.leftovers() == []
    if stop != "dispose":
        assert statuses(log(runner)) == {"shell": "stopped"}


def test_what_a_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    """A command that ends and leaves something in its group, with its output open: the call ends, and that, too."""
    file = tmp_path / "tick"
    result, _ = ran(f"(while :; do date +%N > {file}; sleep 0.02; done) & sleep 0.1; echo done", grace=0.3)
    assert (result["exit_code"], result["output"]) == (0, "done\n")
    last = file.read_text()
    threading.Event().wait(0.1)
    assert file.read_text() == last
