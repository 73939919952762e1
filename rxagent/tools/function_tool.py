"""FunctionTool: a function as a tool."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from rxagent.errors import ConfigError, ToolError
from rxagent.models.request import FunctionDeclaration
from rxagent.streams.aio import single_of_coroutine
from rxagent.streams.as_single import as_single, is_deferred
from rxagent.streams.single import Single, SingleEmitter

from .base import BaseTool
from .binding import CONTEXT_NAME, home_of, read_signature
from .confirmation import Confirmation, RequireConfirmation
from .context import CallContext
from .docstring import Docs, read_docstring
from .landing import Landing, landing_of
from .result import error_result, internal_error_result, to_result
from .schema import Arguments, BindError

__all__ = ["FunctionTool", "ToolLike", "as_tool"]

_log = logging.getLogger("rxagent.tools")

_PLAIN: Final = (dict, str, list, int, float)  # the usual results, told apart from what must be waited for at once

Result: TypeAlias = dict[str, Any]
ToolLike: TypeAlias = BaseTool | Callable[..., object]
"""What an agent takes as a tool."""


def _nothing() -> None: ...


class FunctionTool(BaseTool):
    """A function, a coroutine function, or a function that returns a Single, an Observable or a Future.

    name, description: the function's own (its docstring's) by default. Types come from the hints, the parameters'
    descriptions from the docstring or from `Annotated`. `tool_context` is bound by its name, whatever its hint, and
    the model does not see it. Parameters' defaults are told to the model; what a `functools.partial` fixes is not.
    require_confirmation: the user is asked before the function runs; a predicate of the arguments says when.

    Raises ConfigError for what a model cannot be told: a missing hint, one without a schema, `*args`, `**kwargs`.

    How a call ends (ADK Java, FunctionTool):

        arguments that do not bind          --> {"status": "error", "message": "... argument 'x': ..."}
        not confirmed, or rejected          --> {"error": ...}, see `Confirmation`
        returned value                      --> see `to_result`; of an Observable the last one, `{}` for none
        ToolError, raised or emitted        --> {"status": "error", "message": its text}
        any other exception raised          --> {"status": "error", "message": "An internal error occurred."}, logged
        error of a returned Single, Future  --x that error

    Disposal: disposes the returned Single, cancels the coroutine or Future; a plain function runs to its end unseen.
    Errors: as above; a BaseException is not caught. Threads: the function runs on the subscribing thread, a coroutine
    on the run's event loop.
    """

    __slots__ = (
        "_arguments",
        "_confirmation",
        "_declaration",
        "_docs",
        "_func",
        "_given",
        "_is_coroutine",
        "_takes_context",
    )

    def __init__(
        self,
        func: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        is_long_running: bool = False,
        require_confirmation: RequireConfirmation = False,
        custom_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        name = name or _name_of(func)
        super().__init__(name, is_long_running=is_long_running, custom_metadata=custom_metadata)
        if isinstance(func, type) or inspect.isasyncgenfunction(home_of(func)):
            raise ConfigError(f"the tool {name!r} is a class or an async generator; give a function or an object of it")
        signature = read_signature(func, name)
        self._func = func
        self._given = description
        self._docs: Docs | None = None
        self._declaration: FunctionDeclaration | None = None
        self._arguments = Arguments(signature.parameters, name)
        self._takes_context = signature.takes_context
        self._confirmation = (
            Confirmation(require_confirmation, signature.parameters, name) if require_confirmation else None
        )
        self._is_coroutine = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(
            getattr(type(func), "__call__", None)  # noqa: B004 - the function of a callable object
        )

    @property
    def func(self) -> Callable[..., object]:
        """The function."""
        return self._func

    @property
    def description(self) -> str:
        """The one given, else the docstring's, without its sections."""
        return self._read_docs().description if self._given is None else self._given

    def declaration(self) -> FunctionDeclaration:
        """What the model is told; made once."""
        if self._declaration is None:
            parameters = self._arguments.json_schema(self._read_docs().parameters)
            self._declaration = FunctionDeclaration(name=self.name, description=self.description, parameters=parameters)
        return self._declaration

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[Result]:
        """One call; how it ends is told at the class."""
        return Single(lambda emitter: self._start(args, tool_context, emitter))

    def _start(self, args: dict[str, Any], tool_context: CallContext, emitter: SingleEmitter[Result]) -> None:
        landing = landing_of(tool_context)
        landing.begin()
        try:
            outcome = self._call(args, tool_context, landing)
        except BindError as error:
            outcome = error_result(str(error))
        except Exception as error:
            outcome = self._failed(error)
        except BaseException:  # the stop, as a rule
            landing.stopped()
            raise
        if not isinstance(outcome, _Later):
            landing.returned(outcome)
        if isinstance(outcome, _Later):
            outcome.follow(emitter)
        else:
            emitter.on_success(outcome)  # outside of the try: what is raised downstream is not the tool's

    def _call(self, args: dict[str, Any], tool_context: CallContext, landing: Landing) -> Result | _Later:
        bound = self._arguments.bind(args)
        if self._confirmation is not None and (refusal := self._confirmation.refusal(bound, tool_context)) is not None:
            return refusal
        if self._takes_context:
            bound[CONTEXT_NAME] = tool_context
        if self._is_coroutine:
            func = cast(Callable[..., Coroutine[Any, Any, object]], self._func)
            return self._later(lambda: func(**bound), landing)
        return self._made(self._func(**bound), tool_context, landing)

    def _made(self, value: object, tool_context: CallContext, landing: Landing) -> Result | _Later:
        """What is made of the value that the function gave."""
        if value is None or isinstance(value, _PLAIN) or not is_deferred(value):
            return to_result(value)
        if inspect.iscoroutine(value):
            return self._later(lambda: value, landing, value.close)
        landing.called()  # its end is not to be seen from here
        return _Later(as_single(value), _emitted)

    def _later(
        self, make: Callable[[], Coroutine[Any, Any, object]], landing: Landing, unused: Callable[[], object] = _nothing
    ) -> _Later:
        def ended() -> None:
            unused()
            landing.left()

        return _Later(single_of_coroutine(lambda: self._landed(make, landing), ended), _emitted)

    async def _landed(self, make: Callable[[], Coroutine[Any, Any, object]], landing: Landing) -> Result:
        """The coroutine, whose end is told also when nobody waits for it any more."""
        try:
            result = to_result(await make())
        except Exception as error:
            result = self._failed(error)
        except BaseException:
            landing.stopped()
            raise
        landing.returned(result)
        return result

    def _failed(self, error: Exception) -> Result:
        """The result for what the function raised."""
        if isinstance(error, ToolError):
            return error_result(str(error))
        _log.error("the tool %r failed", self.name, exc_info=error)
        return internal_error_result()

    def _read_docs(self) -> Docs:
        if self._docs is None:
            home = home_of(self._func)
            of_object = type(self._func).__doc__ if home is getattr(type(self._func), "__call__", None) else None  # noqa: B004
            self._docs = read_docstring(home.__doc__ or of_object)
        return self._docs


