"""The parts that a scenario declares, as rxagent's: models, plugins, tools, agents, the session service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import reactivex as rx
from reactivex import Observable
from reactivex import operators as ops

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Event, new_event_id
from rxagent.models import BaseLlm, FunctionDeclaration, LlmRequest, LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.runner import AgentTool
from rxagent.sessions import InMemorySessionService
from rxagent.streams import Blocking, CancelScope, Single, Stopped
from rxagent.tools import BaseTool, FunctionTool, exit_loop

from .behaviour import NOTHING, Env, pick, run
from .recorder import Recorder
from .views import DeclaredError, brief, content_of, error_view, event_view, message_view, request_view, what

__all__ = ["LoggingSessions", "PlayedModel", "PlayedPlugin", "make_agent"]

Convert = Callable[[Any], Any]


def respond(value: Any, convert: Convert) -> Any:
    """What a hook gives back: nothing, the value converted, or a Single of either."""
    if isinstance(value, Single):
        return value.map(lambda inner: respond(inner, convert))
    return None if value is NOTHING else convert(value)


def response_of(declared: Any) -> LlmResponse:
    return LlmResponse.model_validate(declared)


def same(value: Any) -> Any:
    return value


class PlayedModel(BaseLlm):
    """A model that plays declared turns and records every request."""

    def __init__(self, recorder: Recorder, name: str, script: Any, lane: str) -> None:
        super().__init__(name)
        self._recorder = recorder
        self._script = script
        self._lane = lane

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        seen = self._recorder.requests.setdefault(self.model, [])
        seen.append(request_view(llm_request, stream))
        n = len(seen)
        self._recorder.add("model_called", self._lane, model=self.model, n=n)
        turns = self._script.get("turns", [])
        if n > len(turns) and not self._script.get("repeat_last"):
            raise AssertionError(f"script of model {self.model} has no turn {n}")
        turn = turns[min(n, len(turns)) - 1]
        if isinstance(turn, dict):
            raise DeclaredError(turn["raise_on_call"])
        return Blocking(lambda scope: self._play(turn, n, scope))

    def _play(self, turn: list[Any], n: int, scope: CancelScope) -> Iterator[LlmResponse]:
        recorder, seen = self._recorder, {"model": self.model, "n": n}
        ended = False
        try:
            for index, item in enumerate(turn, 1):
                if "wait" in item:
                    recorder.add("gate_wait", self._lane, gate=item["wait"])
                    single: Single[Any] = Single.create(
                        lambda emitter, name=item["wait"]: recorder.gate(name).when_open(lambda: emitter.on_success(0))
                    )
                    single.blocking_get(scope)
                elif "raise" in item:
                    error = DeclaredError(item["raise"])
                    ended = True
                    recorder.add("model_error", self._lane, **seen, error=error_view(error))
                    raise error
                else:
                    recorder.add("model_item", self._lane, **seen, item=index)
                    yield response_of(item["response"])
            ended = True
            recorder.add("model_completed", self._lane, **seen)
        except (GeneratorExit, Stopped):
            if not ended:
                recorder.add("model_disposed", self._lane, **seen)
            raise


class PlayedPlugin(BasePlugin):
    """Records each hook, then does what was declared."""

    def __init__(self, recorder: Recorder, name: str, hooks: Any) -> None:
        super().__init__(name)
        self._recorder = recorder
        self._hooks = hooks

    def _act(self, hook: str, lane: str, env: Env, convert: Convert = same, **fields: Any) -> Any:
        self._recorder.add("hook", lane, by=f"plugin:{self.name}", hook=hook, **fields)
        declared = self._hooks.get(hook)
        if declared is None:
            return None
        n = self._recorder.count(f"plugin:{self.name}:{hook}")
        return respond(run(pick(declared, n), env), convert)

    def _run_env(self, ctx: Any) -> Env:
        return Env(self._recorder, invocation=ctx)

    def _env(self, ctx: Any, **more: Any) -> Env:
        lane = tool_lane(self._recorder, ctx) if "tool" in more else self._recorder.lane_of(ctx.agent_name)
        return Env(self._recorder, lane, ctx.invocation_context, ctx, **more)

    def on_user_message_callback(self, ctx: Any, message: Any) -> Any:
        return self._act(
            "on_user_message", "", self._run_env(ctx), content_of, agent=ctx.agent.name, message=message_view(message)
        )

    def before_run_callback(self, ctx: Any) -> Any:
        return self._act("before_run", "", self._run_env(ctx), content_of, agent=ctx.agent.name)

    def on_event_callback(self, ctx: Any, event: Event) -> Any:
        def patched(fields: Any) -> Event:
            return Event.model_validate({**json.loads(event.model_dump_json(by_alias=True)), **fields})

        lane = self._recorder.lane_of(event.author)
        return self._act("on_event", lane, self._run_env(ctx), patched, event=event.id)

    def after_run_callback(self, ctx: Any) -> Any:
        return self._act("after_run", "", self._run_env(ctx))

    def on_run_error_callback(self, ctx: Any, error: BaseException) -> Any:
        return self._act("on_run_error", "", self._run_env(ctx), error=error_view(error))

    def before_agent_callback(self, ctx: Any) -> Any:
        env = self._env(ctx)
        return self._act("before_agent", env.lane, env, content_of, agent=ctx.agent_name)

    def after_agent_callback(self, ctx: Any) -> Any:
        env = self._env(ctx)
        return self._act("after_agent", env.lane, env, content_of, agent=ctx.agent_name)

    def before_model_callback(self, ctx: Any, llm_request: Any) -> Any:
        env = self._env(ctx, request=llm_request)
        return self._act("before_model", env.lane, env, response_of, agent=ctx.agent_name)

    def after_model_callback(self, ctx: Any, llm_response: Any) -> Any:
        env = self._env(ctx)
        return self._act("after_model", env.lane, env, response_of, agent=ctx.agent_name, response=brief(llm_response))

    def on_model_error_callback(self, ctx: Any, llm_request: Any, error: Exception) -> Any:
        env = self._env(ctx, request=llm_request)
        return self._act("on_model_error", env.lane, env, response_of, agent=ctx.agent_name, error=error_view(error))

    def _on_tool(self, hook: str, tool: BaseTool, given: Any, ctx: Any, **fields: Any) -> Any:
        env = self._env(ctx, tool=ctx, args=given)
        return self._act(
            hook, env.lane, env, agent=ctx.agent_name, tool=tool.name, call_id=ctx.function_call_id, **fields
        )

    def before_tool_callback(self, tool: BaseTool, args: Any, ctx: Any) -> Any:
        return self._on_tool("before_tool", tool, args, ctx, args=dict(args))

    def after_tool_callback(self, tool: BaseTool, args: Any, ctx: Any, result: Any) -> Any:
        return self._on_tool("after_tool", tool, args, ctx, result=result)

    def on_tool_error_callback(self, tool: BaseTool, args: Any, ctx: Any, error: Exception) -> Any:
        return self._on_tool("on_tool_error", tool, args, ctx, error=error_view(error))


def tool_lane(recorder: Recorder, ctx: Any) -> str:
    """In the mode with worker threads each call has its own lane; else the lane of its agent."""
    agent = recorder.lane_of(ctx.agent_name)
    threads = ctx.invocation_context.run_config.tool_execution_mode == "parallel_subscribe"
    return f"{agent}tool:{ctx.function_call_id}" if threads else agent


class _Body:
    """What a declared tool does when it is called."""

    def __init__(self, recorder: Recorder, declared: Any) -> None:
        self._recorder = recorder
        self._declared = declared

    def start(self, args: dict[str, Any], ctx: Any, *, lazily: bool) -> Any:
        """The value, NOTHING, or a Single of either; records the call and how it ended."""
        recorder, name = self._recorder, self._declared["name"]
        lane = tool_lane(recorder, ctx)
        recorder.add("tool_called", lane, tool=name, call_id=ctx.function_call_id, args=dict(args))
        operations = pick(self._declared, recorder.count(f"tool:{name}"))
        env = Env(recorder, lane, ctx.invocation_context, ctx, ctx, args)
        if lazily:
            return self._logged_single(lambda: run(operations, env), ctx, lane)
        try:
            value = run(operations, env)
            while isinstance(value, Single):
                value = value.blocking_get()
        except Exception as error:
            if self._declared.get("kind") != "raw":
                self._failed(error, ctx, lane)
            raise
        self._returned(value, ctx, lane)
        return value

    def _logged_single(self, begin: Callable[[], Any], ctx: Any, lane: str) -> Single[Any]:
        def start(emitter: Any) -> None:
            def done(value: Any) -> None:
                if isinstance(value, Single):
                    follow(value)
                    return
                self._returned(value, ctx, lane)
                emitter.on_success(value)

            def failed(error: Exception) -> None:
                self._failed(error, ctx, lane)
                emitter.on_error(error)

            def follow(single: Single[Any]) -> None:
                handle = single.subscribe(done, failed)

                def cancel() -> None:
                    handle.dispose()
                    fields = {"tool": self._declared["name"], "call_id": ctx.function_call_id}
                    self._recorder.add("tool_disposed", lane, **fields)

                emitter.set_cancellable(cancel)

            try:
                value = begin()
            except Exception as error:
                failed(error)
            else:
                done(value)

        return Single.create(start)

    def _returned(self, value: Any, ctx: Any, lane: str) -> None:
        fields = {} if value is NOTHING else {"value": value}
        self._recorder.add("tool_returned", lane, tool=self._declared["name"], call_id=ctx.function_call_id, **fields)

    def _failed(self, error: Exception, ctx: Any, lane: str) -> None:
        self._recorder.add(
            "tool_failed",
            lane,
            tool=self._declared["name"],
            call_id=ctx.function_call_id,
            error=error_view(error),
        )


def _declaration(declared: Any) -> FunctionDeclaration:
    fields = {key: declared[key] for key in ("name", "description", "parameters") if key in declared}
    return FunctionDeclaration.model_validate(fields)


class _DeclaredTool(FunctionTool):
    """A function tool whose function is declared; `args` takes all arguments, as in the recorder of the traces."""

    def __init__(self, recorder: Recorder, declared: Any) -> None:
        body, returns = _Body(recorder, declared), declared.get("returns", "value")

        def function(args: dict[str, Any], tool_context: Any) -> Any:
            if returns in ("single", "maybe"):
                return body.start(args, tool_context, lazily=True).map(
                    lambda value: None if value is NOTHING else value
                )
            value = body.start(args, tool_context, lazily=False)
            return None if value is NOTHING or returns == "void" else value

        super().__init__(
            function, name=declared["name"], description=declared.get("description", ""), **self._more(declared)
        )
        self._declared = declared

    @staticmethod
    def _more(declared: Any) -> dict[str, Any]:
        return {"is_long_running": True} if declared.get("kind") == "long_running" else {}

    def declaration(self) -> FunctionDeclaration:
        return _declaration(self._declared)

    def run_async(self, args: dict[str, Any], tool_context: Any) -> Single[Any]:
        return super().run_async({"args": args}, tool_context)


class _RawTool(BaseTool):
    """A direct subclass of the tool base class."""

    def __init__(self, recorder: Recorder, declared: Any) -> None:
        super().__init__(declared["name"], declared.get("description", ""))
        self._declared = declared
        self._body = _Body(recorder, declared)

    def declaration(self) -> FunctionDeclaration:
        return _declaration(self._declared)

    def run_async(self, args: dict[str, Any], tool_context: Any) -> Single[Any]:
        if self._declared.get("throws_on_call"):
            value = self._body.start(args, tool_context, lazily=False)
            return Single.just({} if value is NOTHING else value)
        return self._body.start(args, tool_context, lazily=True).map(lambda value: {} if value is NOTHING else value)


def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


def greet(who: str, title: str | None = None) -> str:
    """Greets."""
    return f"hello {title + ' ' if title else ''}{who}"


def make_tool(recorder: Recorder, declared: Any, models: Callable[[str, str], BaseLlm]) -> BaseTool:
    kind = declared.get("kind", "function")
    if kind == "agent_tool":
        return AgentTool(
            make_agent(recorder, declared["agent"], models),
            skip_summarization=bool(declared.get("skip_summarization")),
            include_plugins=bool(declared.get("include_plugins")),
        )
    if kind == "exit_loop":
        return FunctionTool(exit_loop)
    if kind in ("function", "long_running"):
        return _DeclaredTool(recorder, declared)
    if kind == "raw":
        return _RawTool(recorder, declared)
    if kind == "native":
        return FunctionTool({"add": add, "greet": greet}[declared["name"]])
    raise AssertionError(f"unknown tool kind: {kind}")


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
        fields = {"response": brief(rest[0])} if hook == "after_model" else {}
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
    fields["tools"] = [make_tool(recorder, tool, models) for tool in declared.get("tools", [])]
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
            stream = agent.run_async(ctx)
            if kind == "run_sub":
                return stream
            return stream.pipe(ops.map(lambda event: event.model_copy(update={"id": new_event_id()})))
        if kind == "wait":
            lane = self._recorder.lane_of(self.name)
            self._recorder.add("gate_wait", lane, gate=argument)
            gate = self._recorder.gate(argument)
            return Single.create(lambda emitter: gate.when_open(lambda: emitter.on_success(None))).pipe(
                ops.ignore_elements()
            )
        if kind == "raise":
            return rx.throw(DeclaredError(argument))
        raise AssertionError(f"unknown operation of a custom agent: {kind}")


class LoggingSessions(InMemorySessionService):
    """The in-memory service, with a record of appends, and declared delays and failures."""

    def __init__(self, recorder: Recorder, declared: Any) -> None:
        super().__init__()
        self._recorder = recorder
        self._declared = declared
        self.as_appended: dict[str, Any] = {}
        self.recording = False

    def get_session(self, app_name: str, user_id: str, session_id: str, config: Any = None) -> Any:
        if self.recording:
            self._recorder.add("session_read", session=session_id)
        return super().get_session(app_name, user_id, session_id, config)

    def append_events(self, session: Any, events: Sequence[Event], **more: Any) -> Any:
        if not self.recording:
            return super().append_events(session, events, **more)
        waits: list[str] = []
        for event in events:
            n = str(self._recorder.count("append"))
            lane = self._recorder.lane_of(event.author)
            fields = {"event": event.id, "what": what(event)}
            if (error := self._declared.get("append_error", {}).get(n)) is not None:
                self._recorder.add("append_failed", lane, **fields)
                raise DeclaredError(error)
            if (gate := self._declared.get("append_wait", {}).get(n)) is not None:
                self._recorder.add("append_begun", lane, **fields)
                self._recorder.add("gate_wait", lane, gate=gate)
                waits.append(gate)
        return self._after(waits, session, events, more) if waits else self._append(session, events, more)

    async def _after(self, gates: list[str], session: Any, events: Sequence[Event], more: Any) -> list[Event]:
        loop = asyncio.get_running_loop()
        for gate in gates:
            opened = asyncio.Event()
            self._recorder.gate(gate).when_open(lambda opened=opened: loop.call_soon_threadsafe(opened.set))  # type: ignore[misc]
            await opened.wait()
        return self._append(session, events, more)

    def _append(self, session: Any, events: Sequence[Event], more: Any) -> list[Event]:
        for event in events:
            self.as_appended[event.id] = event_view(event)
        stored: list[Event] = super().append_events(session, events, **more)  # type: ignore[assignment]
        for event in events:
            lane = self._recorder.lane_of(event.author)
            self._recorder.add("append", lane, event=event.id, what=what(event))
        return stored
