"""ResumabilityConfig: whether an app's runs can be paused and gone on with."""

from __future__ import annotations

from typing import final

from rxagent.errors import ConfigError

__all__ = ["ResumabilityConfig"]


@final
class ResumabilityConfig:
    """How an app's runs go on after a pause, a crash or a dispose.

    resumable: a run pauses at an unanswered long-running call; agents write checkpoints; an answer, or
    `invocation_id=`, goes on with the same invocation, in any process. What a crash has cut is done again, tool calls
    under their ids; so is an agent's callback that had answered, when the agent's end mark was not stored yet.
    plain_text_continuation_auto_resume: ADK's older flow: a run pauses, nothing is checkpointed, and an answer starts a
    new invocation, which re-enters a sequence at the member that asked.

    Raises ConfigError when both are given: they exclude each other.
    """

    __slots__ = ("plain_text_continuation_auto_resume", "resumable")

    def __init__(self, *, resumable: bool = False, plain_text_continuation_auto_resume: bool = False) -> None:
        if resumable and plain_text_continuation_auto_resume:
            raise ConfigError(
                "resumable and plain_text_continuation_auto_resume are mutually exclusive: leave the latter away, "
                "it selects the older flow"
            )
        self.resumable = resumable
        self.plain_text_continuation_auto_resume = plain_text_continuation_auto_resume

    def __repr__(self) -> str:
        chosen = [name for name in self.__slots__ if getattr(self, name)]
        return f"<ResumabilityConfig {', '.join(chosen) or 'not resumable'}>"
