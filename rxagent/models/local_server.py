"""Local servers: processes that serve a GGUF file on loopback, one per parameters, shared by all calls of a process.

llama.cpp runs in a process of its own, not in this one: loading a model holds Python's lock from the first byte to the
last (measured: 0.4 to 0.7 s for 100 MB), in which no other thread could run, and none could dispose; and a forked
child of a process that holds llama.cpp's threads hangs when it ends.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Final, Generic, NamedTuple, TypeVar, final

from rxagent.errors import LocalModelError
from rxagent.streams import idle
from rxagent.streams.scope import CancelScope
from rxagent.streams.workers import workers

from .slots import Slots

__all__ = ["LocalParameters", "LocalServer", "LocalServers", "servers"]

T = TypeVar("T")

_PROGRAM: Final = Path(__file__).with_name("local_process.py")
_LAST_WORDS: Final = 300  # characters of the server's own error in ours


class LocalParameters(NamedTuple):
    """What makes two servers different.

    path: the GGUF file. context_size: tokens that one call may hold, prompt and answer together. slots: calls at a
    time. threads: that compute. chat_template: Jinja text; None takes the file's own. temperature,
    most_tokens: for requests that name none; None leaves them to llama.cpp, which sets no limit to an answer.
    """

    path: str
    context_size: int
    slots: int
    threads: int
    chat_template: str | None
    temperature: float | None = None
    most_tokens: int | None = None


@final
class LocalServer:
    """A running server: where it is, the client that asks it, and its slots.

    Threads: everything from any thread.
    """

    __slots__ = ("_errors", "_process", "address", "client", "slots")

    def __init__(self, parameters: LocalParameters) -> None:
        """Start it and wait until it is ready. Raises LocalModelError when it cannot serve the file."""
        from .chat_completions import ChatCompletions  # loads requests
        from .limits import Timeouts

        api_key = secrets.token_urlsafe(24)
        self.slots = Slots(parameters.slots)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = _started(self._errors)
        try:
            self.address = self._ordered({**parameters._asdict(), "api_key": api_key, "sys_path": sys.path})
        except BaseException:
            self._end()
            raise
        self.client = ChatCompletions(
            "local",
            base_url=f"{self.address}/v1",
            api_key=api_key,
            timeouts=Timeouts(first_byte=None),  # a long prompt on a slow machine
            pool_size=parameters.slots,
        )

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once its process has ended."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process and wait until it is gone (milliseconds). Stopping twice is harmless."""
        self._end()
        self.client.close()

    def forget(self) -> None:
        """In a forked child: let go of what belongs to the parent, whose server lives on until the parent ends."""
        self._close()
        self._process.returncode = 0  # it is no child of this process: there is nothing to wait for

    def _end(self) -> None:
        self._process.kill()
        self._close()
        self._process.wait()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not written yet is of no use to a dead process
                    continue

    def _ordered(self, order: dict[str, Any]) -> str:
        """Send the order, wait for the answer: the address."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:  # it is gone already; what it left on stderr says why
            line = b""
        else:
            line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        if "address" in answer:
            return str(answer["address"])
        why = answer.get("error") or f"its process ended with code {self._process.wait()}"
        raise LocalModelError(f"{order['path']} cannot be served: {why}{self._last_words()}; is it a GGUF file?")

    def _last_words(self) -> str:
        """The first line that the server left on stderr: the root of the error, the rest follows from it."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return f" ({lines[0].strip()[:_LAST_WORDS]})" if lines[0] else ""


def _started(errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """The process, waiting for its order."""
    try:
        return subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C is for the program that asks, not for its server
        )
    except OSError as error:
        errors.close()
        raise LocalModelError(f"the local model's process cannot be started: {error}") from error


@final
class _Start(Generic[T]):
    """Something that is being made on a worker, for as many as wait for it; then what was made, or the error."""

    __slots__ = ("_lock", "_waiting", "error", "users", "value")

    def __init__(self) -> None:
        self.value: T | None = None
        self.error: Exception | None = None
        self.users = 0
        self._lock = threading.Lock()
        self._waiting: list[SimpleQueue[bool]] | None = []

    def make(self, make: Callable[[], T]) -> None:
        """Make it, on this thread, and wake who waits."""
        try:
            self.value = make()
        except Exception as error:
            self.error = error
        with self._lock:
            waiting, self._waiting = self._waiting or [], None
        for inbox in waiting:
            inbox.put(True)

    def wait(self, scope: CancelScope) -> T:
        """What was made. Raises its error; a cancel of `scope` leaves by Stopped and disturbs nobody else."""
        inbox: SimpleQueue[bool] = SimpleQueue()
        with self._lock:
            if self._waiting is None:
                inbox.put(True)
            else:
                self._waiting.append(inbox)
        scope.wait(inbox)
        if self.error is not None:
            raise LocalModelError(str(self.error)) from self.error  # one of its own for each call that waited
        assert self.value is not None
        return self.value


@final
class LocalServers:
    """The servers of this process, by their parameters: started by the first call, stopped at exit.

    A forked child begins with none and starts its own. Threads: everything from any thread.
    """

    def __init__(self) -> None:
        self._fresh()
        atexit.register(self.stop)
        idle.register(self.stop_idle)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _fresh(self) -> None:
        self._lock = threading.Lock()
        self._starts: dict[LocalParameters, _Start[LocalServer]] = {}

    def _forget(self) -> None:
        for start in self._starts.values():
            if start.value is not None:
                start.value.forget()
        self._fresh()

    @contextmanager
    def lease(self, parameters: LocalParameters, scope: CancelScope) -> Iterator[LocalServer]:
        """A running server, with one of its slots, for the block.

        Waits for the server's start and then for a slot, in order of arrival; a cancel of `scope` leaves both waits
        by Stopped. Raises LocalModelError when the server does not start; the next call tries again.
        """
        start = self._begin(parameters)
        try:
            server = start.wait(scope)
            with server.slots.one(scope):
                yield server
        finally:
            with self._lock:
                start.users -= 1

    def _begin(self, parameters: LocalParameters) -> _Start[LocalServer]:
        """The server's start, old or new; the caller is counted as its user."""
        with self._lock:
            start = self._starts.get(parameters)
            if start is None or start.error is not None or (start.value is not None and not start.value.is_alive):
                if start is not None and start.value is not None:
                    start.value.stop()  # it died by itself; its pipes are still open
                start = self._starts[parameters] = _Start()
                workers.spawn(lambda: start.make(lambda: LocalServer(parameters)))
            start.users += 1
            return start

    def stop(self) -> None:
        """Stop all servers, at work or not."""
        self._stop(lambda start: True)

    def stop_idle(self) -> None:
        """Stop the servers that no call uses. The next call starts them again."""
        self._stop(lambda start: start.users == 0)

    def _stop(self, chosen: Callable[[_Start[LocalServer]], bool]) -> None:
        with self._lock:
            ended = {key: start for key, start in self._starts.items() if start.value and chosen(start)}
            for key in ended:
                del self._starts[key]
        for start in ended.values():
            if start.value is not None:
                start.value.stop()


servers: Final = LocalServers()
"""The servers of this process."""
