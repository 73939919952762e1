"""A run whose process is killed at each of its appends; what the next process makes of the file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rxagent import SqliteSessionService
from rxagent.events import Event
from rxagent.history.sealing import is_seal
from rxagent.testing.invariants import log_faults, request_faults

from .crashing import KEY, Lines, crash_everywhere, runner
from .pausing import marks


class Crashes(NamedTuple):
    """The folder with the files, the number of appends, and the log of the uncut run."""

    folder: Path
    appends: int
    whole: list[str]


@pytest.fixture(scope="module")
def crashes(tmp_path_factory: pytest.TempPathFactory) -> Crashes:
    folder = tmp_path_factory.mktemp("crashes")
    count = crash_everywhere(folder)
    service = SqliteSessionService(folder / f"{count + 1}.db")
    whole = marks(stored(service))
    service.close()
    return Crashes(folder, count, whole)


def stored(service: Any) -> list[Event]:
    return list(service.get_session(*KEY).events)


@pytest.fixture
def services() -> Iterator[list[SqliteSessionService]]:
    opened: list[SqliteSessionService] = []
    yield opened
    for service in opened:
        service.close()


def copied(crashes: Crashes, number: int, to: Path) -> Path:
    for file in crashes.folder.glob(f"{number}.*"):
        shutil.copy(file, to / file.name)
    return to / f"{number}.db"


@pytest.mark.promise("J28")
@pytest.mark.promise("J32")
@pytest.mark.promise("A13", "resume")
def test_a_resume(crashes: Crashes, tmp_path: Path, services: list[SqliteSessionService]) -> None:
    """By id it ends with the log of the uncut run: nothing finished is repeated, the cut call runs under its own id."""
    assert crashes.appends == len(crashes.whole)
    assert crashes.whole[-2:] == ["z end", "flow end"]
    for number in range(1, crashes.appends + 1):
        path = copied(crashes, number, tmp_path)
        services.append(SqliteSessionService(path))
        done = path.with_suffix(".done")
        before = stored(services[-1])
        assert marks(before) == crashes.whole[:number]
        with runner(services[-1], done, Lines()) as resumed:
            list(resumed.run(*KEY[1:], invocation_id=before[0].invocation_id))
        assert marks(stored(services[-1])) == crashes.whole
        assert list(log_faults(stored(services[-1]))) == []
        ids = done.read_text().split()
        assert len(set(ids)) == 1
        assert len(ids) <= (2 if marks(before)[-1] == "a: call(work)" else 1)


@pytest.mark.promise("A13", "plain_message")
def test_a_plain_message(crashes: Crashes, tmp_path: Path, services: list[SqliteSessionService]) -> None:
    """It works at once: its requests are well formed, what was open is sealed, and the tool is not run for it."""
    for number in range(1, crashes.appends + 1):
        path = copied(crashes, number, tmp_path)
        services.append(SqliteSessionService(path))
        model = Lines()
        with runner(services[-1], path.with_suffix(".done"), model) as next_run:
            events = list(next_run.run(*KEY[1:], "And now?"))
        assert marks(events)[-1].endswith(" end")
        assert not [fault for request in model.requests for fault in request_faults(request.contents)]
        sealed = [event for event in stored(services[-1]) if is_seal(event)]
        assert len(sealed) == ("call(" in crashes.whole[number - 1])
