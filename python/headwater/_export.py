"""Exports of a ledger for other engines: partitioned Parquet, as it is or as Delta tables."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from headwater import _delta, _headwater, _objects
from headwater._progress import Bar
from headwater._request import Texts
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from headwater._answers import Answers

_ALL = "all"


class Exports:
    """Exports for other engines; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers

    def export(
        self,
        out: str | PathLike[str],
        tables: str | Sequence[str] = "transfers",
        blockchain: Texts = None,
        *,
        format: str = "parquet",  # noqa: A002
        progress: bool = False,
        chains: Texts = None,
    ) -> dict[str, Any]:
        """Write tables as Parquet for other engines, as ``headwater export`` does.

        ``transfers`` has every movement under both its ends. Its files are
        ``out/transfers/chain=C/bucket=BB/part-0.parquet``, sorted by address and then oldest first; ``BB`` is the first
        byte of the SHA-256 of the address as text, in hex. The other tables are those of :meth:`scan`, in
        ``out/TABLE/chain=C/part-N.parquet``; prices have no chain. ``docs/export.md`` describes every column.

        Parameters
        ----------
        out : path-like
            A folder, in which the folder of each table is new or empty.
        tables : str or sequence of str, optional
            ``"transfers"``, ``"transactions"``, ``"logs"``, ``"tokens"``, ``"labels"`` or ``"prices"``, or several of
            them; ``"all"`` for all.
        blockchain : str or sequence of str, optional
            Only these chains.
        format : {"parquet", "delta"}, optional
            ``"delta"`` adds the log of a Delta table to the same files, with ``chain`` and ``bucket`` as partition
            columns. It needs the package ``deltalake``.
        progress : bool, optional
            Show on standard error how many rows are written.
        chains : str or sequence of str, optional
            Another name of ``blockchain``.

        Returns
        -------
        dict
            The manifest of the table: format, generation, head, files, rows and bytes by chain, and the digest of each
            file. Of several tables the manifests by name. An export that fails or is interrupted leaves nothing behind.

        Raises
        ------
        InvalidInput
            When a folder is in use, or a table or a chain is unknown or not held.
        StorageError
            When a file cannot be written.
        Unsupported
            When ``deltalake`` is not installed, and over a server.

        Examples
        --------
        >>> import tempfile
        >>> import polars as pl
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> written = examples.ledger().export(folder)
        >>> written["chains"]["ethereum"]["rows"], written["chains"]["ethereum"]["movements"]
        (8, 4)
        >>> rows = pl.read_parquet(f"{folder}/transfers/**/*.parquet")
        >>> rows.filter("is_primary").sort("block").select("block", "direction", "amount").rows()[0]
        (1, 'out', '3000000000000000000')
        >>> examples.ledger().export(folder, ["transactions", "prices"])["transactions"]["rows"]
        4
        """
        if format not in ("parquet", "delta"):
            message = f"format: {_objects.shown(format)} is unknown; use 'parquet' or 'delta'"
            raise InvalidInput(message, reason="invalid_value", field="format")
        if chains is not None and blockchain is not None:
            message = "chains: it is another name of blockchain; give one of them"
            raise InvalidInput(message, reason="invalid_value", field="chains")
        named = _listed(blockchain, "blockchain") if chains is None else _listed(chains, "chains")
        wanted = _tables_of(tables)
        path = _objects.path(out, "out")
        if format == "delta":
            _delta.check()
        with Bar("export", "rows", shown=progress) as bar:

            def follow(table: str, done: int, total: int) -> None:
                bar.turn_to(f"export {table}", "rows")
                if total:
                    bar.follow(done, total, 0)
                else:
                    bar.reach(done)

            manifests = self._answers.export(path, wanted, named, follow if progress else None)
        if format == "delta":
            _delta.add_logs(path, manifests)
        if isinstance(tables, str) and tables != _ALL:
            return manifests[0]
        return {manifest["table"]: manifest for manifest in manifests}


def _listed(names: Texts, field: str) -> list[str]:
    listed = [names] if isinstance(names, str) else [] if names is None else names
    return _objects.whole_texts(listed, field)


def _tables_of(tables: str | Sequence[str]) -> list[str]:
    """Give the names of tables, each once."""
    known = [name for name, *_ in _headwater.export_tables()]
    wanted = list(dict.fromkeys(_listed(tables, "tables")))
    if wanted == [_ALL]:
        return known
    for name in wanted:
        if name not in known:
            message = f"tables: unknown table {_objects.shown(name)}; use {', '.join(known)} or {_ALL}"
            raise InvalidInput(message, reason="invalid_value", field="tables", candidates=known)
    if not wanted:
        message = f"tables: the list is empty; name one or more of {', '.join(known)}"
        raise InvalidInput(message, reason="invalid_value", field="tables")
    return wanted
