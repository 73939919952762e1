"""FunctionTool and as_tool."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Annotated, Any, Literal

import pytest
import reactivex
from pydantic import BeforeValidator
from reactivex import Observable
from reactivex import operators as ops
from reactivex.disposable import Disposable

from rxagent.errors import ConfigError, ToolError
from rxagent.streams.aio import home_loop
from rxagent.streams.scope import CancelScope, Stopped
from rxagent.streams.single import Single
from rxagent.tools import BaseTool, CallContext, FunctionTool, as_tool

from .calls import Call, HandContext, call, result_of

INTERNAL = {"status": "error", "message": "An internal error occurred."}


def get_weather(city: str, unit: Literal["C", "F"] = "C") -> dict[str, object]:
    """Current weather.

    Args:
        city: Name of the city.
        unit: Temperature unit.
    """
    return {"city": city, "degrees": 21, "unit": unit}


async def look_up(url: str, tool_context: CallContext) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    return f"{tool_context.function_call_id}: {url}"


class Shop:
    """A shop."""

    def order(self, item: str) -> str:
        """Order an item."""
        return item

    def __call__(self, item: str) -> str:
        return item


class AsyncShop:
    async def __call__(self, item: str) -> str:
        """Order an item."""
        return item


def refuse() -> object:
    raise ValueError("secret detail")


async def refuse_later() -> object:
    raise ValueError("secret detail")


def no_city() -> object:
    raise ToolError("no such city")


async def no_city_later() -> object:
    raise ToolError("no such city")


# -- what the model is told --------------------------------------------------------------------------------------------


def test_declaration() -> None:
    """Name, description and parameters come from the function, its hints and its docstring."""
    declared = FunctionTool(get_weather).declaration()
    assert declared.name == "get_weather"
    assert declared.description == "Current weather."
    assert declared.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C", "description": "Temperature unit."},
        },
        "required": ["city"],
    }


@pytest.mark.promise("J21")
def test_tool_context_is_not_declared() -> None:
    """The model does not see `tool_context`."""
    parameters = FunctionTool(look_up).declaration().parameters
    assert parameters == {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


def test_no_parameters() -> None:
    """A function without parameters declares an empty object, as ADK does."""
    assert FunctionTool(refuse).declaration().parameters == {"type": "object", "properties": {}}


def test_given_name_and_description() -> None:
    """A given name and description come before the function's own, an empty description too."""
    tool = FunctionTool(get_weather, name="weather", description="")
    assert (tool.name, tool.description, tool.declaration().description) == ("weather", "", "")
    assert tool.func is get_weather


def test_made_once() -> None:
    """The declaration is made once: a request for each step must not cost a schema."""
    tool = FunctionTool(get_weather)
    assert tool.declaration() is tool.declaration()


@pytest.mark.parametrize(
    ("func", "name", "description"),
    [
        (Shop().order, "order", "Order an item."),
        (functools.partial(get_weather, unit="F"), "get_weather", "Current weather."),
        (Shop(), "Shop", "A shop."),
        (AsyncShop(), "AsyncShop", "Order an item."),
    ],
    ids=["method", "partial", "object", "async object"],
)
def test_kinds_of_callables(func: Callable[..., object], name: str, description: str) -> None:
    """Methods, partials and callable objects have a name and a description."""
    tool = as_tool(func)
    assert (tool.name, tool.description) == (name, description)


def test_a_partial_hides_what_it_fixes() -> None:
    """What a partial fixes is not told to the model, and cannot be overridden by it."""
    tool = FunctionTool(functools.partial(get_weather, unit="F"))
    assert "unit" not in (tool.declaration().parameters or {})["properties"]
    assert result_of(tool, city="Oslo", unit="C")["unit"] == "F"


# -- construction ------------------------------------------------------------------------------------------------------


def no_hint(a) -> None: ...  # type: ignore[no-untyped-def]
def no_schema(a: threading.Lock) -> None: ...


async def generator(a: int) -> AsyncIterator[int]:
    yield a


@pytest.mark.parametrize(
    ("func", "words"),
    [
        (no_hint, "parameter 'a' of the tool 'no_hint' has no type hint"),
        (no_schema, "parameter 'a' of the tool 'no_schema': .*lock.* has no JSON schema"),
        (generator, "'generator' is a class or an async generator"),
        (Shop, "'Shop' is a class"),
        (lambda: None, "'<lambda>' is no name for a tool"),
    ],
    ids=["hint", "schema", "generator", "class", "lambda"],
)
def test_mistakes_are_told_at_construction(func: Callable[..., object], words: str) -> None:
    """What a model cannot be told is a ConfigError where the tool is made."""
    with pytest.raises(ConfigError, match=words):
        FunctionTool(func)


