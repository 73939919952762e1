"""The fixed repertoire: what every operator, and every Single, has to show."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import contextvars
import threading
from abc import abstractmethod
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.streams import CancelScope, Single, Stopped
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Host, Play, Seen, dropped_errors, fast_switches, thread_errors, took

__all__ = ["RACES", "Held", "SingleRepertoire", "StreamRepertoire"]

RACES = 500

colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


class StreamRepertoire:
    """Subclass it for an operator: `make` puts the operator around a play.

    consumer_errors: where an error of the consumer's on_next goes: to its on_error, or to the mailbox ("host").
    exits: where a SystemExit of the play goes. holds_back: the work waits until each item was taken.
    """

    consumer_errors = "on_error"
    exits = "on_error"
    holds_back = True

    @abstractmethod
    def make(self, host: Host, play: Play) -> Observable[Any]: ...

    @pytest.mark.parametrize("marbles", ["abc|", "|", "abx", "x"])
    def test_marbles(self, marbles: str) -> None:
        """What is produced is seen, in its order, with its end or its error."""
        with Host() as host:
            play = Play(marbles)
            seen = Seen().of(self.make(host, play))
            assert seen.wait() == marbles
            assert seen.error is (play.error if "x" in marbles else None)
            assert seen.faults == []

    def test_second_subscription(self) -> None:
        """Each subscription starts the work again."""
        with Host() as host:
            play = Play("ab|")
            stream = self.make(host, play)
            assert play.started == 0
            assert [Seen().of(stream).wait() for _ in range(2)] == ["ab|", "ab|"]
            assert play.started == 2

    def test_disposed_before_the_first_item(self) -> None:
        """A dispose before the first item leaves the work by Stopped, and nothing is seen."""
        with Host() as host:
            play = Play(".a|")
            seen = Seen().of(self.make(host, play))
            play.waits()
            seen.dispose()
            assert play.end() == "stopped"
            assert seen.marbles == ""

    def test_disposed_in_the_first_item(self) -> None:
        """A dispose from inside on_next lets nothing more be made."""
        handles: SimpleQueue[Any] = SimpleQueue()
        with Host() as host:
            play = Play("ab.c|")
            seen = Seen(lambda _: took(handles).dispose())
            handles.put(seen.of(self.make(host, play)).handle)
            assert play.end() == "stopped"
            assert seen.marbles == "a"
            assert play.made == (["a"] if self.holds_back else ["a", "b"])

    def test_disposed_after_the_first_item(self) -> None:
        """A dispose between two items leaves the work by Stopped, and nothing more is seen."""
        with Host() as host:
            play = Play("a.b|")
            seen = Seen().of(self.make(host, play))
            seen.item()
            play.waits()
            seen.dispose()
            seen.dispose()
            assert play.end() == "stopped"
            assert seen.marbles == "a"

    def test_disposed_after_the_end(self) -> None:
        """A dispose after the end does nothing."""
        with Host() as host:
            play = Play("a|")
            seen = Seen().of(self.make(host, play))
            seen.wait()
            seen.dispose()
            assert (seen.marbles, play.end()) == ("a|", "completed")

    def test_disposed_before_the_start(self) -> None:
        """Nothing starts inside subscribe: what is disposed in the same turn of the trampoline has not begun."""
        with Host() as host:
            play = Play("ab|")
            stream = self.make(host, play)
            host.run(lambda: reactivex.just(0).subscribe(lambda _: Seen().of(stream).dispose()))
            assert Seen().of(self.make(host, Play("|"))).wait() == "|"  # by now it would have
            host.run(lambda: None)
        workers.end_idle()
        assert play.started == 0

    def test_take_stops_the_source(self) -> None:
        """Nothing is emitted inside subscribe: `take(1)` stops the source 200 times of 200, and what follows it."""
        after: list[int] = []
        with fast_switches(), Host() as host:
            for _ in range(200):
                play = Play("ab|")
                then: Observable[Any] = reactivex.defer(lambda _: (after.append(1), reactivex.empty())[1])
                stream = reactivex.concat(self.make(host, play), then).pipe(ops.take(1))
                seen = Seen()
                host.run(partial(seen.of, stream))  # where a run subscribes
                assert seen.wait() == "a|"
                if self.holds_back:
                    assert (play.end(), play.made) == ("stopped", ["a"])
        assert after == []

    def test_raising_consumer(self) -> None:
        """An error of the consumer stops the work and is told."""
        with Host() as host:
            error = Boom("consumer")
            play = Play("ab.|")

            def on_next(_: object) -> None:
                raise error

            seen = Seen(on_next).of(self.make(host, play))
            assert play.end() == "stopped"
            self._told(self.consumer_errors, host, seen, error)

    def test_exit_of_the_consumer(self) -> None:
        """A SystemExit of the consumer stops the work and leaves nobody waiting."""
        with Host() as host, thread_errors():
            error = SystemExit("consumer")
            play = Play("ab.|")

            def on_next(_: object) -> None:
                raise error

            seen = Seen(on_next).of(self.make(host, play))
            assert play.end() == "stopped"
            self._told("host" if self.consumer_errors == "host" else self.exits, host, seen, error)

    def test_exit_of_the_work(self) -> None:
        """A SystemExit of the work leaves nobody waiting."""
        with Host() as host, thread_errors():
            seen = Seen().of(self.make(host, Play("a!")))
            assert seen.item() == "a"
            self._told(self.exits, host, seen, None)

    @staticmethod
    def _told(where: str, host: Host, seen: Seen, error: BaseException | None) -> None:
        if where == "on_error":
            assert seen.wait() == "ax"
            found = seen.error
        else:
            assert host.failed.wait(LIMIT)
            assert seen.marbles == "a"
            found = host.error
        assert found is error if error is not None else isinstance(found, SystemExit)

    def test_stray_stop(self) -> None:
        """A Stopped of a scope that has nothing to do with it is an error, not a hang."""
        other = CancelScope()
        other.cancel("elsewhere")

        class Stray(Play):
            def __call__(self, scope: CancelScope) -> Any:
                yield "a"
                other.check()

        with Host() as host:
            seen = Seen().of(self.make(host, Stray("a|")))
            assert seen.wait() == "ax"
            assert isinstance(seen.error, Stopped | RuntimeError)

    def test_contextvars(self) -> None:
        """The subscriber's context variables are there in the work."""

        class Painted(Play):
            def __call__(self, scope: CancelScope) -> Any:
                yield colour.get()

        colour.set("red")
        try:
            with Host() as host:
                seen = Seen().of(self.make(host, Painted("")))
                assert seen.item() == "red"
                seen.wait()
        finally:
            colour.set("none")

    def test_races(self) -> None:
        """Of 500 races of a dispose with the end each gives a valid stream, and the work is out."""
        ends = set()
        with fast_switches(), Host() as host:
            for _ in range(RACES):
                play = Play("a.|")
                seen = Seen().of(self.make(host, play))
                play.waits()
                play.open()
                seen.dispose()
                ends.add(play.end())
                assert seen.marbles in (("a", "a|") if self.holds_back else ("", "a", "a|"))
                assert seen.faults == []
        assert ends <= {"completed", "stopped"}


