"""Arguments of calls: half ones, which must not run, what is no object, and very long ones."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from rxagent.errors import ModelProtocolError, ModelStreamTruncatedError
from rxagent.models.wire_calls import CallAssembly

from .wire_words import DONE, called, calls, chunk, fragment, run

WHOLE = '{"x":1}'

HALVES = [
    pytest.param([calls(fragment(0, "a", "f", '{"text":"abc'))], id="in a text"),
    pytest.param([calls(fragment(0, "a", "f", '{"text":'))], id="before a value"),
    pytest.param([calls(fragment(0, "a", "f", '{"a":1,"b":12'))], id="in a number"),
    pytest.param([calls(fragment(0, "a", "f", "{"))], id="at the beginning"),
    pytest.param([calls(fragment(0, "a", "f", WHOLE)), calls(fragment(1, "b", "g", '{"x"'))], id="the second"),
    pytest.param([calls(fragment(0, "a", "f", '{"x"')), calls(fragment(1, "b", "g", WHOLE))], id="the first"),
    pytest.param([calls(fragment(0, "a", "f", '{"x"')), calls(fragment(0, "b", "g", WHOLE))], id="one index"),
    pytest.param([calls(fragment(None, "a", "f", '{"x":{"y":1}'))], id="one bracket open"),
]


@pytest.mark.parametrize("finish", ["tool_calls", "length", "stop", "content_filter", None])
@pytest.mark.parametrize("payloads", HALVES)
def test_half_a_call_never_runs(payloads: list[Any], finish: str | None) -> None:
    """A call that stops in its arguments is an error with the text so far, whatever the finish says."""
    with pytest.raises(ModelStreamTruncatedError) as caught:
        run(chunk({"content": "I will"}), *payloads, chunk({}, finish), DONE)
    assert caught.value.text == "I will"


@pytest.mark.parametrize("args", [None, "", " "])
@pytest.mark.parametrize("finish", ["length", "content_filter", "max_tokens"])
def test_a_call_that_was_cut_before_its_arguments(finish: str, args: str | None) -> None:
    """At the token limit a last call without arguments is half a call: it does not run with none."""
    with pytest.raises(ModelStreamTruncatedError, match="before the arguments"):
        run(calls(fragment(0, "a", "f", args)), chunk({}, finish))
    whole = called(calls(fragment(0, "a", "f", args), fragment(1, "b", "g", "{}")), chunk({}, finish))
    assert [args for *_, args in whole] == [{}, {}], "an earlier one is whole, as is one that says {}"


@pytest.mark.parametrize(
    "args",
    ["[1]", "1", '"word"', "true", '{"x":1}}', '{"x":1}{"y":2}', "{'x': 1}", "x=1", ["rm"], 3, True, False, 0, 0.5],
)
def test_arguments_that_are_no_object(args: Any) -> None:
    """Arguments that are whole and no JSON object are a protocol error: nothing is guessed."""
    with pytest.raises(ModelProtocolError, match=r"no JSON object|not an object"):
        run(calls(fragment(0, "a", "f", args), finish="tool_calls"))


@pytest.mark.parametrize("extra", [{"id": "c"}, {}, {"id": "c", "name": "f"}], ids=["id", "index alone", "id and name"])
def test_long_arguments_take_linear_time(extra: dict[str, Any]) -> None:
    """Arguments of 1 MiB in fragments of 64 bytes are put together in well under a second, with fresh ids too."""
    text = json.dumps({"t": "}" * 2**20})
    pieces = [text[at : at + 64] for at in range(0, len(text), 64)]
    assembly = CallAssembly()
    if "name" not in extra:
        assembly.add([fragment(0, "c", "f")])
    began = time.process_time()
    for number, piece in enumerate(pieces):
        id = f"{extra['id']}{number}" if "id" in extra else None
        assembly.add([fragment(0 if not extra else None, id, extra.get("name"), piece)])
    [part] = assembly.parts(2**20)
    assert time.process_time() - began < 2
    assert part.function_call is not None
    assert part.function_call.args == {"t": "}" * 2**20}
