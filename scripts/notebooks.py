"""Run notebooks, and check or refresh their outputs.

`python scripts/notebooks.py check NOTEBOOK...` runs each one and compares what it gives with the outputs in the file.
`refresh` writes the outputs into the file. `run` is for notebooks whose data may not be published: they have no outputs.
"""

import difflib
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

# A cell of the economy loads and exports a store.
CELL_SECS = 600
# The largest file that people still read on a code host.
MAX_BYTES = 2_000_000


def static(output: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    """Return an output as it is kept: no progress, and of a picture the image, since code hosts run no scripts."""
    if output.output_type == "stream" and output.name == "stderr":
        return None
    if output.output_type == "execute_result":
        output.execution_count = None
    if "data" in output:
        if any(kind.startswith("image/") for kind in output.data):
            output.data = {kind: value for kind, value in output.data.items() if kind.startswith(("image/", "text/plain"))}
        output.metadata = nbformat.NotebookNode()
    return output


def run(path: Path) -> tuple[nbformat.NotebookNode, float]:
    """Run a notebook, and return it with static outputs and the seconds that it took; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    started = time.monotonic()
    client = NotebookClient(notebook, timeout=CELL_SECS, kernel_name="python3", record_timing=False, store_widget_state=False)
    client.execute()
    for cell in code(notebook):
        cell.outputs = [kept for output in cell.outputs if (kept := static(output)) is not None]
        cell.execution_count = None
        cell.metadata = nbformat.NotebookNode()
    return notebook, time.monotonic() - started


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells with code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def lines(cell: nbformat.NotebookNode) -> list[str]:
    """Return the outputs of a cell as lines that are equal on every machine.

    Images count as present, since their bytes depend on fonts. Fractions have three digits, since the last ones depend
    on the processor.
    """
    found: list[str] = []
    for output in cell.outputs:
        data = {"text/plain": output.text} if output.output_type == "stream" else dict(output.get("data", {}))
        if "text/html" in data:
            # The same table, whose columns are as wide as the digits.
            data.pop("text/plain")
        for kind, value in sorted(data.items()):
            found += [f"<{kind}>", *([] if kind.startswith("image/") else value.splitlines())]
    return [re.sub(r"\d[\d,]*\.\d+", lambda number: f"{float(number[0].replace(',', '')):.3g}", line) for line in found]


def check(path: Path, fresh: nbformat.NotebookNode) -> None:
    """Compare the outputs in a file with those of a run."""
    for number, (held, found) in enumerate(zip(code(nbformat.read(path, as_version=4)), code(fresh), strict=True), 1):
        if lines(held) != lines(found):
            difference = difflib.unified_diff(lines(held), lines(found), "in the file", "now", n=1, lineterm="")
            shown = "\n".join(line[:200] for line in list(difference)[:20])
            sys.exit(f"{path}, code cell {number}: the outputs are older than the code; `make notebooks` refreshes them\n{shown}")


def main() -> None:
    """Run the command for each notebook."""
    command, *names = sys.argv[1:]
    for path in map(Path, names):
        fresh, secs = run(path)
        if command == "refresh":
            text = nbformat.writes(fresh) + "\n"
            if len(text) > MAX_BYTES:
                sys.exit(f"{path}: {len(text):,} bytes with its outputs, more than {MAX_BYTES:,}: show less")
            path.write_text(text, encoding="utf-8")
        elif command == "check":
            check(path, fresh)
        elif any(cell.outputs for cell in code(nbformat.read(path, as_version=4))):
            sys.exit(f"{path} has outputs of data that may not be published: remove them")
        print(f"{path}: {len(code(fresh))} cells in {secs:.0f} s", flush=True)


main()
