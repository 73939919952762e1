"""load_memory and preload_memory: what the user said in earlier sessions, for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast, final

from rxagent.events import Content
from rxagent.models.request import LlmRequest

from .base import BaseTool
from .context import CallContext
from .function_tool import FunctionTool

if TYPE_CHECKING:
    from rxagent.memory import MemoryEntry, SearchMemoryResponse

__all__ = ["LoadMemoryTool", "PreloadMemoryTool", "load_memory", "preload_memory"]

_HINT: Final = (
    "You have memory. You can use it to answer questions. If any questions need\n"
    "you to look up the memory, you should call load_memory function with a query."
)
_PAST: Final = (
    "The following content is from your previous conversations with the user.\n"
    "They may be useful for answering the user's current query.\n"
    "<PAST_CONVERSATIONS>\n{lines}\n</PAST_CONVERSATIONS>"
)


class _Remembering(Protocol):
    """The side of a run's context that these tools use."""

    @property
    def user_content(self) -> Content | None: ...

    def search_memory(self, query: str) -> SearchMemoryResponse: ...


def _load_memory(query: str, tool_context: CallContext) -> dict[str, Any]:
    """Loads the memory for the current user.

    Args:
        query: The query to load the memory for.
    """
    found = cast(_Remembering, tool_context).search_memory(query).memories
    return {"memories": [_told(entry) for entry in found]}


@final
class LoadMemoryTool(FunctionTool):
    """The model asks for what the user said in earlier sessions; it is told the texts, their authors and times.

    Needs a Runner with a memory_service.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_load_memory, name="load_memory")

    def process_llm_request(self, tool_context: CallContext, llm_request: LlmRequest) -> None:
        """Offer the tool, and say what it is for (ADK's words)."""
        super().process_llm_request(tool_context, llm_request)
        llm_request.append_instructions((_HINT,))


@final
class PreloadMemoryTool(BaseTool):
    """Puts what the memory has on the user's message into the system instruction; the model has nothing to call.

    Needs a Runner with a memory_service, which is searched at each of the agent's requests. (ADK Python)
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("preload_memory", "preload_memory")

    def process_llm_request(self, tool_context: CallContext, llm_request: LlmRequest) -> None:
        """Search, and say what was found. What the memory service raises fails the run."""
        context = cast(_Remembering, tool_context)
        query = context.user_content.text if context.user_content is not None else ""
        lines = [line for entry in context.search_memory(query).memories for line in _lines(entry)] if query else []
        if lines:
            llm_request.append_instructions((_PAST.format(lines="\n".join(lines)),))


def _told(entry: MemoryEntry) -> dict[str, Any]:
    """An entry as the model reads it: its texts alone, neither thoughts nor bytes."""
    texts = [{"text": part.text} for part in entry.content.parts or () if part.text and not part.thought]
    told = {
        "content": {"role": entry.content.role, "parts": texts},
        "author": entry.author,
        "timestamp": entry.timestamp,
    }
    return {key: value for key, value in told.items() if value is not None}


def _lines(entry: MemoryEntry) -> list[str]:
    text = entry.content.text
    lines = [f"Time: {entry.timestamp}"] if entry.timestamp else []
    return [*lines, f"{entry.author}: {text}" if entry.author else text] if text else []


load_memory: Final = LoadMemoryTool()
"""The tool for an agent's `tools`."""

preload_memory: Final = PreloadMemoryTool()
"""The tool for an agent's `tools`."""
