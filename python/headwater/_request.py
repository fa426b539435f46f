"""What the methods of a ledger make requests of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

Addresses = str | Sequence[str]
Texts = Sequence[str] | None
Contracts = Sequence[str | None] | None


def given(values: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """Leave out what was not given, and spread ``fields``."""
    request = {
        name: list(value) if isinstance(value, (tuple, pl.Series)) else value
        for name, value in values.items()
        if value is not None and name not in {"self", "fields", *but}
    }
    return {**request, **values.get("fields", {})}
