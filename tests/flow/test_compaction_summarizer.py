"""LlmEventSummarizer: what it asks its model."""

from __future__ import annotations

import pytest

from rxagent.errors import ConfigError
from rxagent.events import Part
from rxagent.flow.compaction_summarizer import LlmEventSummarizer
from rxagent.streams import CancelScope, settle
from rxagent.testing import ScriptedModel
from tests.history.logs import call as calling
from tests.history.logs import calls, responds, response, said, user


def test_what_the_summarizer_reads() -> None:
    """Texts by their role, calls and responses in words; no thoughts, no bytes."""
    model = ScriptedModel("x")
    events = [
        user("q"),
        said("root", Part(text="hm", thought=True), "a"),
        calls("root", calling("c", n=1)),
        responds("root", response("c", ok=True)),
        said("other", "b", role=None),
    ]
    settle(LlmEventSummarizer(model, "Sum up: {conversation_history}!").summarize_events(events), CancelScope())
    assert model.requests[0].contents[0].text == (
        'Sum up: user: q\nmodel: a\nmodel: [FUNCTION_CALL: t({"n":1})]\n'
        'user: [FUNCTION_RESPONSE: t -> {"ok":true}]\nother: b!'
    )


def test_a_template_without_a_place() -> None:
    """A prompt template must say where the events stand."""
    with pytest.raises(ConfigError, match=r"needs \{conversation_history\}"):
        LlmEventSummarizer("m", "Sum up!")
