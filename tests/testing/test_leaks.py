"""no_leaks and quiesce."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rxagent.streams import idle
from rxagent.streams.workers import workers
from rxagent.testing.leaks import LeakError, no_leaks, quiesce

SOON = 0.05


def test_idle_workers_end() -> None:
    """quiesce ends idle workers, and they come again when they are needed."""
    for _ in range(2):
        done = threading.Event()
        with no_leaks():
            workers.spawn(done.set)
            assert done.wait(5)
        assert workers.idle == 0


def test_what_was_registered_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """quiesce calls what modules registered, the latest first."""
    calls: list[str] = []
    monkeypatch.setattr(idle, "_ends", [])
    idle.register(lambda: calls.append("first"))
    idle.register(lambda: calls.append("second"))
    quiesce()
    assert calls == ["second", "first"]


def test_a_leaked_thread_is_named() -> None:
    """A thread that goes on is named in the error, with the place where it is."""
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait, args=(30,), name="forgotten")
    with (
        pytest.raises(LeakError, match=r"left behind: thread 'forgotten', at .*threading\.py:\d+ wait$"),
        no_leaks(SOON),
    ):
        thread.start()
    leave.set()
    thread.join()


def test_a_busy_worker_is_a_leak() -> None:
    """A worker that is still at work is not idle and counts as left behind."""
    leave, done = threading.Event(), threading.Event()

    def work() -> None:
        leave.wait(30)
        done.set()

    with pytest.raises(LeakError, match="thread 'rxagent-worker-"), no_leaks(SOON):
        workers.spawn(work)
    leave.set()
    assert done.wait(5)


@contextlib.contextmanager
def opened(kind: str, folder: Path) -> Iterator[int]:
    if kind == "socket":
        with socket.socket() as sock:
            yield sock.fileno()
    elif kind == "file":
        with (folder / "left.txt").open("w") as file:
            yield file.fileno()
    else:
        ours, theirs = os.pipe()
        yield ours
        os.close(ours)
        os.close(theirs)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are compared on Linux only")
@pytest.mark.parametrize(("kind", "shown"), [("socket", "socket:"), ("file", "left.txt"), ("pipe", "pipe:")])
def test_a_leaked_descriptor_is_named(kind: str, shown: str, tmp_path: Path) -> None:
    """A socket, file or pipe left open is named with its number and target."""
    with contextlib.ExitStack() as stack:
        with pytest.raises(LeakError) as caught, no_leaks(SOON):
            number = stack.enter_context(opened(kind, tmp_path))
        assert f"descriptor {number} (" in str(caught.value)
        assert shown in str(caught.value)


def test_what_ends_within_the_wait_is_no_leak() -> None:
    """A thread that is just ending is waited for."""
    begun = threading.Event()
    with no_leaks():
        thread = threading.Thread(target=lambda: begun.set())
        thread.start()
        assert begun.wait(5)


def test_what_stood_before_is_no_leak() -> None:
    """Only what the block started counts."""
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait, args=(30,))
    thread.start()
    with socket.socket(), no_leaks(SOON):
        pass
    leave.set()
    thread.join()


def test_what_a_cycle_holds_is_no_leak() -> None:
    """A file that only a reference cycle holds is collected before the comparison ends."""

    class Holder:
        def __init__(self) -> None:
            self.me = self
            self.sock = socket.socket()

        def __del__(self) -> None:
            self.sock.close()

    with no_leaks():
        Holder()


def test_an_error_of_the_block_goes_through() -> None:
    """A block that raises is not compared: its own error is the one to see."""

    def leak_and_fail() -> None:
        left.append(socket.socket())
        raise KeyError("mine")

    left: list[socket.socket] = []
    with pytest.raises(KeyError, match="mine"), no_leaks(SOON):
        leak_and_fail()
    left.pop().close()


def test_the_suite_applies_it(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/conftest.py makes a leaking test an error, and a failing one is not charged with a leak besides."""
    conftest = (Path(__file__).parents[1] / "conftest.py").read_text()
    pytester.makeconftest(conftest.replace('"pytester", ', "").replace("no_leaks()", f"no_leaks({SOON})"))
    pytester.makepyfile(
        """
        import socket
        kept = []
        def test_leaks(): kept.append(socket.socket())
        def test_fails():
            kept.append(socket.socket())
            assert False
        def test_clean(): pass
        """
    )
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1, errors=1)
    assert "LeakError: left behind: descriptor" in result.stdout.str()
