"""The exit codes of the shell; each is met in the tests of the command that ends with it."""

from __future__ import annotations

import signal

from rxagent.cli import exits


def test_codes_are_those_of_shells() -> None:
    """0 is good, 2 is wrong usage as in argparse, signals are 128 and their number."""
    assert (exits.DONE, exits.FAILED, exits.USAGE) == (0, 1, 2)
    assert exits.INTERRUPTED == 128 + signal.SIGINT
    assert exits.PIPE_CLOSED == 128 + signal.SIGPIPE
