"""The agent that answers when none is named."""

from __future__ import annotations

from rxagent.cli.assistant import assistant
from rxagent.models.local import LocalModel
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel


def test_the_model_gets_the_conversation_and_nothing_else() -> None:
    """No identity and no instruction stand before the user's words."""
    model = ScriptedModel(["Hello."])
    with Runner(assistant(model)) as runner:
        list(runner.run("me", "s1", "Hi"))
    (request,) = model.requests
    assert request.system_instruction == ""
    assert [content.text for content in request.contents] == ["Hi"]
    assert request.config.extra_body is None


def test_a_servers_own_key_is_sent_to_that_server_alone() -> None:
    """llama.cpp's penalty for repetitions goes to the local model; other servers refuse keys that they do not know."""
    assert assistant(LocalModel()).generate_content_config.extra_body == {"repeat_penalty": 1.1}
    assert assistant(ScriptedModel()).generate_content_config.extra_body is None
