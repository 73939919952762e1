"""Bytes in a message, kept as artifacts instead of in the log (ADK, save_input_blobs_as_artifacts)."""

from __future__ import annotations

from collections.abc import Callable

from rxagent.events import Content, Part

__all__ = ["without_blobs"]


def without_blobs(message: Content, invocation_id: str, save: Callable[[str, Part], object]) -> Content:
    """The message with a text in the place of each part that holds bytes; the message itself when there is none.

    save(name, part) keeps the part; its name is `artifact_INVOCATION_INDEX`, by the part's place in the message.
    """
    parts: list[Part] = []
    for index, part in enumerate(message.parts or ()):
        if part.inline_data is None:
            parts.append(part)
            continue
        name = f"artifact_{invocation_id}_{index}"
        save(name, part)
        parts.append(Part(text=f"Uploaded file: {name}. It has been saved to the artifacts"))
    if all(part.inline_data is None for part in message.parts or ()):
        return message
    return message.model_copy(update={"parts": tuple(parts)})
