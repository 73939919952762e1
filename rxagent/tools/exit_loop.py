"""exit_loop: a model's way out of a LoopAgent."""

from __future__ import annotations

from .context import CallContext

__all__ = ["exit_loop"]


def exit_loop(tool_context: CallContext) -> None:
    """Exits the loop.

    Call this function only when you are instructed to do so.
    """
    tool_context.actions.escalate = True
    tool_context.actions.skip_summarization = True
