"""load_artifacts in runs."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.artifacts import InMemoryArtifactService
from rxagent.events import Blob, Content, Part
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call
from rxagent.testing.invariants import request_faults
from rxagent.tools import load_artifacts

PLACE = ("root", "me", "s")


def add(left: int, right: int) -> int:
    """Adds."""
    return left + right


def asked(model: ScriptedModel, artifacts: dict[str, Part], *more: Any) -> None:
    """Run the model with the tool, on a session with these artifacts."""
    service = InMemoryArtifactService()
    for name, part in artifacts.items():
        service.save_artifact(*PLACE, name, part)
    with Runner(LlmAgent(name="root", model=model, tools=[load_artifacts, *more]), artifact_service=service) as runner:
        list(runner.run("me", "s", "What is in it?"))


def bytes_of(mime: str | None, data: bytes | None = b"abc") -> Part:
    return Part(inline_data=Blob(mime_type=mime, data=data))


def shown(name: str, artifacts: dict[str, Part]) -> Part:
    """What the model is shown of an artifact that it asks for."""
    model = ScriptedModel([call("load_artifacts", artifact_names=[name])], "Done.")
    asked(model, artifacts)
    last = model.requests[1].contents[-1].parts or ()
    assert (last[0].text, len(last)) == (f"Artifact {name} is:", 2)
    return last[1]


def test_the_model_is_told_what_there_is() -> None:
    """The instruction names the artifacts, and the tool is offered with one list of names."""
    model = ScriptedModel("Hm.")
    asked(model, {"b.txt": Part(text="x"), "ä.txt": Part(text="y")})
    assert 'You have a list of artifacts:\n  ["b.txt", "ä.txt"]\n\nWhen' in model.requests[0].system_instruction
    assert load_artifacts.declaration().parameters == {
        "type": "object",
        "properties": {"artifact_names": {"type": "array", "items": {"type": "string"}}},
    }


def test_without_artifacts_nothing_is_said() -> None:
    """A session without artifacts says nothing of them; the tool is there all the same."""
    model = ScriptedModel("Hm.")
    asked(model, {})
    assert "artifacts" not in model.requests[0].system_instruction
    assert model.requests[0].tools == ("load_artifacts",)


def test_a_loaded_artifact_stands_in_the_next_request() -> None:
    """After the call and its response the request has the content; the next one, and the log, have it no more."""
    model = ScriptedModel([call("load_artifacts", artifact_names=["a", "b"])], [call("add", left=1, right=2)], "Done.")
    asked(model, {"a": Part(text="tea"), "b": Part(text="cup")}, add)
    texts = [[part.text for part in content.parts or ()] for content in model.requests[1].contents[-2:]]
    assert texts == [["Artifact a is:", "tea"], ["Artifact b is:", "cup"]]
    assert all(list(request_faults(request.contents)) == [] for request in model.requests)
    assert "tea" not in str(model.requests[2].contents)


def test_beside_another_call() -> None:
    """It is found beside other calls of the same turn."""
    model = ScriptedModel([call("add", left=1, right=2), call("load_artifacts", artifact_names=["a"])], "Done.")
    asked(model, {"a": Part(text="tea")}, add)
    assert model.requests[1].contents[-1] == Content(role="user", parts=(Part(text="Artifact a is:"), Part(text="tea")))


@pytest.mark.parametrize("mime", ["image/png", "audio/wav", "video/mp4", "application/pdf; v=1"])
def test_bytes_that_models_take(mime: str) -> None:
    """Images, audio, video and PDF are shown as they are."""
    assert shown("f", {"f": bytes_of(mime)}) == bytes_of(mime)


@pytest.mark.parametrize("mime", ["text/plain", "application/json", "text/html; charset=utf-8"])
def test_bytes_that_are_a_text(mime: str) -> None:
    """Bytes of a text are shown as a text, bytes that are no UTF-8 replaced."""
    assert shown("f", {"f": bytes_of(mime, b"tea\xff")}) == Part(text="tea\ufffd")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (bytes_of("application/zip", b"x" * 1536), "[Binary artifact: f, type: application/zip, size: 1.5 KB."),
        (bytes_of(None, b""), "[Binary artifact: f, type: application/octet-stream, size: 0.0 KB."),
        (bytes_of("application/zip", None), "[Artifact: f, type: application/zip. No inline data was provided.]"),
    ],
)
def test_other_bytes_in_words(part: Part, words: str) -> None:
    """Of other bytes the model is told name, type and size."""
    assert (shown("f", {"f": part}).text or "").startswith(words)


def test_one_that_is_not_there() -> None:
    """A name that is no artifact's is said to be none."""
    assert shown("g", {"f": Part(text="x")}) == Part(text="[There is no artifact named g.]")


@pytest.mark.parametrize("names", [None, 7, "f", [3, "f"]])
def test_odd_arguments(names: Any) -> None:
    """What a model gives instead of a list of names does no harm."""
    model = ScriptedModel([call("load_artifacts", artifact_names=names)], "Done.")
    asked(model, {"f": Part(text="x")})
    assert ("Artifact f is:" in str(model.requests[1].contents)) == (names not in (None, 7))
