"""What several commands have in common."""

from __future__ import annotations

import argparse

from rxagent.cli.options import SESSION_ID, USER_ID, add_command, add_model_options, add_session_options


def test_a_command_and_its_options() -> None:
    """A command is called by its name, and its options have the shell's defaults."""
    parser = argparse.ArgumentParser()
    called = []
    command = add_command(
        parser.add_subparsers(),
        "greet",
        lambda arguments: called.append(arguments) or 0,  # type: ignore[func-returns-value]
        summary="greet",
        description="Greet.",
    )
    add_session_options(command, without_db="forgotten")
    add_model_options(command)
    arguments = parser.parse_args(["greet"])
    assert arguments.command(arguments) == 0
    assert called == [arguments]
    assert (arguments.session, arguments.user, arguments.db) == (SESSION_ID, USER_ID, None)
    assert (arguments.model, arguments.base_url) == (None, None)
    assert "forgotten" in command.format_help()
