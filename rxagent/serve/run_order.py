"""RunOrder: what a request for a run asks."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from rxagent.events import Content, Value
from rxagent.tools import BaseTool

from .body import read_json

__all__ = ["Brought", "Busy", "OnDisconnect", "RunOrder", "in_words", "read_order", "validated"]

T = TypeVar("T", bound=BaseModel)

OnDisconnect: TypeAlias = Literal["abort", "detach"]
Busy: TypeAlias = Literal["queue", "reject", "interrupt"]


class RunOrder(Value):
    """ADK's run request, and what happens to the run when its client goes or its session has a run.

    auto_create: create the session when there is none; None: as the runner does.
    """

    user_id: str
    session_id: str
    app_name: str | None = None
    new_message: Content | None = None
    streaming: bool = False
    state_delta: dict[str, Any] | None = None
    invocation_id: str | None = None
    on_disconnect: OnDisconnect = "abort"
    busy: Busy = "queue"
    auto_create: bool | None = None


class Brought(NamedTuple):
    """What a client brings to a run besides its order. name: its own id of the run. The others: see `RunConfig`."""

    name: str = ""
    tools: tuple[BaseTool, ...] = ()
    instructions: tuple[str, ...] = ()


async def read_order(request: Request, max_body: int) -> RunOrder:
    """The order in a request's body and query. Status 413 or 422 when it is none."""
    fields = await read_json(request, max_body)
    if not isinstance(fields, dict):
        raise HTTPException(422, 'the body is no run request; send {"appName", "userId", "sessionId", "newMessage"}')
    for name, alias in (("on_disconnect", "onDisconnect"), ("busy", "busy")):
        if (value := request.query_params.get(name)) is not None:
            fields.pop(alias, None)
            fields[name] = value
    order = validated(RunOrder, fields)
    if order.invocation_id is None and not (order.new_message and order.new_message.parts):
        raise HTTPException(422, "newMessage has no parts; give it one with a text, or an invocationId to go on with")
    return order


def validated(kind: type[T], fields: Any) -> T:
    """The value of this kind that a client has sent. Status 422 when it is none."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise HTTPException(422, in_words(error)) from None


def in_words(error: ValidationError) -> str:
    """What is wrong with which field; not the value, which may be anything."""
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors())
