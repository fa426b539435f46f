"""What a ledger computes of very many addresses at once: the part about features and scores."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from headwater import _batches, _objects, _tables
from headwater._progress import Bar
from headwater._request import Texts
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from headwater._answers import Answers
    from headwater._chain import ChainFinder

# Warnings that change what rows mean; others say what the ledger does not hold, as any answer about it does.
_WARNED = frozenset({"labels_only", "no_data"})


class Batch:
    """Features and scores of very many addresses; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers
        _chains: ChainFinder

    def features(
        self,
        addresses: Any = None,  # noqa: ANN401
        blockchain: str | None = None,
        *,
        observed: tuple[float, int] | None = None,
        progress: bool = False,
    ) -> pl.DataFrame:
        """Give the features of many addresses: what the classifiers see of them.

        Parameters
        ----------
        addresses : table or column of str, optional
            Any object with ``__arrow_c_stream__`` and a column ``address``, or a list, an array or a series of text.
            Missing: all addresses of the chain, in order of their bytes.
        blockchain : str, optional
            The chain. Omitted: that of each address, see :class:`Ledger`; without addresses the only one that the
            ledger holds, else ``ethereum``.
        observed : (float, int), optional
            Share and seed: compute as if only this share of all addresses (above 0, at most 1) had been observed, and
            each address only through them. Another seed observes others. Movements without a counterparty, such as
            block rewards, are left out at any share. To train models that do not depend on how much of a chain was
            collected, train on several shares.
        progress : bool, optional
            Show on standard error how many addresses are done.

        Returns
        -------
        polars.DataFrame
            One row per address, in their order, duplicates included: ``address``, one column of numbers per feature
            (null where it has no meaning for the address), and ``error``, which says why a row has none.

        Raises
        ------
        InvalidInput
            When the column of addresses is missing, or the chain or the share is invalid.
        Unsupported
            Over a server, which has no call for it.

        Notes
        -----
        Features are computed from the movements that the ledger holds, without labels and prices. Their names are
        stable within a version of the features, which files of :meth:`score` state in their metadata.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> frame = ledger().features([ALICE, BOB, "0x12"])
        >>> frame.select("in_count", "out_count").rows()
        [(1.0, 2.0), (2.0, 1.0), (None, None)]
        >>> frame["error"][2]
        '"0x12" is not a valid Ethereum address: its length is wrong; expected 0x and 40 hex digits'
        >>> ledger().features([ALICE], observed=(0.01, 7)).select("in_count", "out_count").rows()
        [(0.0, 0.0)]
        """
        return self._scores("features", addresses, (blockchain, "features", observed), progress)

    @overload
    def score(
        self,
        addresses: Any = ...,  # noqa: ANN401
        blockchain: str | None = ...,
        *,
        columns: Texts = ...,
        output: None = ...,
        progress: bool = ...,
    ) -> pl.DataFrame: ...
    @overload
    def score(
        self,
        addresses: Any = ...,  # noqa: ANN401
        blockchain: str | None = ...,
        *,
        columns: Texts = ...,
        output: str | PathLike[str],
        progress: bool = ...,
    ) -> dict[str, Any]: ...
    def score(
        self,
        addresses: Any = None,
        blockchain: str | None = None,
        *,
        columns: Texts = ("risk", "class"),
        output: str | PathLike[str] | None = None,
        progress: bool = False,
    ) -> pl.DataFrame | dict[str, Any]:
        """Give risk, class and features of many addresses, as a frame or as a file.

        The numbers are those of :meth:`risk` and :meth:`classify`, without what explains them.

        Parameters
        ----------
        addresses : table or column of str, optional
            As in :meth:`features`.
        blockchain : str, optional
            As in :meth:`features`; addresses of several chains need it where a file is written.
        columns : str or sequence of str, optional
            One or more of ``"risk"``, ``"class"`` and ``"features"``. A class needs a classifier of the chain: the one
            of the package, or one of ``classifiers`` of :func:`headwater.open`.
        output : path-like, optional
            A file that ends in ``.parquet``. It is written part by part, in bounded memory: the same call resumes after
            an interruption, and gives the same bytes. Until the file is whole, its parts lie in ``output.parts``.
        progress : bool, optional
            Show on standard error how many addresses are done.

        Returns
        -------
        polars.DataFrame or dict
            One row per address, in their order, duplicates included: ``address``, the columns, and ``error``, which
            says why something is missing. With ``output``: ``file``, ``rows``, ``failed`` (rows with an error),
            ``resumed`` (rows that an earlier run had scored) and ``warnings``.

        Raises
        ------
        InvalidInput
            When the column of addresses is missing, or ``output.parts`` contains parts of another job.
        StorageError
            When the file cannot be written, or another process writes it.
        Unsupported
            Over a server, which has no call for it: ask :meth:`risk` or :meth:`classify` there.

        Warns
        -----
        UserWarning
            Where the risk of the chain rests on labels alone, and where nothing of the chain is held.

        Examples
        --------
        >>> from headwater.examples import BOB, SHOP, ledger
        >>> scores = ledger().score([SHOP, BOB, SHOP], columns=["risk"])
        >>> scores.select("assessment", "risk_score", "risk_level", "behaviors").rows()
        [('partial', 1.42, 'low', []), ('insufficient', 3.24, 'low', []), ('partial', 1.42, 'low', [])]

        Into a file, of all addresses of the chain:

        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "scores.parquet"
        >>> written = ledger().score(columns=["risk", "features"], output=path)
        >>> written["rows"], written["failed"], written["resumed"]
        (4, 0, 0)
        """
        named = columns if isinstance(columns, str) else ",".join(_objects.whole_texts(columns, "columns"))
        if output is None:
            return self._scores("score", addresses, (blockchain, named, None), progress)
        path = _objects.path(output, "output")
        if not path.lower().endswith(".parquet"):
            message = f"output: {path!r} does not end in .parquet: scores are written as Parquet"
            raise InvalidInput(message, reason="invalid_value", field="output")
        asked = listed(addresses)
        chain, *others = dict.fromkeys(chains_of(self._chains, asked, blockchain))
        if others:
            message = (
                f"addresses: they are of {', '.join([chain, *others])}: name one as blockchain for a file of its own"
            )
            raise InvalidInput(message, reason="invalid_value", field="addresses")
        with Bar("score", "addresses", shown=progress) as bar:
            written = self._answers.score_file(asked, (chain, named, None), path, bar.follow if progress else None)
        warn("score", written["warnings"], 3)
        return written

    def _scores(
        self, name: str, addresses: object, wanted: tuple[str | None, str, tuple[float, int] | None], progress: bool
    ) -> pl.DataFrame:
        asked, (blockchain, columns, observed) = listed(addresses), wanted
        chains = chains_of(self._chains, asked, blockchain)
        tables, places, warned = [], [], []
        with Bar(name, "addresses", shown=progress) as bar:
            follow = bar.follow if progress else None
            for rows in _batches.places_by(chains, None):
                part = asked if asked is None or len(rows) == len(chains) else asked[rows]
                table, found = self._answers.score_table(part, (chains[rows[0]], columns, observed), follow)
                tables.append(pl.DataFrame(table))
                places += rows
                warned += found
        warn(name, warned, 4)
        if len(tables) == 1:
            return tables[0]
        whole = pl.concat(tables, how="diagonal_relaxed").with_columns(pl.Series("place", places))
        return whole.sort("place").select(pl.exclude("place", "error"), "error")


