"""set_model_response: a tool by which a model gives a structured answer where it cannot do so beside other tools."""

from __future__ import annotations

import json
import re
from typing import Any, Final, final

from rxagent.events import Event
from rxagent.models import FunctionDeclaration
from rxagent.streams import Single
from rxagent.tools import BaseTool, error_result
from rxagent.tools.context import CallContext

from .output_schema import OutputSchema

__all__ = ["SET_MODEL_RESPONSE", "SetModelResponseTool", "takes_schema_beside_tools"]

SET_MODEL_RESPONSE: Final = "set_model_response"
_DESCRIPTION: Final = (
    "Set your final response using the required output schema. After using any other tools needed to complete the "
    "task, always call set_model_response with your final answer in the specified schema format."
)
_BOTH: Final = re.compile(r"gpt-(4o|4\.1|[5-9])|o\d|gemini-([3-9]|\d\d)")
_KEY: Final = "response"  # of an answer that is no object


def takes_schema_beside_tools(model: str) -> bool:
    """True for models that are known to use tools and to keep to a response schema in the same request.

    Others get the tool set_model_response instead: llama.cpp refuses a schema beside tools, other servers then force
    the schema on the first answer, so that no tool is ever called, and gemini-2 cannot do both (ADK).
    """
    return _BOTH.match(model.rpartition("/")[2]) is not None


@final
class SetModelResponseTool(BaseTool):
    """Takes the answer as its arguments, checks it, and gives it back; one that does not fit is told to the model."""

    __slots__ = ("_schema",)

    INSTRUCTION: Final = (
        "IMPORTANT: You have access to other tools, but you must provide your final response using the "
        "set_model_response tool with the required structured format. After using any other tools needed to complete "
        "the task, always call set_model_response with your final answer in the specified schema format."
    )

    def __init__(self, schema: OutputSchema) -> None:
        super().__init__(SET_MODEL_RESPONSE, _DESCRIPTION)
        self._schema = schema

    def declaration(self) -> FunctionDeclaration:
        """The schema as parameters; an answer that is no object is one parameter."""
        schema = self._schema.json_schema
        if not self._schema.is_object:
            schema = {"type": "object", "properties": {_KEY: schema}, "required": [_KEY]}
        return FunctionDeclaration(name=self.name, description=self.description, parameters=schema)

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        """The answer, or an error result that says what does not fit."""
        try:
            value = self._schema.check(args if self._schema.is_object else args.get(_KEY))
        except ValueError as error:
            return Single.just(error_result(f"This answer does not fit the schema: {error}. Call the tool again."))
        return Single.just(value if self._schema.is_object else {_KEY: value})

    def answer_in(self, event: Event) -> str | None:
        """The answer that a response in this event holds, as JSON text; None when none does."""
        for response in event.function_responses:
            if response.name == self.name and response.response is not None:
                value = response.response if self._schema.is_object else response.response.get(_KEY)
                try:
                    return json.dumps(self._schema.check(value), ensure_ascii=False, separators=(",", ":"))
                except ValueError:
                    continue
        return None
