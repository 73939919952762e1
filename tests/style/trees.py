"""The project's files, as the style tests look at them."""

from __future__ import annotations

import ast
import importlib
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

__all__ = ["ROOT", "SOURCES", "TESTS", "imported", "module_name", "shown", "tracked", "tree"]

ROOT = Path(__file__).parents[2]


def tracked() -> list[Path]:
    """The files that belong to the project."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [path for name in sorted(listed.stdout.split("\0")) if name and (path := ROOT / name).is_file()]
    folders = [ROOT / name for name in ("rxagent", "tests", "notebooks")]
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def _python(folder: str) -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and path.is_relative_to(ROOT / folder)]


SOURCES = _python("rxagent")
TESTS = _python("tests")


def shown(path: Path) -> str:
    """A file's name as seen from the top."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """rxagent/events/event.py -> rxagent.events.event"""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> ModuleType:
    """The module of a file."""
    return importlib.import_module(module_name(path))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))
