"""Profile: what a chat-completions server wants otherwise than others do, by contract; it cannot be guessed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final, Literal, TypeAlias, final

__all__ = ["DEFAULT", "InputKind", "Profile"]

InputKind: TypeAlias = Literal["image", "image_url", "audio", "audio_url", "video_url", "file"]

_EVERYTHING: Final[frozenset[InputKind]] = frozenset({"image", "image_url", "audio", "file"})
_ANY_EXTRA: Final = frozenset({"extra_content", "provider_specific_fields", "reasoning_details"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The contract of one server, or of one family of models there. A value; a variant is `dataclasses.replace(...)`.

        ChatCompletions("m", url, profile="vllm")
        ChatCompletions("m", url, profile=Profile(name="mine", echo_reasoning="tool_turns", stream_usage=False))

    name: for messages. sources: where each field's value is documented or was seen, by field.
    echo_reasoning: whether the reasoning of earlier answers is sent back: never, in turns of the user in which the
    model called a tool, or always. reasoning_field: under which name. reasoning_required: an empty one is sent where
    there is none.
    extras: unknown fields of calls and messages that are sent back to this server, by name.
    content_beside_calls: what stands for the text of an assistant's message that has calls alone.
    output_limit: the name under which `max_output_tokens` goes out. stream_usage: ask for usage by `stream_options`.
    parallel_calls: False asks for one call at a time; None says nothing. system_role: that of the instruction.
    json_shapes: what `response_format` takes: a schema, a bare `json_object`, or both. strict_schema: send schemas as
    `strict`, where they can be. call_ids: the shape of ids that the server accepts: any, nine letters and digits, or
    at most forty characters.
    inputs: the kinds of parts, besides text, that may be sent; `image`, `audio` and `file` are bytes in the message.
    refused: options that the server answers with an error, by their names on the wire.
    key_header: the header that carries the API key.
    """

    name: str = "default"
    echo_reasoning: Literal["never", "tool_turns", "always"] = "never"
    reasoning_field: str = "reasoning_content"
    reasoning_required: bool = False
    extras: frozenset[str] = _ANY_EXTRA
    content_beside_calls: Literal["null", "empty", "absent"] = "null"
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True
    parallel_calls: bool | None = None
    system_role: Literal["system", "developer"] = "system"
    json_shapes: Literal["both", "schema", "object"] = "both"
    strict_schema: bool = False
    call_ids: Literal["any", "nine", "forty"] = "any"
    inputs: frozenset[InputKind] = _EVERYTHING
    refused: frozenset[str] = frozenset()
    key_header: str = "Authorization"
    sources: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    def changes(self) -> dict[str, object]:
        """The fields that differ from the default profile's, without name and sources."""
        names = (one.name for one in fields(self) if one.name not in ("name", "sources"))
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(DEFAULT, name)}


DEFAULT: Final = Profile()
"""For a server that nothing is known of: what nearly all take."""
