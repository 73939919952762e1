"""The table of names in the notebook on porting: each Python name in it exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from typing import Any

import pytest

import rxagent

from .executing import NOTEBOOKS

[PORT] = [path for path in NOTEBOOKS if path.name == "03_port_from_adk_java.ipynb"]
SAID = {"dispose()", "parent_agent", "actions", "Annotated", "del state[key]", "rxagent"}
"""Words in the table that name something of what stands beside them, or of Python."""


def rows() -> list[tuple[str, str]]:
    """The Java side and the Python side of each line of the table."""
    text = "".join(json.loads(PORT.read_text())["cells"][-1]["source"])
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(java, python) for java, python in lines[1:]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


NAMES = sorted({name for _, python in rows() for name in quoted(python)} - SAID)


def test_the_table_is_whole() -> None:
    """It has a line for each kind of thing, and names on both sides."""
    assert len(rows()) > 60
    assert len(NAMES) > 100
    assert all(quoted(java) for java, _ in rows())


@pytest.mark.parametrize("name", NAMES)
def test_the_name_exists(name: str) -> None:
    """What stands on the Python side is there: the name, its attribute, its parameters."""
    tree = ast.parse(name.replace("…", "..."), mode="eval").body
    if isinstance(tree, ast.Constant):
        return
    target = tree.func if isinstance(tree, ast.Call) else tree
    found = resolved(ast.unparse(target))
    for keyword in tree.keywords if isinstance(tree, ast.Call) else ():
        assert keyword.arg in parameters(found), f"{name} has no {keyword.arg}"


def resolved(path: str) -> Any:
    """What a dotted name of the table means."""
    home, _, rest = path.rpartition(".")
    if home.startswith("rxagent."):
        return getattr(importlib.import_module(home), rest)
    first, *more = path.split(".")
    thing: Any = getattr(rxagent, first)
    for name in more:
        fields = getattr(thing, "model_fields", {})
        thing = fields[name] if name in fields else getattr(thing, name)
    return thing


def parameters(thing: Any) -> set[str]:
    return set(getattr(thing, "model_fields", {})) or set(inspect.signature(thing).parameters)
