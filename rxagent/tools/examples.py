"""Examples: questions with the answers that a model is to give, in its system instruction."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, cast, final

from rxagent.errors import ConfigError
from rxagent.events import Content, FunctionCall, FunctionResponse, Part
from rxagent.events.value import Value
from rxagent.models.request import LlmRequest

from .base import BaseTool
from .context import CallContext

__all__ = ["BaseExampleProvider", "Example", "ExampleTool", "examples_text"]

_INTRO: Final = (
    "<EXAMPLES>\nBegin few-shot\nThe following are examples of user queries and model responses using the available "
    "tools.\n\n"
)
_OUTRO: Final = "End few-shot\nNow, try to follow these examples and complete the following conversation\n<EXAMPLES>"


class Example(Value):
    """What a user may ask, and what the agent is to say and do then."""

    input: Content
    output: tuple[Content, ...]


class BaseExampleProvider(ABC):
    """Chooses examples by the user's message."""

    @abstractmethod
    def get_examples(self, query: str) -> Sequence[Example]:
        """The examples for this message. It may block: a run asks on its worker. What it raises fails the run."""


class _Asked(Protocol):
    """The side of a run's context that this tool uses."""

    @property
    def user_content(self) -> Content | None: ...


@final
class ExampleTool(BaseTool):
    """Puts examples into the system instruction; the model has nothing to call. (ADK Java, ExampleTool)

    examples: a list, or a BaseExampleProvider, which is asked at each request. A turn whose message begins with no
    text has none. Raises ConfigError for anything else.
    """

    __slots__ = ("_examples",)

    def __init__(self, examples: Iterable[Example] | BaseExampleProvider, *, name: str = "example_tool") -> None:
        super().__init__(name, "Adds few-shot examples to the request")
        given = examples if isinstance(examples, BaseExampleProvider) else tuple(examples)
        if isinstance(given, tuple) and not all(isinstance(one, Example) for one in given):
            raise ConfigError(f"the tool {name!r} takes Examples, or a BaseExampleProvider; give it Example(...)s")
        self._examples: BaseExampleProvider | tuple[Example, ...] = given

    def process_llm_request(self, tool_context: CallContext, llm_request: LlmRequest) -> None:
        """Add the examples for the user's message."""
        content = cast(_Asked, tool_context).user_content
        query = content.parts[0].text if content is not None and content.parts else None
        if not query:
            return
        source = self._examples
        examples = source.get_examples(query) if isinstance(source, BaseExampleProvider) else source
        llm_request.append_instructions((examples_text(examples),))


def examples_text(examples: Sequence[Example]) -> str:
    """The examples as a model reads them, in ADK Java's form; empty without any."""
    if not examples:
        return ""
    blocks = (
        f"EXAMPLE {number}:\nBegin example\n{_asked(one)}{''.join(_answered(one))}End example\n\n"
        for number, one in enumerate(examples, start=1)
    )
    return f"{_INTRO}{''.join(blocks)}{_OUTRO}"


def _asked(example: Example) -> str:
    text = example.input.parts[0].text if example.input.parts else None
    return "" if text is None else f"[user]\n{text}\n\n"


def _answered(example: Example) -> Iterator[str]:
    for content in example.output:
        role = "[model]\n" if content.role == "model" else "[user]\n"
        for part in content.parts or ():
            yield _part_text(part, role)


def _part_text(part: Part, role: str) -> str:
    if part.function_call is not None:
        return f"{role}{_call_text(part.function_call)}"
    if part.function_response is not None:
        return _response_text(part.function_response)
    return "" if part.text is None else f"{role}{part.text}\n"


def _call_text(call: FunctionCall) -> str:
    arguments = ", ".join(f"{name}={_argument(value)}" for name, value in (call.args or {}).items())
    return f"```tool_code\n{call.name or ''}({arguments})\n```\n"


def _argument(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _response_text(response: FunctionResponse) -> str:
    told = json.dumps(response.response or {}, ensure_ascii=False, separators=(",", ":"))
    return f"```tool_outputs\n{told}\n```\n"
