"""Ctrl-C and SIGTERM as calls instead of an exception and a sudden end."""

from __future__ import annotations

import signal
import threading

import pytest

from rxagent.cli.interrupt import signals_cancel


def test_the_first_signals_cancel_and_the_second_raises() -> None:
    """The first Ctrl-C raises nothing and cancels the scope, on another thread; the next one raises as ever."""
    cancelled = threading.Event()
    threads: list[threading.Thread] = []
    with signals_cancel() as scope:
        scope.on_cancel(lambda: threads.append(threading.current_thread()))
        scope.on_cancel(cancelled.set)
        signal.raise_signal(signal.SIGINT)
        assert cancelled.wait(10)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert scope.reason == "user_stop"
    assert threads != [threading.main_thread()]


def test_after_the_block_all_is_as_before() -> None:
    """Outside of the block Ctrl-C raises, and the scope is left alone."""
    before = signal.getsignal(signal.SIGINT)
    with signals_cancel() as scope:
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert not scope.is_cancelled


def test_on_another_thread_it_does_nothing() -> None:
    """A thread that gets no signals gets a scope all the same."""
    found = []

    def work() -> None:
        with signals_cancel() as scope:
            found.append(scope.is_cancelled)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert found == [False]


def test_sigterm_cancels_with_a_reason_of_its_own() -> None:
    """SIGTERM inside the block cancels as a shutdown; after it the signal does what it did before."""
    before = signal.getsignal(signal.SIGTERM)
    cancelled = threading.Event()
    with signals_cancel() as scope:
        scope.on_cancel(cancelled.set)
        signal.raise_signal(signal.SIGTERM)
        assert cancelled.wait(10)
    assert scope.reason == "worker_shutdown"
    assert signal.getsignal(signal.SIGTERM) is before