def chains_of(chains: ChainFinder, addresses: pl.DataFrame | None, blockchain: str | None) -> list[str]:
    """Return the chain of each address, or one chain where there is no column of them."""
    if blockchain is not None:
        return [blockchain]
    kind = pl.Null() if addresses is None else addresses.schema.get("address", pl.Null())
    if addresses is None or addresses.is_empty() or kind not in (pl.String, pl.Categorical, pl.Enum):
        return [chains.of_all([])]
    return chains.of_column(addresses["address"].cast(pl.String).to_list())


def listed(addresses: Any) -> pl.DataFrame | None:  # noqa: ANN401
    """Give addresses as a table, whatever they are handed over as."""
    if addresses is None:
        return None
    if isinstance(addresses, str):
        message = "addresses: expected a table or a list; of one address [address]"
        raise InvalidInput(message, reason="invalid_type", field="addresses")
    is_table = hasattr(addresses, "__arrow_c_stream__") or isinstance(addresses, pl.LazyFrame)
    # Columns of these libraries are Arrow streams too.
    is_column = any(hasattr(addresses, name) for name in ("to_list", "to_pylist")) and not hasattr(addresses, "columns")
    if is_table and not is_column:
        frame = _tables.frame(addresses, "addresses")
        return frame.select("address") if "address" in frame.columns else frame
    texts = _objects.texts(addresses, "addresses")
    return pl.DataFrame({"address": pl.Series(texts, dtype=pl.String)})


def warn(name: str, warned: list[dict[str, Any]], level: int) -> None:
    """Warn the caller, who is so many calls above."""
    for warning in warned:
        if warning["code"] in _WARNED:
            warnings.warn(f"{name}: {warning['message']}", UserWarning, stacklevel=level)
