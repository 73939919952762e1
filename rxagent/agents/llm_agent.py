"""LlmAgent: an agent that asks a model and runs the tools that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from reactivex import Observable

from rxagent.errors import ConfigError
from rxagent.events import Event
from rxagent.flow import run_llm_flow
from rxagent.flow.instructions import Instruction, instruction_text
from rxagent.flow.output_schema import OutputSchema
from rxagent.flow.transfer import TransferTarget
from rxagent.history.contents import IncludeContents
from rxagent.invocation import InvocationContext
from rxagent.models import BaseLlm, GenerateContentConfig, LlmRegistry
from rxagent.streams import CancelScope, Emit, Work
from rxagent.tools import BaseTool, BaseToolset, as_tools

from .base import BaseAgent
from .callbacks import OneOrMany, callbacks
from .driver import Activation, Frames, drive

__all__ = ["Instruction", "LlmAgent"]


class LlmAgent(BaseAgent):
    """Asks its model, runs the tools that the model calls, and asks again, until the model has said its last.

    model: a name for the registry (`"local"`, `"gpt-4o-mini"`), or a BaseLlm; None: that of the agent above.
    instruction: the system instruction, with placeholders for state and artifacts (`rxagent.flow.instructions.filled`),
    or a function of the context. global_instruction: of a root agent; it stands before the instructions of all agents.
    tools: functions, BaseTools, BaseToolsets. generate_content_config: how to generate.
    include_contents: "none" sends the current turn alone, without history.
    output_key: the state's key for the agent's final answer. output_schema: the shape of the answer; input_schema: that
    of the arguments, when the agent is a tool; a pydantic model class, another type, or a JSON schema as a dict. A
    model that cannot keep to a shape while it has tools answers by the tool set_model_response. An answer that does
    not fit is stored under output_key as the text it is, and is no error.
    output_repair: how often the model is asked again, and told what does not fit, for an answer that does not.
    disallow_transfer_to_parent, disallow_transfer_to_peers: whom its model may not hand the conversation over to.
    max_steps: model calls of one turn of this agent; then it ends, whatever was said last.
    The callbacks: before_model(ctx, request), after_model(ctx, response), on_model_error(ctx, request, error),
    before_tool(tool, args, ctx), after_tool(tool, args, ctx, result), on_tool_error(tool, args, ctx, error); each a
    function, a coroutine function, or one that returns a Single; one or a list.

    Raises ConfigError for a tool, a callback, a schema or a number that is none, DuplicateToolError for two tools of
    one name.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str | BaseLlm | None = None,
        instruction: Instruction = "",
        global_instruction: Instruction = "",
        description: str = "",
        sub_agents: Iterable[BaseAgent] = (),
        tools: Iterable[BaseTool | BaseToolset | Callable[..., Any]] = (),
        generate_content_config: GenerateContentConfig | None = None,
        include_contents: IncludeContents = "default",
        output_key: str | None = None,
        output_schema: type | Mapping[str, Any] | None = None,
        input_schema: type | Mapping[str, Any] | None = None,
        output_repair: int = 0,
        max_steps: int | None = None,
        disallow_transfer_to_parent: bool = False,
        disallow_transfer_to_peers: bool = False,
        before_agent_callback: OneOrMany = None,
        after_agent_callback: OneOrMany = None,
        before_model_callback: OneOrMany = None,
        after_model_callback: OneOrMany = None,
        on_model_error_callback: OneOrMany = None,
        before_tool_callback: OneOrMany = None,
        after_tool_callback: OneOrMany = None,
        on_tool_error_callback: OneOrMany = None,
    ) -> None:
        super().__init__(
            name=name,
            description=description,
            sub_agents=sub_agents,
            before_agent_callback=before_agent_callback,
            after_agent_callback=after_agent_callback,
        )
        if model is not None and not isinstance(model, (str, BaseLlm)):
            raise ConfigError(f"the model of agent {name!r} is a {type(model).__name__}; give a name or a BaseLlm")
        self.model = model
        if max_steps is not None and max_steps < 1:
            raise ConfigError(f"max_steps of agent {name!r} must be at least 1, not {max_steps}")
        self.instruction = instruction
        self.global_instruction = global_instruction
        self.tools: Sequence[BaseTool | BaseToolset] = as_tools(f"agent {name!r}", tools)
        self.generate_content_config = generate_content_config or GenerateContentConfig()
        self.include_contents: IncludeContents = include_contents
        self.output_key = output_key
        self.output_schema = None if output_schema is None else OutputSchema(output_schema)
        self.input_schema = None if input_schema is None else OutputSchema(input_schema)
        if output_repair < 0:
            raise ConfigError(f"output_repair of agent {name!r} must be 0 or more, not {output_repair}")
        self.output_repair = output_repair
        self.max_steps = max_steps
        self.disallow_transfer_to_parent = disallow_transfer_to_parent
        self.disallow_transfer_to_peers = disallow_transfer_to_peers
        self.before_model_callbacks = callbacks("before_model_callback", before_model_callback)
        self.after_model_callbacks = callbacks("after_model_callback", after_model_callback)
        self.on_model_error_callbacks = callbacks("on_model_error_callback", on_model_error_callback)
        self.before_tool_callbacks = callbacks("before_tool_callback", before_tool_callback)
        self.after_tool_callbacks = callbacks("after_tool_callback", after_tool_callback)
        self.on_tool_error_callbacks = callbacks("on_tool_error_callback", on_tool_error_callback)

    def canonical_model(self) -> BaseLlm:
        """The agent's own model, or that of the nearest LlmAgent above it. Raises ConfigError when there is none."""
        agent: BaseAgent | None = self
        while agent is not None:
            if isinstance(agent, LlmAgent) and agent.model is not None:
                return agent.model if isinstance(agent.model, BaseLlm) else LlmRegistry.resolve(agent.model)
            agent = agent.parent_agent
        raise ConfigError(f"No model found for agent {self.name} or its ancestors; give it model=...")

    def instructions(self, context: InvocationContext) -> Sequence[str]:
        """The root agent's global instruction and the own one, filled in. Raises InstructionError."""
        root = self.root_agent
        shared = root.global_instruction if isinstance(root, LlmAgent) else ""
        return tuple(instruction_text(one, context) for one in (shared, self.instruction))

    def ends_with(self, event: Event) -> bool:
        """True for a final answer, its own or, after a hand-over, another agent's, who ends with it."""
        if event.content is None or not event.final_response() or event.error_code or event.long_running_tool_ids:
            return False
        if event.author == self.name:
            return True
        below = next((agent for agent in self.sub_agents if agent.find_agent(event.author or "")), None)
        if below is not None:
            return below.ends_with(event)
        return isinstance(self.parent_agent, LlmAgent) and self.parent_agent.ends_with(event)

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        """The agent and those it hands over to, as one piece of work."""
        return self.run_async(ctx)

    def run_async(self, parent_context: InvocationContext) -> Observable[Event]:
        """The agent with its callbacks, and those it hands over to, as one piece of work."""
        return Work(parent_context.mailbox, partial(drive, self, parent_context))

    def frames(self, activation: Activation, emit: Emit[Event], scope: CancelScope) -> Frames:
        """The callbacks and the model-tool loop; it yields where another agent takes over. For the driver."""
        ctx, asked_again = activation.context, False
        if not self._before(ctx, emit, scope):
            asked_again = yield from run_llm_flow(self, ctx, emit, scope, activation.point, activation.is_held)
            self._after(ctx, emit, scope)
        if ctx.is_resumable:
            pauses = ctx.pauses()
            waits = any(call.is_open or call.is_question for call in pauses) if asked_again else bool(pauses)
            if waits:
                activation.hold()
            if not activation.is_held():
                self._mark_end(ctx, emit)

    @property
    def transfer_targets(self) -> Sequence[TransferTarget]:
        """The agents that this one may hand over to: its sub-agents, its parent, and its peers (ADK Java)."""
        targets = [TransferTarget(agent.name, agent.description) for agent in self.sub_agents]
        parent = self.parent_agent
        if not isinstance(parent, LlmAgent):
            return targets
        if not self.disallow_transfer_to_parent:
            targets.append(TransferTarget(parent.name, parent.description, is_parent=True))
        if not self.disallow_transfer_to_peers:
            peers = (agent for agent in parent.sub_agents if agent is not self)
            targets.extend(TransferTarget(agent.name, agent.description) for agent in peers)
        return targets
