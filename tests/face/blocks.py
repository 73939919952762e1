"""Code blocks of a Markdown file, and how to run the Python ones."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Block", "blocks", "run"]

_FENCE = re.compile(r"^```(\w*)\s*$")
_HEADING = re.compile(r"^##+ (.+)$")


class Block(NamedTuple):
    """A fenced block: the heading it stands under, its language, its text, and where it begins."""

    section: str
    language: str
    source: str
    file: str
    line: int

    def replaced(self, old: str, new: str) -> Block:
        """The block with some words changed. Raises ValueError when they do not occur."""
        if old not in self.source:
            raise ValueError(f"{old!r} is not in the block at {self.file}:{self.line}")
        return self._replace(source=self.source.replace(old, new))


def blocks(path: Path) -> list[Block]:
    """All fenced blocks, in order."""
    found: list[Block] = []
    section, language, begun, lines = "", None, 0, list[str]()
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence, heading = _FENCE.match(line), _HEADING.match(line)
        if language is None and fence:
            language, begun, lines = fence.group(1), number + 1, []
        elif language is None and heading:
            section = heading.group(1)
        elif language is not None and fence:
            found.append(Block(section, language, "\n".join(lines) + "\n", str(path), begun))
            language = None
        elif language is not None:
            lines.append(line)
    if language is not None:
        raise ValueError(f"{path}:{begun}: a block that does not end")
    return found


def run(block: Block, namespace: dict[str, Any]) -> None:
    """Run a Python block in a namespace, as a notebook cell would: `await` may stand at the top level."""
    source = "\n" * (block.line - 1) + block.source  # so that a traceback names the line of the document
    code = compile(source, block.file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = eval(code, namespace)
    if inspect.iscoroutine(result):
        asyncio.run(result)
