"""Examples in the system instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.errors import ConfigError
from rxagent.events import Blob, Content, FunctionCall, FunctionResponse, Part
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel
from rxagent.tools import BaseExampleProvider, Example, ExampleTool
from rxagent.tools.examples import examples_text

CALL = FunctionCall(name="roll", args={"sides": 6, "of": "it's", "fair": True, "more": None})
ROLL = Example(
    input=Content.user("Roll a die"),
    output=(
        Content(role="model", parts=(Part(function_call=CALL),)),
        Content(role="user", parts=(Part(function_response=FunctionResponse(name="roll", response={"rolled": 4})),)),
        Content.model("A four."),
    ),
)
TEXT = """<EXAMPLES>
Begin few-shot
The following are examples of user queries and model responses using the available tools.

EXAMPLE 1:
Begin example
[user]
Roll a die

[model]
```tool_code
roll(sides=6, of='it's', fair=true, more=null)
```
```tool_outputs
{"rolled":4}
```
[model]
A four.
End example

End few-shot
Now, try to follow these examples and complete the following conversation
<EXAMPLES>"""


def instruction(tool: ExampleTool, message: Any = "Roll!") -> str:
    """The system instruction of a request with this tool."""
    model = ScriptedModel("Done.")
    with Runner(LlmAgent(name="root", model=model, instruction="Be kind.", tools=[tool])) as runner:
        list(runner.run("me", "s", message))
    assert model.requests[0].tools == ()
    return model.requests[0].system_instruction


def test_in_a_request() -> None:
    """The examples stand behind the instruction, word for word as ADK Java writes them."""
    assert instruction(ExampleTool([ROLL])).endswith(f'"root".\n\n{TEXT}')


def test_several_are_numbered() -> None:
    """Each example is a block with its number."""
    text = examples_text([ROLL, ROLL])
    assert (text.count("EXAMPLE 1:"), text.count("EXAMPLE 2:"), text.count("<EXAMPLES>")) == (1, 1, 2)


def test_a_provider_chooses_by_the_message() -> None:
    """A provider is asked with the user's text at each request."""

    class Chosen(BaseExampleProvider):
        def get_examples(self, query: str) -> Sequence[Example]:
            return [Example(input=Content.user(query), output=(Content.model("ok"),))] if query == "Roll!" else []

    assert "[user]\nRoll!\n\n[model]\nok\nEnd" in instruction(ExampleTool(Chosen()))
    assert "EXAMPLE" not in instruction(ExampleTool(Chosen()), "Else")


def test_a_message_without_text() -> None:
    """A turn that begins with no text has no examples."""
    assert "EXAMPLE" not in instruction(ExampleTool([ROLL]), [Part(inline_data=Blob(mime_type="image/png", data=b"x"))])


def test_none_and_nothing() -> None:
    """No examples make no text; parts that say nothing are passed over."""
    assert examples_text([]) == ""
    silent = Content(role="model", parts=(Part(inline_data=Blob(data=b"x")),))
    assert "Begin example\nEnd example" in examples_text([Example(input=Content(role="user"), output=(silent,))])


def test_what_is_no_example() -> None:
    """What is no Example is refused where the tool is made."""
    with pytest.raises(ConfigError, match="give it Example"):
        ExampleTool(["Roll!"])  # type: ignore[list-item]
