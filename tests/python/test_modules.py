"""The modules of the package import each other in one direction."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import headwater
import pytest


def imported(module: Path, known: set[str]) -> set[str]:
    """The modules of the package that a module imports, those for type checkers among them."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            inner = {alias.name: f"{source}.{alias.name}" for alias in node.names}
            # `from headwater import _rows` imports the module of that name, not the package.
            names |= {whole if whole in known else source for whole in inner.values()}
    return names & known


def circle_of(folder: Path) -> list[str]:
    """Modules of a package that import each other in a circle, if there are any."""
    paths = {path.stem: path for path in sorted(folder.glob("*.py*")) if path.suffix in (".py", ".pyi")}
    paths |= {path.parent.name: path for path in sorted(folder.glob("*/__init__.py"))}
    modules = {folder.name if stem == "__init__" else f"{folder.name}.{stem}": path for stem, path in paths.items()}
    try:
        TopologicalSorter({name: imported(path, set(modules)) for name, path in modules.items()}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_modules_import_each_other_in_one_direction() -> None:
    assert circle_of(Path(headwater.__file__).parent) == []


@pytest.mark.parametrize("line", ["from pack import b", "import pack.b", "from pack.b import x"])
def test_a_circle_of_modules_is_found(tmp_path: Path, line: str) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "__init__.py").write_text("from pack import a\n")
    (folder / "a.py").write_text(f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {line}\n")
    (folder / "b.py").write_text("def f():\n    from pack.a import y\n")
    assert set(circle_of(folder)) == {"pack.a", "pack.b"}
