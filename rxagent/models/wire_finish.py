"""Why an answer ended: the words that servers use, and which of two words counts."""

from __future__ import annotations

from typing import Final, final

__all__ = ["Finish"]

_STOP: Final = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "end"})
_CALLS: Final = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})
_LENGTH: Final = frozenset({"length", "max_tokens", "max_output_tokens", "max_length", "model_length"})
_FILTER: Final = frozenset({"content_filter", "content_filtered", "safety", "sensitive", "recitation", "refusal"})
_BROKEN: Final = frozenset({"abort", "aborted", "cancel", "cancelled", "canceled", "interrupted", "timeout"})
_ERROR: Final = frozenset({"error", "network_error", "server_error", "insufficient_system_resource"})
_NONE: Final = frozenset({"", "null", "none"})  # what is meant by these is that there is no word yet

_KINDS: Final = ((_STOP, "STOP"), (_CALLS, "STOP"), (frozenset[str](), "OTHER"), (_LENGTH, "MAX_TOKENS"),
                 (_FILTER, "SAFETY"), (_BROKEN, "OTHER"), (_ERROR, "OTHER"))  # fmt: skip
_UNKNOWN: Final = 2


@final
class Finish:
    """The finish reasons of one answer. Of contradicting words the one that means trouble counts.

    ::

        stop < tool_calls < a word that nobody knows < length < content_filter < abort < error

    word: the server's, None while there is none. reason: ADK's name for it.
    """

    __slots__ = ("_kind", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self._kind = -1

    def add(self, value: object) -> None:
        """Take a `finish_reason`: a word, or a map that holds one as its `type`."""
        if isinstance(value, dict):
            value = value.get("type") or value.get("reason")
        if not isinstance(value, str) or value.strip().lower() in _NONE:
            return
        word = value.strip().lower()
        kind = next((number for number, (words, _) in enumerate(_KINDS) if word in words), _UNKNOWN)
        if kind > self._kind:
            self._kind, self.word = kind, word

    @property
    def reason(self) -> str:
        """ADK's finish reason; STOP when the server gave none."""
        return _KINDS[max(self._kind, 0)][1]

    @property
    def promises_calls(self) -> bool:
        """True when it says that there are calls."""
        return self.word in _CALLS

    @property
    def is_cut(self) -> bool:
        """True when the model was stopped in mid-answer."""
        return self.word in _LENGTH or self.word in _FILTER

    @property
    def is_broken(self) -> bool:
        """True when the server gave the answer up."""
        return self.word in _BROKEN

    @property
    def is_error(self) -> bool:
        """True when the server failed."""
        return self.word in _ERROR