def test_as_tool() -> None:
    """A tool passes through, a callable becomes a FunctionTool."""
    tool = BaseTool("look")
    assert as_tool(tool) is tool
    made = as_tool(get_weather)
    assert isinstance(made, FunctionTool)
    assert made.func is get_weather


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("get_weather", "not str: 'get_weather'"),
        (None, "not NoneType"),
        (BaseTool, r"give an object of it: BaseTool\("),
    ],
)
def test_no_tool(value: Any, words: str) -> None:
    """Anything else is a ConfigError that says what a tool is."""
    with pytest.raises(ConfigError, match=words):
        as_tool(value)


# -- arguments ---------------------------------------------------------------------------------------------------------


def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


def greet(who: str, title: str | None = None) -> str:
    return f"hello {title} {who}" if title else f"hello {who}"


def test_binding_as_in_adk() -> None:
    """Numeric texts and whole floats do for an int, extra arguments are ignored, optional ones may be left out."""
    assert result_of(add, a=1, b=2) == {"sum": 3}
    assert result_of(add, a="3", b=2.0, zz=1) == {"sum": 5}
    assert result_of(greet, who="Bo") == {"result": "hello Bo"}
    assert result_of(greet, who="Bo", title="Dr") == {"result": "hello Dr Bo"}
    assert result_of(greet, who="Bo", title=None) == {"result": "hello Bo"}


@pytest.mark.parametrize(("args", "word"), [({"a": 1}, "'b' is missing"), ({"a": "x", "b": 2}, "'a' is wrong")])
def test_arguments_that_do_not_bind(args: dict[str, object], word: str) -> None:
    """Arguments that do not bind are an error result that names the parameter; the function is not called."""
    result = result_of(add, **args)
    assert result["status"] == "error"
    assert word in result["message"]


def careless(value: object) -> object:
    raise KeyError("secret")


def uses_careless(value: Annotated[int, BeforeValidator(careless)]) -> int:
    return value


def test_a_validator_that_raises() -> None:
    """What a hint's own validator raises by mistake is an internal error result, not the run's failure."""
    assert result_of(uses_careless, value=1) == INTERNAL


@pytest.mark.promise("J21")
def test_context_is_given() -> None:
    """The context of the call, with its id, arrives in `tool_context`, and the model cannot give another."""
    seen: list[object] = []

    def keep(tool_context: object) -> None:
        seen.append(tool_context)

    context = HandContext("c9")
    assert Call(FunctionTool(keep), {"tool_context": "forged"}, context).wait().results == [{}]
    assert seen == [context]


def test_actions_and_state_through_the_context() -> None:
    """A tool writes state and actions through its context."""

    def mark(tool_context: CallContext) -> None:
        tool_context.state["seen"] = True
        tool_context.end_invocation = True

    context = HandContext()
    Call(FunctionTool(mark), {}, context).wait()
    assert context.actions.state_delta == {"seen": True}
    assert context.end_invocation


# -- plain functions ---------------------------------------------------------------------------------------------------


def test_cold() -> None:
    """Nothing runs before the subscribe, and each subscribe runs it again."""
    calls: list[int] = []

    def count() -> int:
        calls.append(1)
        return len(calls)

    single = FunctionTool(count).run_async({}, HandContext())
    assert calls == []
    got: list[dict[str, Any]] = []
    single.subscribe(got.append)
    single.subscribe(got.append)
    assert got == [{"result": 1}, {"result": 2}]


def test_plain_function_runs_on_the_subscribing_thread() -> None:
    """A plain function runs where the Single is subscribed."""
    threads: list[threading.Thread] = []

    def where() -> None:
        threads.append(threading.current_thread())

    call(where)
    other = threading.Thread(target=call, args=(where,))
    other.start()
    other.join()
    assert threads == [threading.current_thread(), other]


