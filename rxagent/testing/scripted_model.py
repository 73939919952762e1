"""ScriptedModel: a model that plays a script, one list of items a turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

from reactivex import Observable

from rxagent.events.content import Content, FunctionCall, Part
from rxagent.events.event import UsageMetadata
from rxagent.models.base import BaseLlm
from rxagent.models.request import GenerateContentConfig, LlmRequest
from rxagent.models.response import LlmResponse
from rxagent.streams.blocking import Blocking
from rxagent.streams.scope import CancelScope, Stopped

__all__ = ["Item", "ModelCall", "RecordedRequest", "ScriptedModel", "Turn", "call", "gate", "pause", "thought", "usage"]

Hook: TypeAlias = Callable[[CancelScope], object]
Item: TypeAlias = str | Part | UsageMetadata | LlmResponse | Exception | Hook
"""One item of a turn; what each kind does is told at ScriptedModel."""
Turn: TypeAlias = Item | Iterable[Item]

_POLL: Final = 0.001  # seconds between two looks at the scope while a threading.Event is awaited


@final
class _Call:
    """Builds function calls: `call(name, **args)`; `call.with_id(id, name, **args)`."""

    __slots__ = ()

    def __call__(self, name: str, /, **args: Any) -> Part:
        """A call without an id: the run gives it one."""
        return Part(function_call=FunctionCall(name=name, args=args))

    def with_id(self, id: str, name: str, /, **args: Any) -> Part:
        """A call with an id of the model's own."""
        return Part(function_call=FunctionCall(id=id, name=name, args=args))


call: Final = _Call()
"""`call("get_weather", city="Oslo")`: the model calls a tool. Several of them in one turn are parallel calls."""


def thought(text: str) -> Part:
    """A piece of reasoning."""
    return Part(text=text, thought=True)


def usage(prompt: int = 0, candidates: int = 0) -> UsageMetadata:
    """The tokens that this turn costs; they stand in its final response."""
    return UsageMetadata(
        prompt_token_count=prompt, candidates_token_count=candidates, total_token_count=prompt + candidates
    )


def pause(seconds: float) -> Hook:
    """The model is silent for so long; a stop leaves it at once."""
    return lambda scope: scope.sleep(seconds)


def gate(event: threading.Event) -> Hook:
    """The model is silent until the event is set; a stop leaves it within a millisecond or two."""

    def wait(scope: CancelScope) -> None:
        while not event.wait(_POLL):
            scope.check()

    return wait


class RecordedRequest(NamedTuple):
    """What the model was asked, as it was at that moment. tools: their names, in order."""

    contents: tuple[Content, ...]
    system_instruction: str
    tools: tuple[str, ...]
    config: GenerateContentConfig
    stream: bool


@final
class ModelCall:
    """One call of the model: its turn (from 1), its request, and how far it has come."""

    __slots__ = ("request", "state", "turn")

    def __init__(self, turn: int, request: RecordedRequest) -> None:
        self.turn = turn
        self.request = request
        self.state: Literal["running", "completed", "failed", "stopped"] = "running"

    def __repr__(self) -> str:
        return f"<ModelCall {self.turn}: {self.state}>"


