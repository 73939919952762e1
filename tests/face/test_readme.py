"""The README shows the face: each of its blocks is one that runs here, in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from .blocks import Block, blocks
from .preludes import DUE, FACE, NOT_YET, face_block

ROOT = Path(__file__).parents[2]
README = blocks(ROOT / "README.md")
PYTHON = [block for block in README if block.language == "python"]


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.section)
def test_snippets_are_the_faces(block: Block) -> None:
    """Each Python snippet is, word for word, a block of the face that test_face.py runs."""
    assert block.source in {face_block(section).source for section in DUE}


def test_the_sections_that_users_look_for() -> None:
    """Every section of the face that runs stands in the README."""
    assert {block.source for block in PYTHON} == {face_block(section).source for section in DUE}


def test_shell_lines_are_the_faces() -> None:
    """The commands of the shell are those of the face, as far as they exist."""
    [shell] = [block.source.splitlines() for block in README if block.section == "The shell"]
    [face] = [block.source for block in FACE if block.section.startswith("12.")]
    for word in NOT_YET:
        face = face.replace(f" {word}", "")
    assert shell
    assert set(shell) <= set(face.splitlines())


def test_commands_exist() -> None:
    """Each `make` target that the README names is one."""
    targets = {line.split()[1] for block in README for line in block.source.splitlines() if line.startswith("make ")}
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= targets
    assert [target for target in sorted(targets) if f"\n{target}:" not in makefile] == []
