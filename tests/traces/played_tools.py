"""A scenario's tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rxagent.agents import BaseAgent
from rxagent.models import FunctionDeclaration
from rxagent.runner import AgentTool
from rxagent.streams import Single
from rxagent.tools import BaseTool, FunctionTool, exit_loop

from .answering import tool_lane
from .behaviour import NOTHING, Env, pick, run
from .recorder import Recorder
from .views import error_view

__all__ = ["make_tool"]


class _Body:
    """What a declared tool does when it is called."""

    def __init__(self, recorder: Recorder, declared: Any) -> None:
        self._recorder = recorder
        self._declared = declared

    def single(self, args: dict[str, Any], ctx: Any) -> Single[Any]:
        """A Single of the value or of NOTHING; records the call now, and how it ended."""
        operations, env = self._called(args, ctx)
        return self._logged_single(lambda: run(operations, env), ctx, env.lane)

    def value(self, args: dict[str, Any], ctx: Any) -> Any:
        """The value or NOTHING; records the call and how it ended."""
        operations, env = self._called(args, ctx)
        try:
            value = run(operations, env)
            while isinstance(value, Single):
                value = value.blocking_get()
        except Exception as error:
            if self._declared.get("kind") != "raw":
                self._failed(error, ctx, env.lane)
            raise
        self._returned(value, ctx, env.lane)
        return value

    def _called(self, args: dict[str, Any], ctx: Any) -> tuple[list[Any], Env]:
        recorder, name = self._recorder, self._declared["name"]
        lane = tool_lane(recorder, ctx)
        recorder.add("tool_called", lane, tool=name, call_id=ctx.function_call_id, args=dict(args))
        operations = pick(self._declared, recorder.count(f"tool:{name}"))
        return operations, Env(recorder, lane, ctx.invocation_context, ctx, ctx, args)

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
                return body.single(args, tool_context).map(lambda value: None if value is NOTHING else value)
            value = body.value(args, tool_context)
            return None if value is NOTHING or returns == "void" else value

        super().__init__(
            function, name=declared["name"], description=declared.get("description", ""), **self._more(declared)
        )
        self._declared = declared

    @staticmethod
    def _more(declared: Any) -> dict[str, Any]:
        more: dict[str, Any] = {"is_long_running": True} if declared.get("kind") == "long_running" else {}
        if declared.get("require_confirmation"):
            more["require_confirmation"] = True
        return more

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
            value = self._body.value(args, tool_context)
            return Single.just({} if value is NOTHING else value)
        return self._body.single(args, tool_context).map(lambda value: {} if value is NOTHING else value)


def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


def greet(who: str, title: str | None = None) -> str:
    """Greets."""
    return f"hello {title + ' ' if title else ''}{who}"


_NATIVE: dict[str, Callable[..., object]] = {"add": add, "greet": greet}


def make_tool(recorder: Recorder, declared: Any, make_agent: Callable[[Any], BaseAgent]) -> BaseTool:
    """The tool that a scenario declares. make_agent: makes the agent of an agent tool from its declaration."""
    kind = declared.get("kind", "function")
    if kind == "agent_tool":
        return AgentTool(
            make_agent(declared["agent"]),
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
        return FunctionTool(_NATIVE[declared["name"]])
    raise AssertionError(f"unknown tool kind: {kind}")
