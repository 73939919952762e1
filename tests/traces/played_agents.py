"""A scenario's agents, with their callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import reactivex as rx
from reactivex import Observable
from reactivex import operators as ops

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Event, new_event_id
from rxagent.models import BaseLlm
from rxagent.streams import Single, SingleEmitter
from rxagent.tools import BaseTool

from .answering import respond, response_of, same, tool_lane
from .behaviour import Env, pick, run
from .played_tools import make_tool
from .recorder import Recorder
from .views import DeclaredError, brief, content_of, error_view

__all__ = ["make_agent"]

_HOOKS = {
    "before_agent": content_of,
    "after_agent": content_of,
    "before_model": response_of,
    "after_model": response_of,
    "on_model_error": response_of,
    "before_tool": same,
    "after_tool": same,
    "on_tool_error": same,
}


def _callback(recorder: Recorder, agent: str, hook: str, declared: Any) -> Callable[..., Any]:
    def act(env: Env, **fields: Any) -> Any:
        by = f"agent:{agent}:{declared['name']}"
        recorder.add("hook", env.lane, by=by, hook=hook, agent=agent, **fields)
        n = recorder.count(f"cb:{agent}:{hook}{declared['name']}")
        return respond(run(pick(declared, n), env), _HOOKS[hook])

    def env(ctx: Any, **more: Any) -> Env:
        lane = tool_lane(recorder, ctx) if "tool" in more else recorder.lane_of(ctx.agent_name)
        return Env(recorder, lane, ctx.invocation_context, ctx, **more)

    def on_agent(ctx: Any) -> Any:
        return act(env(ctx))

    def on_model(ctx: Any, *rest: Any) -> Any:
        fields: dict[str, Any] = {"response": brief(rest[0])} if hook == "after_model" else {}
        if hook == "on_model_error":
            fields = {"error": error_view(rest[1])}
        return act(env(ctx, request=rest[0] if hook == "before_model" else None), **fields)

    def on_tool(tool: BaseTool, args: Any, ctx: Any, *rest: Any) -> Any:
        fields: dict[str, Any] = {"tool": tool.name, "call_id": ctx.function_call_id}
        if hook == "before_tool":
            fields["args"] = dict(args)
        else:
            fields.update({"result": rest[0]} if hook == "after_tool" else {"error": error_view(rest[0])})
        return act(env(ctx, tool=ctx, args=args), **fields)

    return on_agent if hook.endswith("agent") else on_tool if "tool" in hook else on_model


def make_agent(recorder: Recorder, declared: Any, models: Callable[[str, str], BaseLlm]) -> BaseAgent:
    """The agent tree of a scenario."""
    name, kind = declared["name"], declared.get("type", "llm")
    fields: dict[str, Any] = {"name": name, "description": declared.get("description", "")}
    fields["sub_agents"] = [make_agent(recorder, sub, models) for sub in declared.get("sub_agents", [])]
    for hook, many in declared.get("callbacks", {}).items():
        fields[f"{hook}_callback"] = [_callback(recorder, name, hook, one) for one in many]
    if kind == "llm":
        return LlmAgent(**fields, **_asking(recorder, declared, models))
    if kind == "sequential":
        return SequentialAgent(**fields)
    if kind == "loop":
        return LoopAgent(**fields, max_iterations=declared.get("max_iterations"))
    if kind == "parallel":
        return ParallelAgent(**fields, scheduler="caller" if declared.get("scheduler") == "caller" else "workers")
    if kind == "custom":
        return _Custom(recorder, declared["behaviour"], **fields)
    raise AssertionError(f"unknown agent type: {kind}")


def _asking(recorder: Recorder, declared: Any, models: Callable[[str, str], BaseLlm]) -> dict[str, Any]:
    """What only an LLM agent has."""
    names = ("instruction", "global_instruction", "output_key", "output_schema", "input_schema", "include_contents")
    more = ("max_steps", "disallow_transfer_to_parent", "disallow_transfer_to_peers")
    fields = {key: declared[key] for key in (*names, *more) if key in declared}
    if "model" in declared:
        fields["model"] = models(declared["model"], recorder.lane_of(declared["name"]))
    inner = partial(make_agent, recorder, models=models)
    fields["tools"] = [make_tool(recorder, tool, inner) for tool in declared.get("tools", [])]
    return fields


class _Custom(BaseAgent):
    """An agent of no other kind: it plays its operations as one stream."""

    def __init__(self, recorder: Recorder, operations: list[Any], **fields: Any) -> None:
        super().__init__(**fields)
        self._recorder = recorder
        self._operations = operations

    def run_async_impl(self, ctx: Any) -> Observable[Event]:
        lane, recorder = self._recorder.lane_of(self.name), self._recorder

        over: list[bool] = []

        def ended() -> None:
            if not over:
                recorder.add("custom_disposed", lane, agent=self.name)

        def pieces() -> Iterator[Observable[Event]]:
            recorder.add("custom_started", lane, agent=self.name)
            for operation in self._operations:
                ((kind, argument),) = operation.items()
                over[:] = [True] if kind == "raise" else []
                yield self._piece(kind, argument, ctx)
            over.append(True)
            recorder.add("custom_completed", lane, agent=self.name)

        return rx.defer(lambda _: rx.concat_with_iterable(pieces())).pipe(ops.finally_action(ended))

    def _piece(self, kind: str, argument: Any, ctx: Any) -> Observable[Event]:
        if kind == "emit":
            event = {"author": self.name, "branch": ctx.branch, "invocationId": ctx.invocation_id, **argument}
            return rx.just(Event.model_validate({key: value for key, value in event.items() if value is not None}))
        if kind in ("run_sub", "run_sub_new_ids"):
            agent = next(sub for sub in self.sub_agents if sub.name == argument)
            stream: Observable[Event] = agent.run_async(ctx)
            if kind == "run_sub":
                return stream
            return stream.pipe(ops.map(_renewed))
        if kind == "wait":
            lane = self._recorder.lane_of(self.name)
            self._recorder.add("gate_wait", lane, gate=argument)
            gate = self._recorder.gate(argument)

            def start(emitter: SingleEmitter[Event]) -> None:
                gate.when_open(lambda: emitter.on_success(Event(author=self.name)))

            return Single.create(start).pipe(ops.ignore_elements())
        if kind == "raise":
            return rx.throw(DeclaredError(argument))
        raise AssertionError(f"unknown operation of a custom agent: {kind}")


def _renewed(event: Event) -> Event:
    return event.model_copy(update={"id": new_event_id()})
