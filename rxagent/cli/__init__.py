"""The shell: `rxagent run`, `chat`, `sessions`. One file per command."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (the process's own, without one); returns the exit code."""
    from .main import main as run_main  # what a command needs is loaded when it runs

    return run_main(argv)
