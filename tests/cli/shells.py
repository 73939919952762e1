"""Shells: `rxagent` in a process of its own, behind pipes or at a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final

__all__ = ["ESCAPE", "TerminalShell", "rxagent", "start"]

ESCAPE: Final = "\x1b"
_LIMIT: Final = 60.0  # seconds after which a wait in these tests has failed
_AGAIN: Final = 5.0  # seconds until Ctrl-C is pressed again
_COMMAND: Final = (sys.executable, "-m", "rxagent.cli")
_AT_A_TERMINAL: Final = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that the terminal's Ctrl-C becomes a signal
from rxagent.cli import main
sys.exit(main())
"""


def rxagent(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run it to its end, with `text` on stdin."""
    return subprocess.run(
        [*_COMMAND, *arguments], cwd=folder, input=text, capture_output=True, text=True, timeout=_LIMIT, check=False
    )


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start it behind unbuffered pipes."""
    return subprocess.Popen(
        [*_COMMAND, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


class TerminalShell:
    """`rxagent` at a terminal of its own: type to it, and see what it shows."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.seen = ""
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _AT_A_TERMINAL, *arguments],
                cwd=folder,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
                env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
            )
        finally:
            os.close(slave)

    def send(self, text: str) -> None:
        """Type: a line ends with a line break, "\\x03" is Ctrl-C."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """Read until `text` has come; returns what came before it, without colours, and forgets both."""
        ends = time.monotonic() + _LIMIT
        while text not in (plain := re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen)):
            left = ends - time.monotonic()
            assert left > 0, f"{text!r} did not come; what came: {self.seen!r}"
            if not select.select([self._master], [], [], left)[0]:
                continue
            try:
                read = os.read(self._master, 4096)
            except OSError:  # the other end is closed
                read = b""
            assert read, f"{text!r} did not come before the end; what came: {self.seen!r}"
            self.seen += read.decode(errors="replace").replace("\r\n", "\n")
        before, _, self.seen = plain.partition(text)
        return before

    def leave(self) -> int:
        """Ctrl-C at the prompt, until it has ended; the exit code.

        Python's line editor notices a signal that comes between showing the prompt and waiting for a key only with
        the next key.
        """
        for _ in range(int(_LIMIT / _AGAIN)):
            self.send("\x03")
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(_AGAIN)
        raise AssertionError(f"it does not end; what came: {self.seen!r}")

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """The exit code."""
        return self._process.wait(_LIMIT)

    def __enter__(self) -> TerminalShell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)
