"""load_artifacts: a model looks into the session's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Protocol, cast, final

from rxagent.events import Blob, Content, Part
from rxagent.models.request import FunctionDeclaration, LlmRequest
from rxagent.streams.single import Single

from .base import BaseTool
from .context import CallContext

__all__ = ["LoadArtifactsTool", "load_artifacts"]

_NAMES: Final = "artifact_names"
_HINT: Final = (
    "You have a list of artifacts:\n  {names}\n\n"
    "When the user asks questions about any of the artifacts, you should call the `load_artifacts` function to load "
    "the artifact. Do not generate any text other than the function call. Whenever you are asked about artifacts, you "
    "should first load it. You must always load an artifact to access its content, even if it has been loaded before."
)
_SHOWN: Final = ("image/", "audio/", "video/", "application/pdf")
_READ: Final = ("text/", "application/csv", "application/json", "application/xml")


class _Filing(Protocol):
    """The side of a run's context that this tool uses."""

    def load_artifact(self, filename: str, version: int | None = None) -> Part | None: ...

    def list_artifacts(self) -> list[str]: ...


@final
class LoadArtifactsTool(BaseTool):
    """Tells the model which artifacts there are, and shows it the content of those that it asks for.

    ::

        request 1   instruction: "You have a list of artifacts: ..."
        model       load_artifacts(artifact_names=["a.png"])
        request 2   ..., call, response, "Artifact a.png is:" and the content

    The content stands in that one request alone, never in the log; a later turn loads it again. Texts are shown as
    text; images, audio, video and PDF as they are; of other bytes the model is told type and size. (ADK Java)
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("load_artifacts", "Loads the artifacts and adds them to the session.")

    def declaration(self) -> FunctionDeclaration:
        """One list of names."""
        names = {"type": "array", "items": {"type": "string"}}
        parameters = {"type": "object", "properties": {_NAMES: names}}
        return FunctionDeclaration(name=self.name, description=self.description, parameters=parameters)

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        """The names; the next request has the contents."""
        return Single.just({_NAMES: _names(args)})

    def process_llm_request(self, tool_context: CallContext, llm_request: LlmRequest) -> None:
        """Offer the tool, name the artifacts, and show those that the model has just asked for."""
        super().process_llm_request(tool_context, llm_request)
        filing = cast(_Filing, tool_context)
        there = filing.list_artifacts()
        if not there:
            return
        llm_request.append_instructions((_HINT.format(names=json.dumps(there, ensure_ascii=False)),))
        llm_request.contents += [_shown(name, filing.load_artifact(name)) for name in self._asked_for(llm_request)]

    def _asked_for(self, request: LlmRequest) -> Iterator[str]:
        for part in (request.contents[-1].parts or ()) if request.contents else ():
            response = part.function_response
            if response is not None and response.name == self.name:
                yield from _names(response.response or {})


def _names(given: dict[str, Any]) -> list[str]:
    names = given.get(_NAMES)
    names = [names] if isinstance(names, str) else names
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _shown(name: str, part: Part | None) -> Content:
    if part is None:
        said = Part(text=f"[There is no artifact named {name}.]")
    elif part.inline_data is None:
        said = part
    else:
        said = _safe(name, part, part.inline_data)
    return Content(role="user", parts=(Part(text=f"Artifact {name} is:"), said))


def _safe(name: str, part: Part, blob: Blob) -> Part:
    """The part, or a text in its place where models take no bytes of that type."""
    mime = (blob.mime_type or "").partition(";")[0].strip() or "application/octet-stream"
    if mime.startswith(_SHOWN):
        return part
    if blob.data is None:
        return Part(text=f"[Artifact: {name}, type: {mime}. No inline data was provided.]")
    if mime.startswith(_READ):
        return Part(text=blob.data.decode("utf-8", errors="replace"))
    size = len(blob.data) / 1024
    return Part(
        text=f"[Binary artifact: {name}, type: {mime}, size: {size:.1f} KB. Content cannot be displayed inline.]"
    )


load_artifacts: Final = LoadArtifactsTool()
"""The tool for an agent's `tools`."""
