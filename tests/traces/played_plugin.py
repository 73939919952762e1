"""A scenario's plugin."""

from __future__ import annotations

import json
from typing import Any

from rxagent.events import Event
from rxagent.plugins import BasePlugin
from rxagent.tools import BaseTool

from .answering import Convert, respond, response_of, same, tool_lane
from .behaviour import Env, pick, run
from .recorder import Recorder
from .views import brief, content_of, error_view, message_view

__all__ = ["PlayedPlugin"]


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