class Held:
    """One value under way, of one kind of Single: subclass it, set `single`, and say how it is finished."""

    single: Single[Any]
    is_repeatable = True

    def __init__(self) -> None:
        self.started: SimpleQueue[bool] = SimpleQueue()
        self.cancelled = threading.Event()

    @abstractmethod
    def finish(self, value: object) -> None:
        """Give the value, from whichever thread this kind gives it."""

    @abstractmethod
    def fail(self, error: Exception) -> None:
        """Fail."""


class SingleRepertoire:
    """Subclass it for a kind of Single. cancels: a dispose reaches the work and `cancelled` tells."""

    cancels = True

    @abstractmethod
    def make(self) -> Held: ...

    def test_value(self) -> None:
        """It gives its one value and ends."""
        held = self.make()
        seen = Seen().of(held.single)
        took(held.started)
        held.finish("v")
        assert seen.wait() == "v|"
        seen.dispose()
        assert not held.cancelled.is_set()

    def test_error(self) -> None:
        """It gives the error of its work."""
        held, error = self.make(), Boom("work")
        seen = Seen().of(held.single)
        took(held.started)
        held.fail(error)
        assert (seen.wait(), seen.error) == ("x", error)

    def test_dispose(self) -> None:
        """A dispose cancels the work; a value that comes all the same is not seen."""
        held = self.make()
        seen = Seen().of(held.single)
        took(held.started)
        seen.dispose()
        seen.dispose()
        if self.cancels:
            assert held.cancelled.wait(LIMIT)
        held.finish("late")
        assert seen.marbles == ""

    def test_second_subscription(self) -> None:
        """A cold one starts again; one that stands for a single piece of work gives its value, or an error."""
        held = self.make()
        for _ in range(2 if held.is_repeatable else 1):
            seen = Seen().of(held.single)
            took(held.started)
            held.finish("v")
            assert seen.wait() == "v|"

    def test_raising_consumer(self) -> None:
        """An error of the consumer comes to its on_error."""
        held, error = self.make(), Boom("consumer")

        def on_next(_: object) -> None:
            raise error

        seen = Seen(on_next).of(held.single)
        took(held.started)
        held.finish("v")
        assert (seen.wait(), seen.error) == ("vx", error)

    def test_blocking_get(self) -> None:
        """`blocking_get` returns the value, also on a thread that did not make it."""
        held = self.make()
        workers.spawn(lambda: (took(held.started), held.finish("v")))
        assert held.single.blocking_get(timeout=LIMIT) == "v"

    def test_blocking_get_disposes(self) -> None:
        """A `blocking_get` that is over its time raises TimeoutError and disposes."""
        held = self.make()
        with pytest.raises(TimeoutError):
            held.single.blocking_get(timeout=0.05)
        if self.cancels:
            assert held.cancelled.wait(LIMIT)
        held.finish("late")

    def test_blocking_get_stops(self) -> None:
        """A cancelled scope leaves `blocking_get` by Stopped, and disposes."""
        held, scope = self.make(), CancelScope()
        workers.spawn(lambda: (took(held.started), scope.cancel("test")))
        with pytest.raises(Stopped):
            held.single.blocking_get(scope)
        if self.cancels:
            assert held.cancelled.wait(LIMIT)
        held.finish("late")

    @pytest.mark.parametrize("debug", [False, True])
    def test_await(self, debug: bool) -> None:
        """It can be awaited, also where asyncio looks for calls from the wrong thread."""
        held = self.make()

        async def main() -> Any:
            workers.spawn(lambda: (took(held.started), held.finish("v")))
            return await asyncio.wait_for(_awaited(held.single), LIMIT)

        assert asyncio.run(main(), debug=debug) == "v"

    def test_cancelled_await(self) -> None:
        """Cancelling the awaiting task disposes."""
        held = self.make()

        async def main() -> None:
            task = asyncio.ensure_future(_awaited(held.single))
            loop = asyncio.get_running_loop()
            workers.spawn(lambda: (took(held.started), loop.call_soon_threadsafe(task.cancel)))
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        if self.cancels:
            assert held.cancelled.wait(LIMIT)
        held.finish("late")

    def test_races(self) -> None:
        """Of 500 races of a dispose with the value each gives nothing or the value, and never an error."""
        with fast_switches(), dropped_errors() as dropped:
            for _ in range(RACES):
                held = self.make()
                seen = Seen().of(held.single)
                took(held.started)
                workers.spawn(lambda held=held: held.finish("v"))  # type: ignore[misc]
                seen.dispose()
                assert seen.marbles in ("", "v", "v|")
                assert seen.faults == []
            assert dropped.empty()


async def _awaited(single: Single[Any]) -> Any:
    return await single
