"""save_input_blobs_as_artifacts: the bytes of a message are kept as artifacts."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.artifacts import InMemoryArtifactService
from rxagent.artifacts.blobs import without_blobs
from rxagent.events import Blob, Content, Part
from rxagent.invocation import InvocationContext, RunConfig
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel

from .services import AsyncArtifacts

BYTES = Part(inline_data=Blob(mime_type="text/plain", data=b"hi"))
MESSAGE = Content(role="user", parts=(Part(text="look"), BYTES))
ASKED = RunConfig(save_input_blobs_as_artifacts=True)


def test_each_blob_by_its_place() -> None:
    """Each part with bytes is saved whole, under its place in the message, and a text stands there instead."""
    saved: list[tuple[str, Part]] = []
    message = Content(role="user", parts=(BYTES, Part(text="x"), BYTES))
    changed = without_blobs(message, "e-1", lambda name, part: saved.append((name, part)))
    assert saved == [("artifact_e-1_0", BYTES), ("artifact_e-1_2", BYTES)]
    assert [part.text for part in changed.parts or ()] == [
        "Uploaded file: artifact_e-1_0. It has been saved to the artifacts",
        "x",
        "Uploaded file: artifact_e-1_2. It has been saved to the artifacts",
    ]
    assert changed.role == "user"
    assert message.parts == (BYTES, Part(text="x"), BYTES)


def test_a_message_without_bytes_is_left_alone() -> None:
    """A message without bytes is the same object."""
    message = Content.user("hi")
    assert without_blobs(message, "e-1", lambda name, part: pytest.fail("saved")) is message


class Watch(BasePlugin):
    """Keeps the message as the hooks see it."""

    def __init__(self) -> None:
        super().__init__("watch")
        self.seen: list[Content | None] = []

    def on_user_message_callback(self, ctx: InvocationContext, message: Content) -> None:
        self.seen.append(message)

    def before_run_callback(self, ctx: InvocationContext) -> None:
        self.seen.append(ctx.user_content)


@pytest.mark.parametrize("service", [InMemoryArtifactService, AsyncArtifacts])
def test_a_run_that_keeps_blobs(service: Any) -> None:
    """The hook sees the bytes; the stored event, the run's own message and the request have the text (a19)."""
    model, watch = ScriptedModel("seen"), Watch()
    runner = Runner(LlmAgent(name="root", model=model), artifact_service=service(), plugins=[watch])
    (answer,) = runner.run("me", "s", MESSAGE, ASKED)
    name = f"artifact_{answer.invocation_id}_1"
    text = f"Uploaded file: {name}. It has been saved to the artifacts"
    session: Any = runner.session_service.get_session("root", "me", "s")
    stored = session.events[0].content
    assert [part.text for part in stored.parts] == ["look", text]
    assert watch.seen == [MESSAGE, stored]
    assert model.requests[0].contents == (stored,)
    if service is InMemoryArtifactService:
        assert runner.artifact_service.load_artifact("root", "me", "s", name) == BYTES
        assert runner.artifact_service.list_artifact_keys("root", "me", "s") == [name]


def test_not_asked_for() -> None:
    """By default the bytes stay in the message, and no artifact is made."""
    runner = Runner(LlmAgent(name="root", model=ScriptedModel("seen")))
    list(runner.run("me", "s", MESSAGE))
    session: Any = runner.session_service.get_session("root", "me", "s")
    assert session.events[0].content == MESSAGE
    assert runner.artifact_service.list_artifact_keys("root", "me", "s") == []
