"""Which promises the tests show: the marker `promise`, and the table that `--promises` prints.

`@pytest.mark.promise("J6", "loop")` says that a test shows a part of a promise; ids.txt has the promises and their
parts. A mark without a part counts for the promise as a whole and covers no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

__all__ = ["Mark", "read_ids", "verdict"]

IDS = Path(__file__).with_name("ids.txt")


class Mark(NamedTuple):
    """One test's claim: which promise, which part of it ("": the whole)."""

    promise: str
    part: str
    test: str


def read_ids(text: str) -> dict[str, tuple[str, ...]]:
    """The promises in order, each with its parts."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {promise: tuple(parts) for promise, *parts in lines}


def verdict(parts: Sequence[str], marks: Sequence[Mark], outcomes: Mapping[str, str]) -> str:
    """kept, partial, broken, not run or no test, with numbers.

    outcomes: test -> passed, failed or skipped (also an expected failure); a test without one did not run.
    """
    tests = {mark.test for mark in marks}
    if not tests:
        return "no test"
    if any(outcomes.get(test) == "failed" for test in tests):
        failed = sum(outcomes.get(test) == "failed" for test in tests)
        return f"broken ({failed} of {_count(len(tests), 'test')})"
    passed = {test for test in tests if outcomes.get(test) == "passed"}
    if parts:
        shown = [part for part in parts if _shown(part, marks, passed)]
        if len(shown) < len(parts):
            return (
                f"partial ({len(shown)} of {len(parts)} parts)" if passed else f"not run ({_count(len(tests), 'test')})"
            )
    if passed != tests:
        return f"not run ({len(tests) - len(passed)} of {_count(len(tests), 'test')})"
    return f"kept ({_count(len(tests), 'test')})"


def _shown(part: str, marks: Sequence[Mark], passed: set[str]) -> bool:
    tests = {mark.test for mark in marks if mark.part == part}
    return bool(tests) and tests <= passed


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class _Promises:
    """Collects marks and outcomes of one session, and prints the table at its end."""

    def __init__(self, ids: Mapping[str, tuple[str, ...]], table: bool) -> None:
        self.ids = ids
        self.table = table
        self.marks: list[Mark] = []
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)  # before -k and -m deselect: what they leave out was not run
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wrong: list[str] = []
        for item in items:
            for mark in item.iter_markers("promise"):
                wrong += [f"{item.nodeid}: {fault}" for fault in self._take(item.nodeid, mark)]
        if wrong:
            raise pytest.UsageError("marks of promises that ids.txt does not have:\n" + "\n".join(sorted(set(wrong))))

    def _take(self, test: str, mark: pytest.Mark) -> Iterator[str]:
        promise, *parts = mark.args or ("",)
        if promise not in self.ids:
            yield f"no promise {promise!r}"
            return
        for part in parts or [""]:
            if part and part not in self.ids[promise]:
                known = ", ".join(self.ids[promise]) or "none"
                yield f"promise {promise} has no part {part!r}; its parts: {known}"
            self.marks.append(Mark(promise, part, test))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        have = self.outcomes.get(report.nodeid)
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif report.skipped or hasattr(report, "wasxfail"):
            if have != "failed":
                self.outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and have is None:
            self.outcomes[report.nodeid] = "passed"

    def lines(self) -> Iterator[str]:
        """The table, one promise a line, then the sums."""
        sums = dict.fromkeys(("kept", "partial", "broken", "not run", "no test"), 0)
        for promise, parts in self.ids.items():
            said = verdict(parts, [mark for mark in self.marks if mark.promise == promise], self.outcomes)
            sums[said.partition(" (")[0]] += 1
            yield f"{promise} {said}"
        yield f"{len(self.ids)} promises: " + ", ".join(f"{number} {word}" for word, number in sums.items())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.table:
            terminalreporter.section("promises")
            for line in self.lines():
                terminalreporter.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--promises`."""
    parser.addoption("--promises", action="store_true", help="print which promises the tests have shown")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the collector."""
    config.addinivalue_line("markers", "promise(id, *parts): this test shows the promise, or these parts of it")
    ids = read_ids(IDS.read_text())
    config.pluginmanager.register(_Promises(ids, table=config.getoption("--promises")), "rxagent-promises")
