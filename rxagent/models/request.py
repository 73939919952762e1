"""What a model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from rxagent.errors import DuplicateToolError
from rxagent.events import Content, Value

from .contents import Contents

__all__ = ["Declared", "FunctionDeclaration", "GenerateContentConfig", "LlmRequest"]


class FunctionDeclaration(Value):
    """What a model is told of a tool: name, description, and a JSON schema of its parameters."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


class GenerateContentConfig(Value):
    """How to generate. Names are ADK's; what this class does not know goes to the server as it is.

    `tool_choice`: "auto", "required", "none" or a tool's name. `extra_body`: more keys for the request's JSON, as
    they are (`logit_bias`, a server's own switches).
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_output_tokens: int | None = None
    stop_sequences: tuple[str, ...] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    response_mime_type: str | None = None
    response_schema: dict[str, Any] | None = None
    tool_choice: str | None = None
    extra_body: Mapping[str, Any] | None = None


class Declared(Protocol):
    """The side of a tool that a request sees."""

    @property
    def name(self) -> str: ...

    def declaration(self) -> FunctionDeclaration | None: ...


class LlmRequest:
    """One question to a model, still open to changes: before-model callbacks edit it in place.

    contents: the conversation, to be changed like a list. system_instruction: one text. tools: by name, in order.
    config: how to generate.
    """

    __slots__ = ("_contents", "config", "model", "system_instruction", "tools")

    def __init__(
        self,
        contents: Iterable[Content] = (),
        *,
        model: str | None = None,
        system_instruction: str = "",
        tools: Iterable[Declared] = (),
        config: GenerateContentConfig | None = None,
    ) -> None:
        self.model = model
        self._contents = Contents(contents)
        self.system_instruction = system_instruction
        self.tools: dict[str, Declared] = {}
        self.config = config or GenerateContentConfig()
        self.append_tools(tools)

    @property
    def contents(self) -> Contents:
        """The conversation. It is the request's own: what is set is copied, and changes reach no other request."""
        return self._contents

    @contents.setter
    def contents(self, contents: Iterable[Content]) -> None:
        if contents is not self._contents:  # it is after `+=`
            self._contents = Contents(contents)

    def append_instructions(self, texts: Iterable[str]) -> None:
        """Add texts to the system instruction, a blank line between any two; empty ones are skipped."""
        self.system_instruction = "\n\n".join(text for text in (self.system_instruction, *texts) if text)

    def append_tools(self, tools: Iterable[Declared]) -> None:
        """Offer more tools. Raises DuplicateToolError for a name that is taken."""
        for tool in tools:
            if self.tools.get(tool.name, tool) is not tool:
                raise DuplicateToolError(f"two tools are named {tool.name!r}; rename one of them")
            self.tools[tool.name] = tool

    def declarations(self) -> list[FunctionDeclaration]:
        """What the model is told of the tools, in order."""
        return [declared for tool in self.tools.values() if (declared := tool.declaration()) is not None]

    def __repr__(self) -> str:
        return f"<LlmRequest {self.model}: {len(self.contents)} contents, tools {list(self.tools)}>"
