"""LongRunningFunctionTool: a function that starts something whose answer comes later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .confirmation import RequireConfirmation
from .function_tool import FunctionTool

__all__ = ["LongRunningFunctionTool"]


class LongRunningFunctionTool(FunctionTool):
    """A FunctionTool whose call is a designed pause: what it returns is an interim value, or nothing.

    The answer is a function response with the call's id, sent by the user in a later message.
    """

    __slots__ = ()

    def __init__(
        self,
        func: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        require_confirmation: RequireConfirmation = False,
        custom_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            func,
            name=name,
            description=description,
            is_long_running=True,
            require_confirmation=require_confirmation,
            custom_metadata=custom_metadata,
        )
