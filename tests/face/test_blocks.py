"""The runner of blocks."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from .blocks import Block, blocks, run

TEXT = """# Title
## 1. One
```python
a = 1
```
words
```
plain
```
### Two
```python
import asyncio
await asyncio.sleep(0)
b = a + 1
```
"""


def block(source: str, line: int = 1) -> Block:
    return Block("s", "python", source, "page.md", line)


def test_blocks_are_found(tmp_path: Path) -> None:
    """Each block with its heading, language, text and first line."""
    page = tmp_path / "page.md"
    page.write_text(TEXT)
    found = blocks(page)
    assert [(one.section, one.language, one.line) for one in found] == [
        ("1. One", "python", 4),
        ("1. One", "", 8),
        ("Two", "python", 12),
    ]
    assert found[0].source == "a = 1\n"
    names: dict[str, object] = {}
    for one in found[::2]:
        run(one, names)
    assert (names["a"], names["b"]) == (1, 2)


def test_a_block_must_end(tmp_path: Path) -> None:
    """A fence that is not closed is an error, not a block that silently swallows the rest."""
    page = tmp_path / "page.md"
    page.write_text("```python\na = 1\n")
    with pytest.raises(ValueError, match="does not end"):
        blocks(page)


def test_an_error_names_the_line_of_the_page() -> None:
    """A traceback points into the document."""
    with pytest.raises(ZeroDivisionError) as caught:
        run(block("a = 1\n1 / 0\n", line=30), {})
    place = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (place.filename, place.lineno) == ("page.md", 31)


def test_replacing_needs_the_words() -> None:
    """A prelude that changes words fails when the face has changed them."""
    assert block("run.abort()").replaced("abort", "dispose").source == "run.dispose()"
    with pytest.raises(ValueError, match="is not in the block"):
        block("x").replaced("abort", "dispose")
