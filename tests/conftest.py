"""For every test: nothing is left behind, and the marks of promises are known."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator

import pytest

from rxagent.testing.leaks import no_leaks

pytest_plugins = ["pytester", "tests.promises.plugin"]

_failed = pytest.StashKey[bool]()


def pytest_configure() -> None:
    """Let Ctrl-C reach the processes that tests start: behind a shell's `&` it is ignored, which children inherit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed: its traceback may hold what it would have closed."""
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that passed but left a thread, a socket or a file."""
    guard = no_leaks()
    guard.__enter__()
    yield
    if not request.node.stash.get(_failed, False):
        guard.__exit__(None, None, None)
