"""One run: its turn, its opening, append-then-emit, its end; and the doors to start one."""

from .app import App
from .handle import RunHandle, RunState
from .runner import Runner

__all__ = ["App", "RunHandle", "RunState", "Runner"]
