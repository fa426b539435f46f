"""Compares the exported tables of two stores."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from nodes.session import Store, check


def export(store: Store, out: Path) -> dict[str, pl.DataFrame]:
    """Export all tables, and read them."""
    done = store.attempt("export", "--out", out, "--table", "all")
    check(done.returncode == 0, f"export: {done.stderr}")
    return {
        folder.name: pl.concat([pl.read_parquet(file) for file in sorted(folder.rglob("*.parquet"))])
        for folder in sorted(out.iterdir())
        if any(folder.rglob("*.parquet"))
    }


def check_equal(
    first: dict[str, pl.DataFrame], second: dict[str, pl.DataFrame], what: str, but_for: tuple[str, ...] = ()
) -> str:
    """Compare two exports cell by cell but for some columns, and return how large they are."""
    check(first.keys() == second.keys(), f"{what}: tables {sorted(first)} and {sorted(second)}")
    for name, frame in first.items():
        one, other = (table.drop(but_for, strict=False) for table in (frame, second[name]))
        check(one.equals(other), f"{what}: the table {name} differs:\n{one}\n{other}")
    return f"{len(first)} tables, {sum(len(frame) for frame in first.values())} rows"
