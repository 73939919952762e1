"""Landing: where a tool tells how its call ends, for a run that may have stopped waiting."""

from __future__ import annotations

from typing import Any, Final, Protocol

from .context import CallContext

__all__ = ["Landing", "landing_of"]


class Landing(Protocol):
    """Told by the tool, on whichever thread it ends; `rxagent.invocation.Landing` says what the states mean."""

    def called(self) -> None: ...

    def begin(self) -> None: ...

    def returned(self, result: dict[str, Any]) -> None: ...

    def stopped(self) -> None: ...

    def left(self) -> None: ...


class _Nowhere:
    """For a context that keeps no account of its calls."""

    def called(self) -> None: ...

    def begin(self) -> None: ...

    def returned(self, result: dict[str, Any]) -> None: ...

    def stopped(self) -> None: ...

    def left(self) -> None: ...


_NOWHERE: Final = _Nowhere()


def landing_of(tool_context: CallContext) -> Landing:
    """The landing of the context's call."""
    landing: Landing = getattr(tool_context, "landing", _NOWHERE)
    return landing
