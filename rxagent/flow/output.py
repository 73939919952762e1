"""What an agent's answer leaves in the state, and how its shape is asked for."""

from __future__ import annotations

from rxagent.events import Event
from rxagent.models import LlmRequest
from rxagent.streams import Emit

from .asking_agent import AskingAgent
from .output_repair import OutputRepair
from .output_schema import OutputSchema
from .output_tool import SET_MODEL_RESPONSE, SetModelResponseTool, takes_schema_beside_tools

__all__ = ["ask_for_shape", "saving_output", "structured_answer"]


def ask_for_shape(agent: AskingAgent, request: LlmRequest, *, beside_tools: bool) -> None:
    """Tell the model the shape of the answer: as response schema, or by the tool set_model_response.

    The tool is used where there are tools and the model is not known to take both.
    """
    schema = agent.output_schema
    if schema is None:
        return
    if beside_tools and not takes_schema_beside_tools(request.model or ""):
        tool = SetModelResponseTool(schema)
        request.append_instructions((tool.INSTRUCTION,))
        request.append_tools((tool,))
        return
    shape = {"response_schema": schema.json_schema, "response_mime_type": "application/json"}
    request.config = request.config.model_copy(update=shape)


def structured_answer(request: LlmRequest, event: Event) -> str | None:
    """The final answer that was given by set_model_response in this event, as JSON text."""
    tool = request.tools.get(SET_MODEL_RESPONSE)
    return tool.answer_in(event) if isinstance(tool, SetModelResponseTool) else None


def saving_output(agent: AskingAgent, emit: Emit[Event], repair: OutputRepair | None = None) -> Emit[Event]:
    """An `emit` that puts each final answer under the agent's `output_key`, in the delta of the same event.

    A final answer is a final response with a text that is no thought, empty or not; also one of an agent that this
    one has transferred to. With an output schema the JSON value is put there, or the text where it does not fit; what
    is to be repaired is not.
    """
    key, schema = agent.output_key, agent.output_schema
    if key is None:
        return emit

    def save(event: Event) -> None:
        is_answer = not event.partial and event.final_response() and _says_something(event)
        if is_answer and not (repair is not None and repair.will_ask_again(event)):
            actions = event.actions.copied()
            actions.state_delta[key] = _value(event.text, schema)
            event = event.model_copy(update={"actions": actions})
        emit(event)

    return save


def _says_something(event: Event) -> bool:
    return any(part.text is not None and not part.thought for part in event.parts)


def _value(text: str, schema: OutputSchema | None) -> object:
    if schema is None:
        return text
    try:
        return schema.parse(text)
    except ValueError:
        return text
