"""crash_everywhere: run a scenario in a process of its own, kill it at each of its appends, and go on in another."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from rxagent.events import Content, Message
from rxagent.invocation import RunConfig
from rxagent.runner import Runner
from rxagent.sessions import Session, SqliteSessionService

from .crash_child import CrashScenario, go_on, play, resume
from .forked import Ended, in_children

__all__ = ["CrashReport", "crash_everywhere"]

_MEMORY: Final = Path("/dev/shm")  # a killed process loses nothing that it has written: no need to wait for a disk
_ANOTHER: Final = "the scenario did not come to this instant again; it must do the same each time"
_AT_ONCE: Final = 4  # instants whose processes run side by side
_FILES: Final = ("", "-wal")  # what SQLite needs to find again; the third, -shm, is made anew


class CrashReport(NamedTuple):
    """What crash_everywhere did. points: the instants. resumed: how often the invocation was gone on with."""

    points: tuple[str, ...]
    resumed: int


def crash_everywhere(
    make_runner: Callable[[SqliteSessionService], Runner],
    message: Message,
    *,
    answer: Callable[[Session], Message] | None = None,
    run_config: RunConfig | None = None,
    user_id: str = "tester",
    session_id: str = "crash_everywhere",
    timeout: float = 15.0,
) -> CrashReport:
    """Show that the process of a scenario can be killed at every append, and another one goes on.

    The scenario (`message` to a runner on a SQLite file; then, while a question is pending, what `answer` gives for the
    session) runs once to its end, in a process of its own, to learn its appends. Then once for each, before it and
    after it, and there the process is killed by SIGKILL. Each time two more processes open what it has left:

    - one sends a plain message: it works, each model request has one response for each call, no call stays open;
    - in a resumable app one resumes the invocation by its id, and then answers as before: the log ends up as that of
      the run that was not cut, the final answer included. Calls that had a response are not run again; those that had
      none are, under the same ids; a repeated model step would show in the log.

    make_runner: builds the runner anew in each process, around the service that it is given. Its models must go by what
    they are asked, as `ScriptedModel(..., by_history=True)` does: they come to a conversation in its middle.
    timeout: seconds for one process.

    Raises AssertionError with all that was found, instant by instant. Needs os.fork: call it where no thread but the
    calling one is at work.
    """
    scenario = CrashScenario(make_runner, Content.of(message), answer, run_config or RunConfig(), user_id, session_id)
    with tempfile.TemporaryDirectory(prefix="rxagent-crash-", dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        return _Crashes(scenario, Path(folder), timeout).all()


class _Crashes:
    """One call of crash_everywhere."""

    def __init__(self, scenario: CrashScenario, folder: Path, timeout: float) -> None:
        self._scenario = scenario
        self._folder = folder
        self._timeout = timeout
        self._resumed = 0

    def all(self) -> CrashReport:
        """Every instant; raises AssertionError for what was found."""
        scenario = self._scenario
        [whole] = in_children([lambda: play(scenario, self._file("whole"))], self._timeout)
        if whole.how != "value":
            raise AssertionError(f"the scenario does not come to an end: {_in_words(whole)}")
        if whole.value["faults"]:
            raise AssertionError("\n".join(["the scenario fails:", *whole.value["faults"]]))
        points: Sequence[str] = whole.value["points"]
        found: dict[str, list[str]] = {}
        for first in range(0, len(points), _AT_ONCE):
            found |= self._try(points[first : first + _AT_ONCE], whole.value)
        if any(found.values()):
            raise AssertionError(_report({point: faults for point, faults in found.items() if faults}, len(points)))
        return CrashReport(tuple(points), self._resumed)

    def _try(self, points: Sequence[str], whole: Mapping[str, Any]) -> dict[str, list[str]]:
        """What was found at these instants: the process is killed there, then two others go on."""
        scenario = self._scenario
        left = {point: self._file(point.replace(" ", "_")) for point in points}
        cuts = in_children([partial(play, scenario, left[point], point) for point in points], self._timeout)
        jobs = [partial(go_on, scenario, _copy(left[point], "message")) for point in points]
        if whole["is_resumable"]:
            jobs += [partial(resume, scenario, _copy(left[point], "resume"), whole) for point in points]
        told = in_children(jobs, self._timeout)
        found: dict[str, list[str]] = {}
        for number, (point, cut) in enumerate(zip(points, cuts, strict=True)):
            if cut.how != "killed":
                found[point] = [f"{_ANOTHER}: {_in_words(cut)}"]
                continue
            message, *resumed = told[number :: len(points)]
            found[point] = [*_faults_of("the next message", message)]
            for one in resumed:
                found[point] += _faults_of("the resume", one)
                self._resumed += one.how == "value" and bool(one.value["resumed"])
        return found

    def _file(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        return folder / "log.db"


def _copy(left: Path, name: str) -> Path:
    folder = left.parent / name
    folder.mkdir()
    for ending in _FILES:
        source = left.with_name(left.name + ending)
        if source.exists():
            (folder / source.name).write_bytes(source.read_bytes())
    return folder / left.name


def _faults_of(what: str, ended: Ended) -> Iterator[str]:
    if ended.how != "value":
        yield f"{what}: {_in_words(ended)}"
        return
    yield from (f"{what}: {fault}" for fault in ended.value["faults"])


def _in_words(ended: Ended) -> str:
    if ended.how == "raised":
        return str(ended.value).strip()
    words = {"late": "its process has not ended in time", "killed": "its process was killed", "value": "it has ended"}
    return words[ended.how]


def _report(found: Mapping[str, Sequence[str]], tried: int) -> str:
    total = sum(len(faults) for faults in found.values())
    lines = [f"{total} faults at {len(found)} of {tried} instants"]
    for point, faults in found.items():
        lines += [f"  killed at {point!r}:", *(f"    - {fault}" for fault in faults)]
    return "\n".join(lines)
