"""MODULE:AGENT becomes an agent; test_run.py holds what is said when it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rxagent.cli.load import load_agent
from rxagent.errors import UsageError


def test_modules_of_the_current_directory_are_found(folder: Path) -> None:
    """A module of the current directory is found, also in a package."""
    (folder / "my_package").mkdir()
    (folder / "my_package" / "agents.py").write_text("from my_agents import echo as helper\n")
    assert load_agent("my_agents:echo").name == "echo"
    assert load_agent("my_package.agents:helper").name == "echo"
    for name in ("my_package", "my_package.agents"):
        del sys.modules[name]


def test_a_module_that_misses_another_is_not_called_missing(folder: Path) -> None:
    """When it is an import inside the module that fails, that one is named, with the place."""
    (folder / "wants_more.py").write_text("import not_installed_anywhere\n")
    with pytest.raises(UsageError, match=r"'wants_more' cannot be imported: .*'not_installed_anywhere' \(.*py:1\)"):
        load_agent("wants_more:agent")


def test_a_fault_in_the_module_is_told_with_its_place(folder: Path) -> None:
    """The place in the user's file is named, not one inside Python."""
    with pytest.raises(UsageError, match=r"NameError: .*undefined_name.* \(.*broken_module\.py:3\)"):
        load_agent("broken_module:agent")


@pytest.mark.parametrize("target", ["", ":", "a", "a:", ":b"])
def test_what_names_no_agent(target: str) -> None:
    """Both sides of the colon are needed."""
    with pytest.raises(UsageError, match="write MODULE:AGENT"):
        load_agent(target)