def as_tool(tool: ToolLike) -> BaseTool:
    """A tool as it is, a callable as a FunctionTool. Raises ConfigError for anything else."""
    if isinstance(tool, BaseTool):
        return tool
    if isinstance(tool, type) and issubclass(tool, BaseTool):
        raise ConfigError(f"{tool.__name__} is a class; give an object of it: {tool.__name__}(...)")
    if not callable(tool):
        raise ConfigError(f"a tool is a function or a BaseTool, not {type(tool).__name__}: {tool!r}")
    return FunctionTool(tool)


def _name_of(func: Callable[..., object]) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", None) or type(func).__name__


class _Later(NamedTuple):
    """A value that is still to come, and what is made of its error: a result, or it is raised again."""

    source: Single[Any]
    failed: Callable[[Exception], Result]

    def follow(self, emitter: SingleEmitter[Result]) -> None:
        def end(make: Callable[[Any], Result], value: Any) -> None:
            try:
                result = make(value)
            except Exception as error:
                emitter.on_error(error)
            else:
                emitter.on_success(result)

        handle = self.source.subscribe(lambda value: end(to_result, value), lambda error: end(self.failed, error))
        emitter.set_cancellable(handle.dispose)


def _emitted(error: Exception) -> Result:
    """The result for an error of a returned stream; raises it when it is not for the model."""
    if isinstance(error, ToolError):
        return error_result(str(error))
    raise error
