"""Runs every notebook of a folder from its first cell to its last; `python scripts/notebooks.py notebooks`."""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

# A cell of the economy loads and exports a store.
CELL_SECS = 600


def run(path: Path) -> None:
    """Run one notebook; a cell that fails raises, and a result that was left in the file ends the run."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if any(cell.outputs or cell.execution_count for cell in code):
        sys.exit(f"{path} holds results: strip them before it is committed")
    started = time.monotonic()
    NotebookClient(notebook, timeout=CELL_SECS, kernel_name="python3").execute()
    if any(cell.execution_count is None for cell in code):
        sys.exit(f"{path} has a cell that did not run")
    print(f"{path}: {len(code)} cells in {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    """Run them all, in order of name."""
    paths = sorted(Path(sys.argv[1]).glob("*.ipynb"))
    if not paths:
        sys.exit(f"{sys.argv[1]} has no notebooks")
    for path in paths:
        run(path)


main()
