"""The exit codes of the shell."""

from __future__ import annotations

import os
import sys
from typing import Final

__all__ = [
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "PIPE_CLOSED",
    "SHUT_DOWN",
    "TIMED_OUT",
    "USAGE",
    "after_stop",
    "pipe_closed",
]

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
"""Ctrl-C, as shells write it: 128 + SIGINT."""
TIMED_OUT: Final = 124
"""As `timeout` has it."""
SHUT_DOWN: Final = 143
"""128 + SIGTERM."""
PIPE_CLOSED: Final = 141
"""`rxagent run ... | head -1`: 128 + SIGPIPE."""


def after_stop(reason: str | None) -> int:
    """The exit code for a run that was stopped for this reason."""
    return {"worker_shutdown": SHUT_DOWN, "request_timeout": TIMED_OUT}.get(reason or "", INTERRUPTED)


def pipe_closed() -> int:
    """The exit code for a reader that has gone; what is still to be written goes nowhere, so that the exit is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return PIPE_CLOSED
