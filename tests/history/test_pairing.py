"""Which response answers which call."""

from __future__ import annotations

import itertools

from rxagent.history.contents import build_contents

from .logs import call, calls, responds, response, said, sent, user


def test_an_id_used_in_two_turns() -> None:
    """f24: each call has its own result, although a server numbers both alike."""
    log = [
        user("q1"),
        calls("root", call("X", n=1)),
        responds("root", response("X", n=1)),
        said("root", "one"),
        user("q2"),
        calls("root", call("X", n=2)),
        responds("root", response("X", n=2)),
    ]
    assert build_contents(log, agent_name="root") == [event.content for event in log]


def test_an_id_used_twice_in_one_event() -> None:
    """b14: two calls with one id get their responses in order, by name and then by place."""
    for names in (["a", "b"], ["a", "a"]):
        log = [
            calls("root", *[call("same", name) for name in names]),
            responds("root", *[response("same", name, n=n) for n, name in enumerate(names)]),
            said("root", "done"),
            user("next"),
        ]
        assert build_contents(log, agent_name="root") == [event.content for event in log]


def test_an_id_used_in_two_branches() -> None:
    """Responses go to the call of their own branch, however the branches' events are mixed."""
    names = ["a", "b"]
    for order in itertools.permutations(names):
        log = [
            *[calls(name, call("call_0", n=name), branch=f"fan.{name}") for name in names],
            *[responds(name, response("call_0", r=name), branch=f"fan.{name}") for name in order],
        ]
        for name in names:
            assert sent(*log, agent=name, branch=f"fan.{name}") == [
                f"model: t#call_0(n={name})",
                f"user: t#call_0->r={name}",
            ]


def test_calls_without_ids_are_paired_by_name() -> None:
    """Logs without ids work: the response answers the call of its name."""
    assert sent(
        calls("root", call(None, "a"), call(None, "b")),
        responds("root", response(None, "b", r=2), response(None, "a", r=1)),
        said("root", "done"),
    ) == ["model: a#None() | b#None()", "user: b#None->r=2 | a#None->r=1", "model: done"]
