"""The contexts of a run: what hooks and agents see, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent import BasePlugin, LlmAgent, RunConfig, Runner
from rxagent.errors import LlmCallsLimitExceededError, SessionNotFoundError
from rxagent.invocation import CallbackContext, InvocationContext
from rxagent.invocation.invocation import Invocation
from rxagent.sessions import InMemorySessionService
from rxagent.streams import CancelScope, Ledger
from rxagent.testing import ScriptedModel, call


def look() -> None:
    """Look."""


def test_a_callback_knows_its_run() -> None:
    """Agent, user, session, config and the message are at hand, and the run is not being stopped."""
    seen: list[tuple[Any, ...]] = []

    def note(ctx: CallbackContext) -> None:
        assert ctx.user_content is not None
        seen.append((ctx.agent_name, ctx.user_id, ctx.session.id, ctx.user_content.text, ctx.run_config.max_llm_calls))
        assert ctx.invocation_id.startswith("e-")
        assert not ctx.is_aborted

    agent = LlmAgent(name="a", model=ScriptedModel("hi"), before_agent_callback=note)
    with Runner(agent) as runner:
        list(runner.run("me", "s", "go", RunConfig(max_llm_calls=7)))
    assert seen == [("a", "me", "s", "go", 7)]


def test_what_run_hooks_write_goes_out_with_the_next_event() -> None:
    """State that a hook of the run writes is stored by the event that comes next."""

    class Marking(BasePlugin):
        def before_run_callback(self, ctx: InvocationContext) -> None:
            ctx.state["mark"] = 1

    with Runner(LlmAgent(name="a", model=ScriptedModel("hi")), plugins=[Marking("marking")]) as runner:
        [event] = runner.run("me", "s", "go")
        assert event.actions.state_delta == {"mark": 1}
        session: Any = runner.session_service.get_session(runner.app_name, "me", "s")
    assert session.state["mark"] == 1


def test_the_session_before_it_was_loaded() -> None:
    """An invocation without a session yet says from when on there is one."""
    scope = CancelScope()
    invocation = Invocation(
        "e-1",
        app_name="app",
        user_id="me",
        session_id="s",
        session_service=InMemorySessionService(),
        plugins=None,
        run_config=RunConfig(),
        scope=scope,
        ledger=Ledger(lambda: None, lambda job: job()),
    )
    with pytest.raises(SessionNotFoundError, match="'s' is not loaded yet; wait for before_run_callback"):
        _ = invocation.session


@pytest.mark.parametrize(("most", "calls"), [(2, 2), (0, 5), (-1, 5)])
def test_the_limit_of_model_calls(most: int, calls: int) -> None:
    """One call beyond the limit fails the run and names the limit; 0 or less is no limit."""
    model = ScriptedModel(*[[call("look")]] * 4, "done")
    with Runner(LlmAgent(name="a", model=model, tools=[look])) as runner:
        stream = runner.run("me", "s", "go", RunConfig(max_llm_calls=most))
        if most > 0:
            with pytest.raises(LlmCallsLimitExceededError, match=f"limit of {most} exceeded"):
                list(stream)
        else:
            assert list(stream)[-1].text == "done"
    assert len(model.calls) == calls
