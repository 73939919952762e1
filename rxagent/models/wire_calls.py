"""Tool calls out of fragments: which fragment belongs to which call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from rxagent.errors import ModelProtocolError, ModelStreamTruncatedError
from rxagent.events import FunctionCall, Part, new_event_id

from .wire_arguments import Arguments, begins_arguments
from .wire_extra import google_signature, with_extra
from .wire_text import name_of

__all__ = ["CallAssembly"]

_CALL_SIZE: Final = 1024  # bytes, about, of a call in assembly without its arguments
_KNOWN: Final = frozenset({"index", "id", "type", "function", "name", "arguments"})


@final
class _Fragment:
    """One entry of a delta's `tool_calls`, read; "" and None for what it does not say."""

    __slots__ = ("arguments", "entry", "id", "index", "name")

    def __init__(self, entry: Mapping[str, Any]) -> None:
        inner = entry.get("function")
        function = inner if isinstance(inner, dict) else entry
        self.entry = entry
        self.index = _index(entry.get("index"))
        self.id = _id(entry.get("id")) or _id(function.get("id"))
        self.name = name_of(function.get("name"))
        self.arguments = function.get("arguments")

    @property
    def begins(self) -> bool:
        """True when its arguments can be the first ones of a call."""
        return begins_arguments(self.arguments)

    @property
    def has_arguments(self) -> bool:
        """True when it brings arguments; blanks are none."""
        return isinstance(self.arguments, dict) or (isinstance(self.arguments, str) and bool(self.arguments.strip()))

    @property
    def is_mere_arguments(self) -> bool:
        """True when it goes on with a call: no name, or a name repeated beside text that begins nothing."""
        return not self.name or not self.begins


@final
class _Call:
    """One call in assembly. `index` is the server's, None when it sends none."""

    __slots__ = ("arguments", "delta", "extra", "id", "index", "name")

    def __init__(self, index: int | None, delta: int) -> None:
        self.index = index
        self.delta = delta  # the number of the delta that began it
        self.id = ""
        self.name = ""
        self.arguments = Arguments()
        self.extra: dict[str, Any] = {}  # what came with it that this client does not know

    def add(self, fragment: _Fragment) -> None:
        # id and name are set, never joined: gateways repeat them in every fragment
        self.id = self.id or fragment.id
        self.name = self.name or fragment.name
        self.arguments.add(fragment.arguments)
        if not fragment.entry.keys() <= _KNOWN:
            found = {key: value for key, value in fragment.entry.items() if key not in _KNOWN and value is not None}
            self.extra.update(found)

    @property
    def goes_on(self) -> bool:
        """True when it has a name and its arguments are not whole."""
        return bool(self.name) and not self.arguments.is_whole

    @property
    def is_nothing(self) -> bool:
        return not self.id and not self.name and self.arguments.is_empty

    def ends_before(self, fragment: _Fragment) -> bool:
        """True when the fragment, which has this call's index or id, begins another call."""
        if not fragment.name:
            return False
        if self.name and fragment.name != self.name:
            return True
        other_id = bool(fragment.id and self.id and fragment.id != self.id)
        if not fragment.has_arguments:
            return other_id and self.arguments.is_whole
        if self.arguments.is_whole:
            return other_id or not self.arguments.is_repeated_by(fragment.arguments)
        return other_id and self.arguments.is_empty and _is_whole(fragment.arguments)


@final
class CallAssembly:
    """Collects the `tool_calls` of deltas.

    A fragment belongs to the call with its index, else to the one with its id, else to the last one; what names a
    call again after that call is whole begins the next one. Indexes and ids may be fresh in each fragment: one without
    a name goes on with a call that is not whole.
    """

    __slots__ = ("_by_index", "_calls", "_deltas", "size")

    def __init__(self) -> None:
        self.size = 0  # bytes, nearly: of arguments, and of the calls themselves
        self._deltas = 0
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return any(not call.is_nothing for call in self._calls)

    def add(self, entries: object) -> None:
        """Take the fragments of one delta; what is not a fragment is ignored."""
        if isinstance(entries, dict):
            entries = (entries,)
        self._deltas += 1
        for entry in entries if isinstance(entries, list | tuple) else ():
            if isinstance(entry, dict):
                fragment = _Fragment(entry)
                call = self._owner(fragment)
                before = call.arguments.size
                call.add(fragment)
                self.size += call.arguments.size - before

    def parts(self, most: int, *, cut: bool = False) -> tuple[Part, ...]:
        """The calls, in order, as parts, each with an id of its own.

        cut: the server stopped in mid-answer, so that a last call without arguments may have been about to get some.
        most: bytes of arguments, as `Arguments.value` wants them.
        Raises ModelStreamTruncatedError or ModelProtocolError when one is not whole: then none is to be executed.
        """
        calls = [call for call in self._calls if not call.is_nothing]
        if cut and calls and calls[-1].arguments.is_empty:
            raise ModelStreamTruncatedError(
                f"the answer was cut before the arguments of the model's call of {calls[-1].name!r}, which is not "
                "executed; raise max_output_tokens, or ask again"
            )
        used: set[str] = set()
        return tuple(_part(call, used, most) for call in calls)

    def _owner(self, fragment: _Fragment) -> _Call:
        index = fragment.index
        call = self._known(fragment) if index is None else self._at(index, fragment)
        if call is None or call.ends_before(fragment):
            call = _Call(index, self._deltas)
            self._calls.append(call)
            self.size += _CALL_SIZE
        if index is not None:
            self._by_index[index] = call
        return call

    def _at(self, index: int, fragment: _Fragment) -> _Call | None:
        """The call with this index; one that is new may still go on with a call that is not whole."""
        call = self._by_index.get(index)
        if call is not None or not self._calls or not fragment.is_mere_arguments:
            return call
        if fragment.id and (known := self._with_id(fragment.id)) is not None:
            return known if known.goes_on or not known.name else None
        last = self._calls[-1]
        return last if last.goes_on and (not fragment.id or not fragment.begins) else None

    def _known(self, fragment: _Fragment) -> _Call | None:
        last = self._calls[-1] if self._calls else None
        if last is None:
            return None
        if fragment.id:
            known = self._with_id(fragment.id)
            return last if known is None and fragment.is_mere_arguments and last.goes_on else known
        if last.delta == self._deltas and fragment.name and fragment.has_arguments and last.arguments.is_whole:
            return None  # side by side in one delta: two calls, though they may say the same
        return last

    def _with_id(self, call_id: str) -> _Call | None:
        return next((call for call in reversed(self._calls) if call.id == call_id), None)


def _part(call: _Call, used: set[str], most: int) -> Part:
    if not call.name:
        raise ModelProtocolError("the model sent a tool call without a name; ask again, or try another server")
    call_id = call.id if call.id and call.id not in used else f"adk-{new_event_id()}"
    used.add(call_id)
    function_call = FunctionCall(id=call_id, name=call.name, args=call.arguments.value(call.name, most))
    part = Part(function_call=function_call, thought_signature=google_signature(call.extra))
    return with_extra(part, call.extra)


def _is_whole(value: object) -> bool:
    arguments = Arguments()
    arguments.add(value)
    return arguments.is_whole


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 2**63 else ""
    return name_of(value)
