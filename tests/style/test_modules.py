"""How a module looks: its size, its face, its words, and where it is tested."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reactivex import Observable

from .trees import ROOT, SOURCES, TESTS, imported, module_name, shown, tree

MIRRORS = Path(__file__).with_name("mirrors.txt")
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]
MODULES = [path for path in SOURCES if path.name not in ("__init__.py", "__main__.py")]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=shown)


@each(SOURCES + TESTS)
def test_files_are_short(path: Path) -> None:
    """No file has more than 400 lines."""
    assert len(path.read_text().splitlines()) <= 400


@each(SOURCES)
def test_functions_are_short(path: Path) -> None:
    """No function has more than 60 lines."""
    long = [
        f"{node.name} (line {node.lineno})"
        for node in ast.walk(tree(path))
        if isinstance(node, FUNCTIONS) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert long == []


def test_every_folder_is_a_package() -> None:
    """A folder with modules has an __init__.py, else an installed rxagent lacks it."""
    folders = {path.parent for path in SOURCES}
    assert sorted(shown(folder) for folder in folders if not (folder / "__init__.py").exists()) == []


@each(MODULES)
def test_all_comes_first(path: Path) -> None:
    """A module says what it is, then what it offers: docstring, imports, `__all__`."""
    module = tree(path)
    assert ast.get_docstring(module), "no docstring"
    for node in module.body[1:]:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_type_checking(node):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        assert names == ["__all__"], f"line {node.lineno} stands before __all__"
        return
    pytest.fail("no __all__")


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def undocumented(path: Path) -> Iterator[str]:
    module = imported(path)
    for name in module.__all__:
        thing = getattr(module, name)
        own = getattr(thing, "__module__", None) == module.__name__ and getattr(thing, "__name__", None) == name
        if not own:
            continue
        if not thing.__doc__:
            yield name
        if inspect.isclass(thing) and not getattr(thing, "_is_protocol", False):
            yield from (f"{name}.{member}" for member in _silent_members(thing))


def _silent_members(owner: type[Any]) -> Iterator[str]:
    for name, member in vars(owner).items():
        if name.startswith("_") or name == "model_config":
            continue
        described = isinstance(member, staticmethod | classmethod | property) or inspect.isfunction(member)
        if described and not inspect.getdoc(getattr(owner, name)):  # an inherited docstring will do
            yield name


@each(MODULES)
def test_public_names_have_docstrings(path: Path) -> None:
    """What `__all__` names has a docstring, and so have the public members of its classes."""
    assert list(undocumented(path)) == []


def observables() -> list[type[Any]]:
    found: list[type[Any]] = []
    for path in MODULES:
        if path.parent == ROOT / "rxagent" / "streams":
            module = imported(path)
            found += [
                thing
                for thing in vars(module).values()
                if inspect.isclass(thing) and issubclass(thing, Observable) and thing.__module__ == module.__name__
            ]
    return found


@pytest.mark.parametrize("operator", observables(), ids=lambda operator: operator.__name__)
def test_stream_operators(operator: type[Any]) -> None:
    """An operator is final, and says how it is disposed, what errors it has, and on which threads it works."""
    assert getattr(operator, "__final__", False), "not final"
    lines = inspect.getdoc(operator) or ""
    assert [word for word in ("Disposal:", "Errors:", "Threads:") if f"\n{word} " not in lines] == []


def listed_mirrors() -> dict[str, str]:
    lines = (line.split(maxsplit=1) for line in MIRRORS.read_text().splitlines() if line and not line.startswith("#"))
    return dict(lines)


def own_mirrors(path: Path) -> list[Path]:
    """tests/x/test_y.py for rxagent/x/y.py; for y_z.py tests/x/test_y_z.py or, one for the family, test_y.py."""
    parts = path.relative_to(ROOT / "rxagent").with_suffix("").parts
    words = parts[-1].strip("_").split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    return [mirror for name in names if (mirror := ROOT.joinpath("tests", *parts[:-1], f"test_{name}.py")).exists()]


def test_every_module_has_its_tests() -> None:
    """rxagent/x/y.py is tested in tests/x/test_y.py, or mirrors.txt says where, or why not."""
    listed = listed_mirrors()
    assert [shown(path) for path in MODULES if not own_mirrors(path) and shown(path) not in listed] == []


def test_mirrors_are_true() -> None:
    """mirrors.txt names modules that exist, have no mirror of their own, and test files that exist."""
    for module, rest in listed_mirrors().items():
        path = ROOT / module
        assert path.exists(), module
        assert not own_mirrors(path), f"{module} has its mirror; take it off the list"
        for word in rest.split():
            assert not word.startswith("tests/") or (ROOT / word).exists(), f"{module}: no file {word}"


@each([path for path in TESTS if path.name.startswith("test_")])
def test_tests_state_a_promise(path: Path) -> None:
    """Each test says in a docstring what it promises."""
    silent = [
        f"{node.name} (line {node.lineno})"
        for node in ast.walk(tree(path))
        if isinstance(node, FUNCTIONS) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_module_names() -> None:
    """The helper of these tests names modules as Python does."""
    assert module_name(ROOT / "rxagent" / "events" / "event.py") == "rxagent.events.event"
    assert [imported(path).__name__ for path in PACKAGES[:1]] == ["rxagent"]
