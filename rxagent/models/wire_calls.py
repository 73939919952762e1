"""Tool calls out of fragments: which fragment belongs to which call, and when a call is whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from pydantic_core import from_json

from rxagent.errors import ModelProtocolError, ModelStreamTruncatedError
from rxagent.events import FunctionCall, Part, new_event_id

__all__ = ["CallAssembly"]

_NOTHING: Final[Mapping[str, Any]] = {}


@final
class _Call:
    """One call in assembly. `index` is the server's, None when it sends none."""

    __slots__ = ("arguments", "id", "index", "name", "object", "signature")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.object: dict[str, Any] | None = None  # arguments that came as an object, not as text
        self.signature: str | None = None

    def add(self, entry: Mapping[str, Any], function: Mapping[str, Any]) -> None:
        # id and name are set, never joined: gateways repeat them in every fragment
        self.id = self.id or _text(entry.get("id")) or _text(function.get("id"))
        self.name = self.name or _text(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            self.object = arguments
        elif isinstance(arguments, str):
            self.arguments.append(arguments)
        google = _map(_map(entry.get("extra_content")).get("google"))
        self.signature = self.signature or _text(google.get("thought_signature")) or None

    @property
    def is_whole(self) -> bool:
        """True when the arguments that came so far are a JSON object."""
        return self.object is not None or _is_object("".join(self.arguments))

    def args(self) -> dict[str, Any]:
        """The arguments. Raises ModelStreamTruncatedError for half of them, ModelProtocolError for no JSON object."""
        if self.object is not None:
            return self.object
        text = "".join(self.arguments).strip()
        if not text or text == "null":
            return {}
        try:
            value = from_json(text)
            if isinstance(value, str):  # encoded twice
                value = from_json(value)
        except ValueError:
            if _is_half(text):
                raise ModelStreamTruncatedError(
                    f"the model's call of {self.name!r} stops in the middle of its arguments and is not executed; "
                    "raise max_output_tokens, or ask again"
                ) from None
            value = None
        if not isinstance(value, dict):
            raise ModelProtocolError(
                f"the arguments of the model's call of {self.name!r} are no JSON object: {text[:200]!r}; ask again"
            )
        return value


@final
class CallAssembly:
    """Collects the `tool_calls` of deltas.

    A fragment belongs to the call with its index, else to the one with its id, else to the last one. Another id on
    the same index opens a new call only when it brings a name and what is there is whole: some gateways give each
    fragment a fresh id.
    """

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, entries: object) -> None:
        """Take the fragments of one delta; what is not a fragment is ignored."""
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                function = _map(entry.get("function"))
                self._owner(entry, function).add(entry, function)

    def parts(self) -> tuple[Part, ...]:
        """The calls, in order, as parts, each with an id of its own.

        Raises ModelStreamTruncatedError or ModelProtocolError when one is not whole: then none is to be executed.
        """
        used: set[str] = set()
        return tuple(_part(call, used) for call in self._calls)

    def _owner(self, entry: Mapping[str, Any], function: Mapping[str, Any]) -> _Call:
        index = entry.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        call_id = _text(entry.get("id")) or _text(function.get("id"))
        name = _text(function.get("name"))
        call = self._known(index, call_id, name)
        if call is None or _is_another(call, call_id, name, function):
            call = _Call(index)
            self._calls.append(call)
        return call

    def _known(self, index: int | None, call_id: str, name: str) -> _Call | None:
        if index is not None:
            return next((call for call in reversed(self._calls) if call.index == index), None)
        last = self._calls[-1] if self._calls else None
        if call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
            goes_on = last is not None and bool(last.name) and not name and not last.is_whole
            return last if known is None and goes_on else known
        if last is not None and name and last.name and last.is_whole:
            return None  # neither index nor id: a name after a whole call begins the next one
        return last


def _is_another(call: _Call, call_id: str, name: str, function: Mapping[str, Any]) -> bool:
    if not name or not call_id or not call.id or call_id == call.id:
        return False
    if call.name and name != call.name:
        return True
    arguments = function.get("arguments")
    begins = isinstance(arguments, dict) or (isinstance(arguments, str) and _is_object(arguments))
    return call.is_whole or (begins and not call.arguments)


def _part(call: _Call, used: set[str]) -> Part:
    if not call.name:
        raise ModelProtocolError("the model sent a tool call without a name; ask again, or try another server")
    call_id = call.id if call.id and call.id not in used else f"adk-{new_event_id()}"
    used.add(call_id)
    function_call = FunctionCall(id=call_id, name=call.name, args=call.args())
    return Part(function_call=function_call, thought_signature=call.signature)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else _NOTHING


def _is_object(text: str) -> bool:
    try:
        return isinstance(from_json(text), dict)
    except ValueError:
        return False


def _is_half(text: str) -> bool:
    try:
        from_json(text, allow_partial=True)
    except ValueError:
        return False
    return True
