"""Behaviour: the little language in which scenarios declare callbacks, plugins and tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rxagent.events import EventActions, Part
from rxagent.streams import Single, SingleEmitter

from .recorder import NULL, Recorder
from .views import DeclaredError

__all__ = ["NOTHING", "Env", "pick", "run"]

NOTHING: Any = object()
"""No value was returned."""

_ACTIONS = {
    "skipSummarization": "skip_summarization",
    "escalate": "escalate",
    "transferToAgent": "transfer_to_agent",
    "endInvocation": "end_of_agent",
}


@dataclass
class Env:
    """What a behaviour may touch; absent things are None."""

    recorder: Recorder
    lane: str = ""
    invocation: Any = None
    callback: Any = None
    tool: Any = None
    args: Any = None
    request: Any = None

    @property
    def state(self) -> Any:
        return self.callback.state if self.callback is not None else self.invocation.state

    @property
    def actions(self) -> EventActions:
        actions: EventActions = (self.tool or self.callback).actions
        return actions


def pick(declared: Any, n: int) -> list[Any]:
    """The behaviour of the n-th use."""
    many = declared.get("behaviours")
    operations: list[Any] = declared.get("behaviour", []) if many is None else many[min(n, len(many)) - 1]
    return operations


def run(operations: list[Any], env: Env) -> Any:
    """Do the operations up to the first that ends it: a value, NOTHING, or a Single of either; or it raises."""
    for index, operation in enumerate(operations):
        ((name, argument),) = operation.items()
        if name == "wait":
            return _after_gate(argument, operations[index + 1 :], env)
        if name in ("if_no_confirmation", "if_rejected"):
            confirmation = env.tool.tool_confirmation
            if (name == "if_no_confirmation") == (confirmation is None) and not (
                confirmation and confirmation.confirmed
            ):
                return run(argument, env)
            continue
        ended, value = _do(name, argument, env)
        if ended:
            return value
    return NOTHING


def _after_gate(gate: str, rest: list[Any], env: Env) -> Single[Any]:
    env.recorder.add("gate_wait", env.lane, gate=gate)

    def start(emitter: SingleEmitter[Any]) -> None:
        def opened() -> None:
            if emitter.is_disposed:
                return
            try:
                value = run(rest, env)
            except Exception as error:
                emitter.on_error(error)
                return
            if isinstance(value, Single):
                emitter.set_cancellable(value.subscribe(emitter.on_success, emitter.on_error).dispose)
            else:
                emitter.on_success(value)

        env.recorder.gate(gate).when_open(opened)

    return Single.create(start)


def _do(name: str, argument: Any, env: Env) -> tuple[bool, Any]:
    """One operation: whether it ends the behaviour, and with what."""
    recorder = env.recorder
    if name == "return":
        return True, argument
    if name == "return_nothing":
        return True, NOTHING
    if name == "return_args":
        return True, {"args": env.args}
    if name == "return_call_id":
        return True, {"call_id": env.tool.function_call_id}
    if name == "return_state":
        return True, {"value": env.state.get(argument)}
    if name == "return_confirmation":
        confirmation = env.tool.tool_confirmation
        return True, {"confirmation": confirmation.model_dump(by_alias=True)}
    if name == "raise":
        raise DeclaredError(argument)
    if name == "error":
        return True, Single.error(DeclaredError(argument))
    if name == "block":
        recorder.add("gate_wait", env.lane, gate=argument)
        if not recorder.gate(argument).opened.wait(5):
            raise AssertionError(f"gate never opened: {argument}")
    elif name == "set_state":
        for key, value in argument.items():
            env.state[key] = value
    elif name == "remove_state":
        for key in argument:
            if key in env.state:
                del env.state[key]
    elif name == "read_state":
        recorder.add("read_state", env.lane, key=argument, value=env.state.get(argument, NULL))
    elif name == "set_actions":
        _set_actions(env.actions, argument)
    elif name == "replace_actions":
        env.tool.actions = env.tool.actions.copied()
        _set_actions(env.tool.actions, argument)
    elif name == "end_invocation":
        (env.invocation or env.callback).end_invocation = True
    elif name == "save_artifact":
        env.callback.save_artifact(argument["name"], Part(text=argument["text"]))
    elif name == "request_confirmation":
        env.tool.request_confirmation(hint=argument.get("hint"), payload=argument.get("payload"))
    elif name == "edit_args":
        env.args.update(argument)
    elif name == "append_instruction":
        env.request.append_instructions((argument,))
    else:
        raise AssertionError(f"unknown operation: {name}")
    return False, None


def _set_actions(actions: EventActions, fields: dict[str, Any]) -> None:
    for key, value in fields.items():
        setattr(actions, _ACTIONS[key], value)
