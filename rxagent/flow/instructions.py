"""Instructions: texts with placeholders, or functions that give a text for each request (ADK Java, Instructions)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rxagent.errors import ConfigError, InstructionError
from rxagent.events import APP_PREFIX, TEMP_PREFIX, USER_PREFIX, Part
from rxagent.invocation import CallbackContext, InvocationContext
from rxagent.invocation.artifact_access import ArtifactAccess
from rxagent.streams import settle

__all__ = ["Instruction", "as_text", "filled", "instruction_text"]

Instruction: TypeAlias = str | Callable[[CallbackContext], Any]
"""A text with placeholders, or a function (also a coroutine function) that gives a text for each request."""

_PLACEHOLDER: Final = re.compile(r"\{+[^{}]*\}+")
_ARTIFACT: Final = "artifact."
_PREFIXES: Final = (APP_PREFIX, USER_PREFIX, TEMP_PREFIX)


def instruction_text(instruction: Instruction, context: InvocationContext) -> str:
    """The text for the next request. What a function gives is taken as it is; a text is `filled`. May block."""
    if isinstance(instruction, str):
        if "{" not in instruction:
            return instruction
        access = ArtifactAccess(context.invocation, context.scope)
        return filled(instruction, context.state, lambda name: access.wait(access.load(name, None)))
    text = settle(instruction(CallbackContext(context)), context.scope)
    if text is not None and not isinstance(text, str):
        raise ConfigError(
            f"the instruction of agent {context.agent.name!r} gave a {type(text).__name__}; return a text"
        )
    return text or ""


def filled(template: str, state: Mapping[str, Any], load_artifact: Callable[[str], Part | None]) -> str:
    """The template with its placeholders replaced; what comes in is not looked at again.

    `{name}`, `{app:name}`, `{user:name}`, `{temp:name}`: a value of the state, as `as_text` writes it.
    `{artifact.NAME}`: the newest version of an artifact, as ADK's JSON. With a `?` at its end, as in `{name?}`, one
    that is missing is left empty. Several braces count as one; what is no such name, like `{"a": 1}`, stays.

    Raises InstructionError for a name that is missing.
    """

    def value(match: re.Match[str]) -> str:
        name = match.group().strip("{}").strip()
        plain = name.removesuffix("?")
        if plain.startswith(_ARTIFACT):
            file = plain.removeprefix(_ARTIFACT)
            part = load_artifact(file)
            text = None if part is None else part.model_dump_json(by_alias=True)
            missing = f"Artifact {file} not found; save it before"
        elif _is_state_name(plain):
            text = as_text(state[plain]) if plain in state else None
            missing = f"Context variable not found: `{plain}`; set it in the state"
        else:
            return match.group()
        if text is not None:
            return text
        if plain != name:
            return ""
        raise InstructionError(f"{missing}, or write {{{plain}?}} in the instruction to have nothing in its place")

    return _PLACEHOLDER.sub(value, template)


def as_text(value: object) -> str:
    """A value of the state as ADK Java writes it: `true`, `null`, `{k=[1, true]}`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_text(key)}={as_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(as_text, value)) + "]"
    return str(value)


def _is_state_name(name: str) -> bool:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix).isidentifier()
    return name.isidentifier()
