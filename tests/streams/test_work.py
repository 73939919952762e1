"""Blocking code of a run as a step."""

from __future__ import annotations

from typing import Any

from reactivex import Observable

from rxagent.streams import CancelScope, Emit, Work

from .acting import Host, Play, Seen
from .repertoire import StreamRepertoire


class TestWork(StreamRepertoire):
    exits = "host"

    def make(self, host: Host, play: Play) -> Observable[Any]:
        return play.work(host.mailbox)

    def test_contextvars(self) -> None:
        """The context is that of the mailbox's worker, which the run has set; not asked here."""


def test_the_thread_is_the_mailbox_worker() -> None:
    """The body and on_next run on the mailbox's worker."""
    with Host() as host:
        play = Play("ab|")
        seen = Seen().of(play.work(host.mailbox))
        seen.wait()
        assert set(play.threads) == seen.threads == {host.thread}


def test_steps_run_outside_every_trampoline() -> None:
    """A step may subscribe to something else and wait for it."""

    def body(emit: Emit[Any], scope: CancelScope) -> None:
        inner = Seen()
        inner.of(Play("a|").work(other.mailbox))
        emit(inner.wait())

    with Host() as host, Host() as other:
        seen = Seen().of(Work(host.mailbox, body))
        assert seen.wait() == "a||"


def test_an_ended_step_is_forgotten() -> None:
    """An ended step leaves nothing on the scope of its run."""
    with Host() as host:
        standing = len(host.scope._callbacks)
        for _ in range(3):
            Seen().of(Play("a|").work(host.mailbox)).wait()
        host.run(lambda: None)
        assert len(host.scope._callbacks) <= standing + 1  # the mailbox's own wait
