"""Delta tables over the Parquet files of an export."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwater import _headwater
from headwater.errors import StorageError, Unsupported

# Types whose ranges are not exact in the log of a Delta table.
_ROUNDED = ("decimal(38, 0)", "double")


def check() -> None:
    """Refuse where the package is missing, before anything is written."""
    try:
        import deltalake  # noqa: F401, PLC0415
    except ImportError as error:
        message = "format='delta' needs the package deltalake: pip install deltalake"
        raise Unsupported(message) from error


def add_logs(out: str, manifests: Sequence[dict[str, Any]]) -> None:
    """Write the logs of Delta tables over the files of an export, or remove the export."""
    try:
        for manifest in manifests:
            _add_log(Path(out) / manifest["table"], manifest)
    except BaseException:
        for manifest in manifests:
            shutil.rmtree(Path(out) / manifest["table"], ignore_errors=True)
        raise


def _add_log(folder: Path, manifest: dict[str, Any]) -> None:
    from deltalake import Field, Schema, convert_to_deltalake  # noqa: PLC0415
    from deltalake.exceptions import DeltaError  # noqa: PLC0415
    from deltalake.schema import PrimitiveType  # noqa: PLC0415

    keys = manifest["partitions"]
    text = PrimitiveType("string")
    partitioned: dict[str, Any] = {}
    if keys:
        fields = [Field(key, text, nullable=False) for key in keys]
        partitioned = {"partition_by": Schema(fields), "partition_strategy": "hive"}
    columns = next(columns for name, *_, columns in _headwater.export_tables() if name == manifest["table"])
    # Engines skip files by the ranges in the log, where decimals and doubles lose digits.
    ranged = ",".join(name for name, kind, _ in columns if kind not in _ROUNDED)
    configuration = {"delta.dataSkippingStatsColumns": ranged}
    description = f"generation {manifest['generation']} of a store, export format {manifest['format']}"
    try:
        named = {"name": manifest["table"], "description": description}
        convert_to_deltalake(folder, configuration=configuration, **named, **partitioned)
    except (DeltaError, OSError, ValueError) as error:
        message = f"{folder}: the log of the Delta table cannot be written: {error}"
        raise StorageError(message) from error
