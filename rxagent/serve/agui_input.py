"""AguiRun: what an AG-UI client asks, checked, and as an order for a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ag_ui.core import Message, ResumeEntry, RunAgentInput, ToolMessage, UserMessage
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from rxagent.events import APP_PREFIX, TEMP_PREFIX, USER_PREFIX, Content
from rxagent.sessions import Question, Session

from .agui_messages import content_of, dangling_calls
from .agui_tools import client_tools, context_text
from .run_order import Brought, RunOrder, in_words
from .wire_json import dumps

__all__ = ["AguiRun", "order_of", "read_input"]

_NO_MESSAGE: Final = (
    "there is nothing to do: the last of `messages` says nothing and answers no open call, and `resume` answers nothing"
)
_PREFIXES: Final = (APP_PREFIX, TEMP_PREFIX, USER_PREFIX)


class AguiRun(NamedTuple):
    """A checked request. answered: results that the client gives to interrupts, by the ids of their calls.

    is_broken: the client saw calls begin and not end, so its list of messages is to be mended.
    """

    order: RunOrder
    brought: Brought
    answered: dict[str, Any]
    is_broken: bool


def read_input(body: Any) -> RunAgentInput:
    """The request. Status 422 when it is none."""
    try:
        return RunAgentInput.model_validate(body)
    except ValidationError as error:
        raise HTTPException(422, in_words(error)) from None


def order_of(asked: RunAgentInput, session: Session | None, app_name: str, user_id: str, query: Any) -> AguiRun:
    """What the client wants: to answer interrupts and calls of its own tools, or to say something new.

    The log is the truth: of `messages` only the last ones count, the user's and the tools'. Status 409 for an answer
    to what is not asked, 422 when there is nothing to do, and for tools that a model cannot be told of.
    """
    questions = {} if session is None else {one.call_id: one for one in session.pending()}
    resumed = _resumed(asked.resume or (), questions)
    last = asked.messages[-1] if asked.messages else None
    said = content_of(last).parts or () if isinstance(last, UserMessage) and not resumed else ()
    results = _tool_results(asked.messages, questions, {question.call_id for question, _, _ in resumed})
    parts = [part for _, content, _ in (*resumed, *results) for part in content.parts or ()]
    if not parts and not said:
        raise HTTPException(422, _NO_MESSAGE)
    try:
        order = RunOrder(
            user_id=user_id,
            session_id=asked.thread_id,
            app_name=app_name,
            new_message=Content(role="user", parts=(*parts, *said)),
            streaming=True,
            state_delta=_state_delta(asked, session) or None,
            on_disconnect=query.get("on_disconnect", "abort"),
            busy=query.get("busy", "queue"),
            auto_create=True,
        )
    except ValidationError as error:
        raise HTTPException(422, in_words(error)) from None
    brought = Brought(asked.run_id, client_tools(asked.tools or ()), (context_text(asked.context or ()),))
    answered = {question.call_id: result for question, _, result in resumed if question.kind == "answer"}
    return AguiRun(order, brought, answered, not parts and bool(dangling_calls(asked.messages) - questions.keys()))


def _state_delta(asked: RunAgentInput, session: Session | None) -> dict[str, Any]:
    """What the client has changed of the state: by telling the whole in `state`, and by forwardedProps.stateDelta.

    A key that the client's state lacks stays: the client may not have seen it. Of what other sessions share only the
    latter counts: a copy that a client sends back must not undo what others have written since.
    """
    known = {} if session is None else session.state
    told = asked.state if isinstance(asked.state, dict) else {}
    delta = {
        name: value
        for name, value in told.items()
        if not name.startswith(_PREFIXES) and (name not in known or dumps(known[name]) != dumps(value))
    }
    forwarded = asked.forwarded_props if isinstance(asked.forwarded_props, dict) else {}
    changes = forwarded.get("stateDelta")
    return {**delta, **changes} if isinstance(changes, dict) else delta


_Answer = tuple[Question, Content, Any]


def _resumed(entries: Iterable[ResumeEntry], questions: dict[str, Question]) -> list[_Answer]:
    found = []
    for entry in entries:
        question = questions.get(entry.interrupt_id)
        if question is None:
            raise HTTPException(409, f"interrupt {entry.interrupt_id!r} is not open in this thread; it may be answered")
        found.append(_answered(question, entry.payload, gives_up=entry.status == "cancelled"))
    return found


def _answered(question: Question, payload: Any, *, gives_up: bool) -> _Answer:
    """An approval is `{"confirmed": true, "payload"?}`, or true; any object is the result of a long-running call."""
    if question.kind == "answer":
        result = {"status": "cancelled"} if gives_up else payload if isinstance(payload, dict) else {"result": payload}
        return question, question.answer(result), result
    given = payload if isinstance(payload, dict) else {"confirmed": payload}
    confirmed = next((given[name] for name in ("confirmed", "approved") if name in given), None)
    if not gives_up and not isinstance(confirmed, bool):
        raise HTTPException(422, f'interrupt {question.call_id!r} asks for {{"confirmed": true}} or false as payload')
    decide = question.approve if confirmed and not gives_up else question.reject
    return question, decide(given.get("payload")), None


def _tool_results(messages: list[Message], questions: dict[str, Question], resumed: set[str]) -> list[_Answer]:
    """Results at the end of the messages, before what the user says last, of calls that wait for one."""
    found: list[_Answer] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage) and not found:
            continue
        if not isinstance(message, ToolMessage):
            break
        question = questions.get(message.tool_call_id)
        if question is not None and question.kind == "answer" and message.tool_call_id not in resumed:
            result = _result_of(message)
            found.append((question, question.answer(result), result))
    return found[::-1]


def _result_of(message: ToolMessage) -> dict[str, Any]:
    """A JSON object as it is, another text as a result; parts that are no text are left out."""
    content = message.content
    text = content if isinstance(content, str) else "".join(getattr(part, "text", "") for part in content)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    result = value if isinstance(value, dict) else {"result": text}
    return result if message.error is None else {**result, "error": message.error}