@pytest.mark.promise("J20")
@pytest.mark.parametrize("func", [refuse, refuse_later], ids=["plain", "async"])
def test_exceptions_are_internal_error_results(func: Callable[..., object], caplog: pytest.LogCaptureFixture) -> None:
    """An exception in a plain function or an `async def` is a generic result; the log has the exception."""
    with caplog.at_level(logging.ERROR, "rxagent.tools"):
        assert result_of(func) == INTERNAL
    [record] = caplog.records
    assert record.name == "rxagent.tools"
    assert func.__name__ in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


@pytest.mark.promise("J20")
@pytest.mark.parametrize(
    "func",
    [no_city, no_city_later, lambda: Single.error(ToolError("no such city"))],
    ids=["raised", "raised async", "emitted"],
)
def test_tool_error(func: Callable[..., object], caplog: pytest.LogCaptureFixture) -> None:
    """A ToolError's text is the model's error result, raised or emitted, and nothing is logged."""
    assert result_of(FunctionTool(func, name="f")) == {"status": "error", "message": "no such city"}
    assert caplog.records == []


@pytest.mark.parametrize("leave", [Stopped(CancelScope()), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_base_exceptions_pass(leave: BaseException) -> None:
    """A stop, a Ctrl-C and an exit pass through a tool untouched."""

    def stop() -> None:
        raise leave

    with pytest.raises(type(leave)) as caught:
        call(stop)
    assert caught.value is leave


def test_a_result_that_cannot_even_be_printed(caplog: pytest.LogCaptureFixture) -> None:
    """A result whose conversion fails is an internal error result."""

    class Bad:
        def __str__(self) -> str:
            raise ValueError("no text")

    with caplog.at_level(logging.ERROR, "rxagent.tools"):
        assert result_of(FunctionTool(lambda: Bad(), name="f")) == INTERNAL


def test_disposed_while_it_ran() -> None:
    """A plain function that was left runs to its end, and its result is seen by nobody."""
    started, go, ran = threading.Event(), threading.Event(), threading.Event()

    def slow() -> str:
        started.set()
        assert go.wait(5)
        ran.set()
        return "late"

    leave: reactivex.Subject[None] = reactivex.Subject()
    got: list[object] = []
    source = FunctionTool(slow).run_async({}, HandContext()).pipe(ops.take_until(leave))
    worker = threading.Thread(target=lambda: source.subscribe(got.append, got.append))
    worker.start()
    assert started.wait(5)
    leave.on_next(None)
    go.set()
    worker.join(5)
    assert ran.is_set()
    assert got == []


# -- what is waited for ------------------------------------------------------------------------------------------------


def done_future() -> Future[str]:
    future: Future[str] = Future()
    future.set_result("later")
    return future


@pytest.mark.promise("J8")
@pytest.mark.parametrize(
    ("func", "result"),
    [
        (lambda: Single.just("later"), {"result": "later"}),
        (lambda: Single.just(None), {}),
        (lambda: Single.just({"a": 1}), {"a": 1}),
        (lambda: reactivex.of(1, 2, 3), {"result": 3}),
        (lambda: reactivex.empty(), {}),
        (done_future, {"result": "later"}),
    ],
    ids=["single", "none", "map", "observable", "empty", "future"],
)
def test_returned_streams(func: Callable[..., object], result: dict[str, object]) -> None:
    """A returned Single, Observable (its last value, {} for none) or Future is waited for."""
    assert result_of(FunctionTool(func, name="f")) == result


def failed_future() -> Future[str]:
    future: Future[str] = Future()
    future.set_exception(OSError("disk"))
    return future


def raising(_: object) -> None:
    raise OSError("disk")


@pytest.mark.promise("J20")
@pytest.mark.parametrize(
    "func",
    [
        lambda: Single.error(OSError("disk")),
        lambda: reactivex.throw(OSError("disk")),
        failed_future,
        lambda: Single.create(raising),
    ],
    ids=["single", "observable", "future", "create"],
)
def test_emitted_errors_are_errors(func: Callable[..., object]) -> None:
    """An error that a returned Single, Observable or Future emits is the call's error, one raised in create too."""
    ended = call(FunctionTool(func, name="f"))
    assert ended.results == []
    [error] = ended.errors
    assert isinstance(error, OSError)
    assert str(error) == "disk"


def test_a_later_result_that_cannot_be_printed() -> None:
    """A value of a returned Single whose conversion fails is the call's error."""

    class Bad:
        def __str__(self) -> str:
            raise ValueError("no text")

    ended = call(FunctionTool(lambda: Single.just(Bad()), name="f"))
    assert [str(error) for error in ended.errors] == ["no text"]


@pytest.mark.promise("J8")
def test_dispose_reaches_the_returned_single() -> None:
    """Disposing the call runs the returned Single's cancel action, once, before dispose returns."""
    cancelled: list[int] = []
    tool = FunctionTool(
        lambda: Single.create(lambda emitter: emitter.set_cancellable(lambda: cancelled.append(1))), name="f"
    )
    left = Call(tool, {})
    left.handle.dispose()
    left.handle.dispose()
    assert cancelled == [1]
    assert (left.results, left.errors, left.completed) == ([], [], False)


@pytest.mark.promise("J8")
def test_dispose_reaches_the_returned_observable() -> None:
    """Disposing the call disposes the returned Observable, and its earlier values are no result."""
    disposed: list[int] = []

    def source() -> Observable[int]:
        def subscribe(observer: reactivex.abc.ObserverBase[int], _: object) -> reactivex.abc.DisposableBase:
            observer.on_next(1)
            return Disposable(lambda: disposed.append(1))

        return reactivex.create(subscribe)

    left = Call(FunctionTool(source), {})
    left.handle.dispose()
    assert disposed == [1]
    assert left.results == []


@pytest.mark.promise("J8")
def test_dispose_cancels_the_future() -> None:
    """Disposing the call cancels a job that has not begun."""
    busy, jobs = threading.Event(), []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(busy.wait, 5)

        def queue() -> Future[str]:
            jobs.append(pool.submit(lambda: "ran"))
            return jobs[0]

        left = Call(FunctionTool(queue), {})
        left.handle.dispose()
        busy.set()
    assert jobs[0].cancelled()
    assert left.errors == []


# -- coroutines --------------------------------------------------------------------------------------------------------


@pytest.mark.promise("J8")
def test_coroutine_functions() -> None:
    """An `async def`, an object with an async __call__ and a partial of one are awaited."""
    assert Call(FunctionTool(look_up), {"url": "x"}, HandContext("c3")).wait().results == [{"result": "c3: x"}]
    assert result_of(AsyncShop(), item="tea") == {"result": "tea"}
    tool = FunctionTool(functools.partial(look_up, url="y"))
    assert Call(tool, {}, HandContext("c4")).wait().results == [{"result": "c4: y"}]


@pytest.mark.promise("J20")
def test_a_function_that_returns_a_coroutine() -> None:
    """A decorated `async def`, plain to look at, counts as one: its exception is an internal error result."""

    @functools.wraps(refuse_later)
    def wrapper() -> Awaitable[object]:
        return refuse_later()

    assert result_of(wrapper) == INTERNAL


def test_a_decorator_that_runs_the_coroutine() -> None:
    """A wrapped `async def` whose wrapper returns the value is a plain function."""

    @functools.wraps(look_up)
    def wrapper(url: str, tool_context: CallContext) -> str:
        return asyncio.run(look_up(url, tool_context))

    assert Call(FunctionTool(wrapper), {"url": "x"}).wait().results == [{"result": "c1: x"}]


@pytest.mark.promise("J8")
def test_dispose_cancels_the_coroutine() -> None:
    """Disposing the call cancels the task; its cleanup runs, and what it returns is seen by nobody."""
    started, cleaned = threading.Event(), threading.Event()

    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cleaned.set()
        return "a fake success"

    left = Call(FunctionTool(wait), {})
    assert started.wait(5)
    left.handle.dispose()
    assert cleaned.wait(5)
    assert (left.results, left.errors) == ([], [])


def test_a_coroutine_runs_on_the_home_loop() -> None:
    """A coroutine runs on the loop of the run that it is part of."""

    async def where() -> bool:
        return asyncio.get_running_loop() is home

    async def main() -> dict[str, Any]:
        home_loop.set(home)
        return await FunctionTool(where).run_async({}, HandContext())

    home = asyncio.new_event_loop()
    try:
        assert home.run_until_complete(main()) == {"result": True}
    finally:
        home.close()


def test_a_cancel_from_elsewhere_is_an_error() -> None:
    """A coroutine left by a BaseException, a foreign cancel too, is the call's error: no result hides it."""

    async def give_up() -> None:
        raise asyncio.CancelledError

    ended = call(give_up)
    assert ended.results == []
    [error] = ended.errors
    assert isinstance(error.__cause__, asyncio.CancelledError)
