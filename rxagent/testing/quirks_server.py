"""QuirkServer: the corpus on a real socket, for rxagent's client and for any other."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from types import TracebackType
from typing import Any, Final, final

from rxagent.errors import UsageError

from .chat_connection import Received
from .chat_script import Turn, TurnLike, status, text
from .chat_server import ChatServer
from .quirks_corpus import quirk, quirks
from .quirks_file import Cut, Quirk, Refusal

__all__ = ["QuirkServer", "pieces_of", "refused"]

_IN: Final = re.compile(r"\{in (-?\d+) s\}")


def pieces_of(size: int | None) -> Cut:
    """Pieces of so many bytes; None leaves what stands together in one."""
    if size is None:
        return lambda content: [content]
    return lambda content: [content[start : start + size] for start in range(0, len(content), size)]


@final
class QuirkServer:
    """Plays the quirk whose name a request has as its model.

    with QuirkServer() as server:
        model = ChatCompletions("calls-no-index", base_url=server.base_url)

    only: these instead of the whole corpus. cut: how the bytes of a step become writes. port: 0 takes a free one.

    A repeated request gets the quirk's next answer, where it has several, and begins again after the last. A request
    whose last message is a tool's gets a plain answer, so that an agent comes to its end. `GET /v1/models` names all
    quirks. A context manager, on 127.0.0.1.
    """

    def __init__(self, only: Iterable[Quirk] | None = None, *, cut: Cut | None = None, port: int = 0) -> None:
        self._only = None if only is None else {one.name: one for one in only}
        self.cut = cut or pieces_of(None)
        """May be set anew between requests."""
        self._asked: dict[tuple[str, bytes], int] = {}
        self._server = ChatServer(self._choose, port=port)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return self._server.base_url

    @property
    def requests(self) -> list[Received]:
        """What was asked, in order."""
        return self._server.requests

    def close(self) -> None:
        """End all connections and wait until every thread is gone."""
        self._server.close()

    def __enter__(self) -> QuirkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _choose(self, received: Received) -> TurnLike:
        if received.method == "GET":
            names = sorted(self._only) if self._only is not None else [one.name for one in quirks()]
            return status(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        try:
            request = received.read().json
            found = self._quirk(str(request["model"]))
            messages = request["messages"]
            complaint = refused(request, found.refuses)
            answers_a_tool = messages[-1]["role"] == "tool"
        except (ValueError, TypeError, KeyError, IndexError):
            return _complaint(400, "this is no chat-completions request")
        except UsageError as error:
            return _complaint(404, str(error))
        if complaint:
            return _complaint(400, complaint)
        return Turn(text("The tool has answered.")) if answers_a_tool else self._turn(found, received.body)

    def _quirk(self, name: str) -> Quirk:
        if self._only is None:
            return quirk(name)
        if name not in self._only:
            raise UsageError(f"there is no quirk {name!r} here")
        return self._only[name]

    def _turn(self, found: Quirk, body: bytes) -> Turn:
        asked = 0
        if len(found.answers) > 1:
            asked = self._asked.get((found.name, body), 0)
            self._asked[found.name, body] = asked + 1
        answer = found.answers[asked % len(found.answers)]
        return answer.turn(self.cut, {name: _dated(value) for name, value in answer.headers})


def refused(request: Mapping[str, Any], refuses: Iterable[Refusal]) -> str:
    """What a server with these refusals says against the request, in its own words; empty when nothing."""
    for one in refuses:
        if one in _FIELDS:
            found = one in request
        else:
            found = _FORMS[one](request["messages"], request)
        if found:
            return _SAYS.get(one, f"Unsupported parameter: '{one}' is not supported with this model.")
    return ""


_FIELDS: Final = frozenset({"max_tokens", "max_completion_tokens", "stream_options", "parallel_tool_calls"})
_SAYS: Final[Mapping[str, str]] = {
    "reasoning_missing": "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "reasoning_echoed": "The reasoning_content is an intermediate result and must not be in the messages.",
    "null_content": "invalid type: null, expected a string",
    "text_content": "An assistant message with tool_calls must not have content",
    "repeated_call_ids": "Duplicate value for 'tool_call_id'",
    "developer_role": "Unknown role: developer",
    "system_role": "System role not supported",
    "strict": "Unknown field: strict",
}


def _calling(messages: Any) -> list[Any]:
    return [one for one in messages if one["role"] == "assistant" and one.get("tool_calls")]


def _has_reasoning(message: Any) -> bool:
    return bool(message.get("reasoning_content") or message.get("reasoning"))


def _repeats(messages: Any, _: Any) -> bool:
    ids = [call["id"] for one in _calling(messages) for call in one["tool_calls"]]
    return len(set(ids)) < len(ids)


def _is_strict(_: Any, request: Any) -> bool:
    shapes = [tool.get("function", {}) for tool in request.get("tools") or ()]
    shapes.append((request.get("response_format") or {}).get("json_schema") or {})
    return any("strict" in shape for shape in shapes)


_FORMS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "reasoning_missing": lambda messages, _: any(not _has_reasoning(one) for one in _calling(messages)),
    "reasoning_echoed": lambda messages, _: any(_has_reasoning(one) for one in messages),
    "null_content": lambda messages, _: any(one.get("content", "") is None for one in messages),
    "text_content": lambda messages, _: any(one.get("content") is not None for one in _calling(messages)),
    "repeated_call_ids": _repeats,
    "developer_role": lambda messages, _: any(one["role"] == "developer" for one in messages),
    "system_role": lambda messages, _: any(one["role"] == "system" for one in messages),
    "strict": _is_strict,
}


def _complaint(code: int, message: str) -> Turn:
    return status(code, {"error": {"message": message, "type": "invalid_request_error", "code": None}})


def _dated(value: str) -> str:
    return _IN.sub(lambda found: formatdate(time.time() + int(found[1]), usegmt=True), value)
