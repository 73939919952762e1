"""One run: its turn, its opening, append-then-emit, its end; and the doors to start one."""

from .agent_tool import AgentTool
from .app import App
from .handle import RunHandle, RunState
from .runner import Runner

__all__ = ["AgentTool", "App", "RunHandle", "RunState", "Runner"]
