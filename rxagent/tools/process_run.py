"""ProcessRun: one process of a tool, from its start to the end of its whole group."""

from __future__ import annotations

import codecs
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, final

from rxagent.streams.ledger import current_ledger
from rxagent.streams.single import SingleEmitter
from rxagent.streams.timer import timer
from rxagent.streams.workers import workers

from .landing import Landing

__all__ = ["Limits", "Output", "ProcessRun"]

_LOOK: Final = 0.02  # seconds between two looks at a process that has said nothing
_CHUNK: Final = 65_536


class Limits(NamedTuple):
    """timeout: seconds, or None. grace: seconds from TERM to KILL. max_output: characters. encoding: of the output."""

    timeout: float | None
    grace: float
    max_output: int
    encoding: str


@final
class Output:
    """A text that grows, of which the first and the last half of what may be kept are kept."""

    __slots__ = ("_decode", "_first", "_half", "_last", "length")

    def __init__(self, limit: int, encoding: str) -> None:
        self._decode = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._half = max(limit // 2, 1)
        self._first = ""
        self._last = ""
        self.length = 0

    def add(self, data: bytes, *, final: bool = False) -> str:
        """Take bytes; gives the text that they have completed."""
        text = self._decode.decode(data, final)
        self.length += len(text)
        room = self._half - len(self._first)
        self._first += text[:room]
        self._last = (self._last + text[room:])[-self._half :]
        return text

    @property
    def left_out(self) -> int:
        """How many characters are not kept."""
        return self.length - len(self._first) - len(self._last)

    def text(self) -> str:
        """What is kept."""
        gap = f"\n... {self.left_out} characters left out ...\n" if self.left_out else ""
        return f"{self._first}{gap}{self._last}"


@final
class ProcessRun:
    """Reads the output on a worker, ends the group, and tells the landing and the emitter how it was.

        process   --out--out--|            exit: TERM for what is left of the group, KILL after the grace
        stopped   --out--x----|            TERM at once, KILL after the grace; the landing has stopped

    Threads: `start` on the subscribing one; the stop from any.
    """

    __slots__ = ("_landing", "_limits", "_lock", "_output", "_process", "_show", "_why")

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, landing: Landing, show: Callable[[str], bool]
    ) -> None:
        self._process = process
        self._limits = limits
        self._landing = landing
        self._show = show
        self._output = Output(limits.max_output, limits.encoding)
        self._lock = threading.Lock()
        self._why: str | None = None

    def start(self, emitter: SingleEmitter[dict[str, Any]]) -> None:
        """Read to the end on a worker, as work of the run. Raises RuntimeError when no thread is to be had."""
        ledger = current_ledger.get()

        def work() -> None:
            try:
                self._work(emitter)
            finally:
                if ledger is not None:
                    ledger.leave()

        try:
            ledger.spawn(work) if ledger is not None else workers.spawn(work)
        except RuntimeError:
            self._signal(signal.SIGKILL)
            self._process.wait()
            raise
        emitter.set_cancellable(lambda: self._stop("stopped"))

    def _stop(self, why: str) -> None:
        with self._lock:
            if self._why is not None:
                return
            self._why = why
        self._signal(signal.SIGTERM)
        timer.after(self._limits.grace, lambda: self._signal(signal.SIGKILL))

    def _signal(self, number: signal.Signals) -> None:
        """To the whole group, as long as its leader is there, whose number is the group's."""
        with self._lock:
            if self._process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)

    def _work(self, emitter: SingleEmitter[dict[str, Any]]) -> None:
        limit = self._limits.timeout
        end_wait = timer.after(limit, lambda: self._stop("timeout")) if limit is not None else None
        try:
            self._read()
            self._end_group()
            code = self._process.returncode
        finally:
            if end_wait is not None:
                end_wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
        if self._why == "stopped":
            self._landing.stopped()
            return
        result: dict[str, Any] = {"exit_code": code, "output": self._output.text()}
        if self._output.left_out:
            result["left_out"] = self._output.left_out
        if self._why == "timeout":
            result = {"status": "error", "message": f"The command took longer than {limit} s and was ended.", **result}
        self._landing.returned(result)
        emitter.on_success(result)

    def _read(self) -> None:
        """Until the process has ended, and what it had written is read; others may hold its output open."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        has_ended = False
        while True:
            ready = select.select([descriptor], [], [], 0.0 if has_ended else _LOOK)[0]
            if ready:
                data = os.read(descriptor, _CHUNK)
                if not data:
                    break
                if text := self._output.add(data):
                    self._show(text)
            elif has_ended:
                break
            else:
                has_ended = self._leader_has_ended()
        self._output.add(b"", final=True)

    def _leader_has_ended(self) -> bool:
        """Looks, and leaves its number taken, so that nobody else can get it while its group is ended."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def _end_group(self) -> None:
        """End what is left of the group once its leader has closed its output."""
        while not self._leader_has_ended():
            time.sleep(_LOOK)  # its output is closed, and it works on
        self._signal(signal.SIGTERM)
        group, deadline = self._process.pid, time.monotonic() + self._limits.grace
        with self._lock:
            self._process.wait()
        pause = 0.001
        with suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(pause)
                pause = min(2 * pause, _LOOK)
            os.killpg(group, signal.SIGKILL)
