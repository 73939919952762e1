"""Executing notebooks: each in a kernel of its own, with nothing of the machine's own configuration.

python -m tests.notebooks.executing           execute all, and keep the new outputs in the files
python -m tests.notebooks.executing FILE      execute one, and print it; the file stays as it is
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

__all__ = ["NOTEBOOKS", "executed"]

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> str:
    """The notebook with the outputs of now, as JSON. Raises what a cell raises."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False, coalesce_streams=True
    )  # seconds for one cell
    client.execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return str(nbformat.writes(notebook)) + "\n"  # type: ignore[no-untyped-call]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rxagent-notebook-") as nothing:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[name] = nothing
        if sys.argv[1:]:
            sys.stdout.write(executed(Path(sys.argv[1])))
        else:
            for path in NOTEBOOKS:
                path.write_text(executed(path))


if __name__ == "__main__":
    main()