class ScriptedModel(BaseLlm):
    """A model that plays a script: `ScriptedModel([call("get_weather", city="Oslo")], ["It is ", "21."])`.

    One list a model turn; a turn of one item needs no list. The items of a turn are played in order:

    - a text or `thought(text)`: a partial response when streaming, and a part of the final one;
    - `call(name, **args)`, or any other Part: a part of the final response;
    - `usage(prompt, candidates)`: stands in the final response;
    - an LlmResponse: yielded there as it is, partial or not, streaming or not;
    - an exception: raised there, and the turn ends without a final response;
    - `pause(seconds)`, `gate(event)`, or a function of the call's CancelScope: runs there; it may block, raise, and
      look at the scope.

    ::

        ["It is ", "21."]   streaming  --It is --21.--(It is 21.)|     else  ----(It is 21.)|

    At its end a turn that has parts or a usage yields one final response with all of them (neighbouring texts are one
    part). A turn of nothing else yields no more than its LlmResponses, `[]` nothing at all.

    repeat_last: play the last turn again for each call beyond the script; else such a call is an AssertionError.
    by_history: the turn is the one that the request has come to, by how often the model speaks in it; so a process that
    takes a conversation over goes on in the middle of the script. Else each call is the next turn: one object serves
    many runs at once, which share the script's progress. `fresh()` starts over.

    Disposal: leaves pauses and gates, and ends at the next item. Errors: the script's own. Threads: a worker; in a run
    the run's own.
    """

    def __init__(
        self, *turns: Turn, model: str = "scripted", repeat_last: bool = False, by_history: bool = False
    ) -> None:
        super().__init__(model)
        self._turns = tuple(_items(turn, number) for number, turn in enumerate(turns, start=1))
        self._repeat_last = repeat_last
        self._by_history = by_history
        self._lock = threading.Lock()
        self._calls: list[ModelCall] = []

    @property
    def calls(self) -> list[ModelCall]:
        """The calls so far, in order of their start."""
        with self._lock:
            return list(self._calls)

    @property
    def requests(self) -> list[RecordedRequest]:
        """What was asked so far, in order."""
        return [one.request for one in self.calls]

    def fresh(self) -> ScriptedModel:
        """The same script from its beginning, with nothing recorded."""
        return ScriptedModel(*self._turns, model=self.model, repeat_last=self._repeat_last, by_history=self._by_history)

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        """The next turn of the script; each subscription is a call."""
        return Blocking(lambda scope: self._play(llm_request, stream, scope))

    def _play(self, request: LlmRequest, stream: bool, scope: CancelScope) -> Iterator[LlmResponse]:
        record, items = self._begin(request, stream)
        try:
            yield from _responses(items, stream, scope)
        except (Stopped, GeneratorExit):
            record.state = "stopped"
            raise
        except BaseException:
            record.state = "failed"
            raise
        record.state = "completed"

    def _begin(self, request: LlmRequest, stream: bool) -> tuple[ModelCall, tuple[Item, ...]]:
        asked = RecordedRequest(
            tuple(request.contents), request.system_instruction, tuple(request.tools), request.config, stream
        )
        with self._lock:
            spoken = sum(content.role == "model" for content in asked.contents)
            turn = 1 + (spoken if self._by_history else len(self._calls))
            record = ModelCall(turn, asked)
            self._calls.append(record)
        if turn <= len(self._turns):
            return record, self._turns[turn - 1]
        if self._repeat_last and self._turns:
            return record, self._turns[-1]
        record.state = "failed"
        raise AssertionError(
            f"model {self.model!r} was asked for turn {turn}, but its script has {len(self._turns)}; "
            f"add a turn, or give repeat_last=True. The request ended with: {_last_words(asked)}"
        )


def _items(turn: Turn, number: int) -> tuple[Item, ...]:
    """The items of a turn. Raises TypeError for what is none."""
    if isinstance(turn, (str, Part, UsageMetadata, LlmResponse, Exception)) or callable(turn):
        items: tuple[Item, ...] = (turn,)
    else:
        items = tuple(turn)
    for item in items:
        known = isinstance(item, (str, Part, UsageMetadata, LlmResponse, Exception)) or callable(item)
        if not known or isinstance(item, type):
            raise TypeError(
                f"turn {number} of the script holds {item!r}; an item is a text, call(...), thought(...), usage(...), "
                "pause(...), gate(...), a Part, an LlmResponse, an exception (an object, not a class) or a function "
                "of the call's scope"
            )
    return items


def _responses(items: Iterable[Item], stream: bool, scope: CancelScope) -> Iterator[LlmResponse]:
    """Play the items of one turn."""
    parts: list[Part] = []
    tokens: UsageMetadata | None = None
    for item in items:
        scope.check()
        if isinstance(item, LlmResponse):
            yield item
        elif isinstance(item, UsageMetadata):
            tokens = item
        elif isinstance(item, Exception):
            raise item.with_traceback(None)  # the same object may be raised by several runs
        elif isinstance(item, (str, Part)):
            part = Part(text=item) if isinstance(item, str) else item
            parts.append(part)
            if stream and _is_words(part):
                yield LlmResponse(content=Content(role="model", parts=(part,)), partial=True)
        else:
            item(scope)
    scope.check()
    if parts or tokens is not None:
        content = Content(role="model", parts=_joined(parts)) if parts else None
        yield LlmResponse(content=content, finish_reason="STOP", usage_metadata=tokens)


def _is_words(part: Part) -> bool:
    """True for a part that is a text, spoken or thought, and nothing else."""
    return part.text is not None and part == Part(text=part.text, thought=part.thought)


def _joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts, with neighbouring texts (and neighbouring thoughts) made one."""
    result: list[Part] = []
    for part in parts:
        last = result[-1] if result else None
        if last is not None and _is_words(last) and _is_words(part) and last.thought == part.thought:
            result[-1] = Part(text=f"{last.text}{part.text}", thought=part.thought)
        else:
            result.append(part)
    return tuple(result)


def _last_words(asked: RecordedRequest) -> str:
    """The end of a request, short enough for an error message."""
    if not asked.contents:
        return "(no contents)"
    text = asked.contents[-1].model_dump_json()
    return text if len(text) <= 300 else text[:300] + "..."
