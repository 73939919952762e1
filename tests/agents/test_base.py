"""BaseAgent: its name, and its place in a tree."""

from __future__ import annotations

import re

import pytest

from rxagent.agents import LlmAgent, SequentialAgent
from rxagent.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "cannot be null or empty"),
        ("user", "reserved for end-user input"),
        ("a/b", "does not match regex"),
        ("a..b", "does not match regex"),
        ("a\n", "does not match regex"),
    ],
)
def test_a_name_that_is_none(name: str, words: str) -> None:
    """An agent without a name, named as the user is, or in other signs is refused where it is made."""
    with pytest.raises(ConfigError, match=re.escape(words)):
        LlmAgent(name=name)


@pytest.mark.parametrize("name", ["a", "_a1", "My agent", "a.b-c_d"])
def test_a_name(name: str) -> None:
    """Words of letters and digits, joined by a point, a blank, a line or a hyphen, are a name."""
    assert LlmAgent(name=name).name == name


def test_siblings_have_names_of_their_own() -> None:
    """Two sub-agents of one name are refused, and the error names it."""
    with pytest.raises(ConfigError, match="'pipe' has sub-agents with duplicate names: a, c"):
        SequentialAgent(name="pipe", sub_agents=[LlmAgent(name=name) for name in "cabac"])


def test_one_parent() -> None:
    """An agent that stands in a tree already is refused by another parent, and the error says whose it is."""
    kid = LlmAgent(name="kid")
    tree = SequentialAgent(name="one", sub_agents=[kid])
    with pytest.raises(ConfigError, match="'kid' is a sub-agent of 'one' already"):
        SequentialAgent(name="two", sub_agents=[kid])
    assert (kid.parent_agent, kid.root_agent) == (tree, tree)


def test_finding_by_name() -> None:
    """`find_agent` looks below an agent, and at itself, depth first; `root_agent` is the top of the tree."""
    deep = LlmAgent(name="same")
    tree = SequentialAgent(
        name="top", sub_agents=[SequentialAgent(name="left", sub_agents=[deep]), LlmAgent(name="same2")]
    )
    assert [tree.find_agent(name) for name in ("top", "same", "other")] == [tree, deep, None]
    assert deep.find_agent("top") is None
    assert deep.root_agent is tree
