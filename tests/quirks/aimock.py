"""A chat-completions server by others: `@copilotkit/aimock` (npm), in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["missing", "served"]

_PROGRAM = "node_modules/@copilotkit/aimock/dist/cli.js"


def _program() -> Path:
    """Where `make test` installs it: beside the Python that runs the tests, or in the folder of RXAGENT_NODE."""
    return Path(os.environ.get("RXAGENT_NODE") or Path(sys.prefix, "node"), _PROGRAM)


def missing() -> str:
    """Why it cannot run here; empty when it can."""
    if shutil.which("node") is None:
        return "needs node (20 or newer), which is not on PATH"
    if not _program().is_file():
        return (
            f"needs npm's @copilotkit/aimock, which `make test` installs where there is npm (looked for {_program()})"
        )
    return ""


@contextmanager
def served(folder: Path, fixtures: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Its base URL while it runs with these fixtures, which are written into the folder."""
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": fixtures}))
    command = ["node", str(_program()), "--port", "0", "--fixtures", str(folder)]
    environment = {key: value for key, value in os.environ.items() if key.lower() not in ("http_proxy", "https_proxy")}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            yield f"{_address(process)}/v1"
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"listening on (http://\S+)", line):
            return found[1]
    raise RuntimeError(f"aimock did not start: {said}")
