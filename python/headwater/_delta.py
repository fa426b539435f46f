"""Delta tables over the Parquet files of an export."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwater.errors import StorageError, Unsupported


def check() -> None:
    """Refuse where the package is missing, before anything is written."""
    if importlib.util.find_spec("deltalake") is None:
        message = "format='delta' needs the package deltalake: pip install deltalake"
        raise Unsupported(message)


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
    from deltalake import Field, Schema, convert_to_deltalake
    from deltalake.exceptions import DeltaError
    from deltalake.schema import PrimitiveType

    keys = manifest["partitions"]
    text = PrimitiveType("string")
    partitioned: dict[str, Any] = {}
    if keys:
        fields = [Field(key, text, nullable=False) for key in keys]
        partitioned = {"partition_by": Schema(fields), "partition_strategy": "hive"}
    # The name and the generation, as the manifest states them.
    configuration = {f"headwater.{key}": str(manifest[key]) for key in ("format", "table", "generation")}
    try:
        convert_to_deltalake(folder, name=manifest["table"], configuration=configuration, **partitioned)
    except (DeltaError, OSError, ValueError) as error:
        message = f"{folder}: the log of the Delta table cannot be written: {error}"
        raise StorageError(message) from error
