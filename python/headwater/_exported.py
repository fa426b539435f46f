"""Features and classes from the rows of an export, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from headwater import _headwater, _objects, _tables
from headwater._request import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    Paths = str | PathLike[str] | Iterable[str | PathLike[str]] | None


def features_of_export(
    table: Any,  # noqa: ANN401
    blockchain: str,
    columns: Texts = ("features",),
    classifiers: Paths = None,
) -> pl.DataFrame:
    """Compute features and classes from rows of an export, as :meth:`Ledger.score` does from the store.

    Workers of a cluster call it with the rows of one bucket each. No store is needed.

    Parameters
    ----------
    table : table
        Rows of the table ``transfers`` of one account chain, from an export of format 2: any object with
        ``__arrow_c_stream__``, with all rows of each address in its column ``address``, as whole buckets are. More
        columns, such as ``chain`` and ``bucket``, may be among them.
    blockchain : str
        The chain of the rows.
    columns : str or sequence of str, optional
        ``"features"``, ``"class"``, or both.
    classifiers : path-like or sequence of path-like, optional
        Model files, as in :func:`headwater.open`.

    Returns
    -------
    polars.DataFrame
        One row per address, in the order of the rows, with the columns of :meth:`Ledger.score`.

    Raises
    ------
    InvalidInput
        When the risk or a chain such as bitcoin is asked for, a column is missing (an export of format 1), a value is
        not valid, or rows of an address are missing where other rows show that.

    Notes
    -----
    Every column equals that of the store of the same version of Headwater: features read movements alone. The risk
    reads labels, prices and counterparties, which the rows do not contain.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> import polars as pl
    >>> from headwater import examples
    >>> folder = tempfile.mkdtemp()
    >>> written = examples.ledger().export(folder)
    >>> rows = pl.read_parquet(f"{folder}/transfers/**/*.parquet")
    >>> exported = hw.features_of_export(rows, "ethereum")
    >>> exported.equals(examples.ledger().features(exported["address"]))
    True
    """
    named = columns if isinstance(columns, str) else ",".join(_objects.whole_texts(columns or [], "columns"))
    models = _objects.paths(classifiers, "classifiers")
    chain = _objects.whole_texts([blockchain], "blockchain")[0]
    rows = _tables.HandedTable(table, "table")
    return pl.DataFrame(_headwater.exported_scores(rows, chain, named, models))
