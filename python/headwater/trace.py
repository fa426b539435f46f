"""Where money went and came from, hop by hop: what ``ledger.trace`` returns."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from headwater import _objects, _rows, records
from headwater._records import flattened, node_id, short, with_dispute_secs
from headwater.errors import Unsupported
from headwater.pictures import Picture
from headwater.reports import Report, Reports

if TYPE_CHECKING:
    from networkx import MultiDiGraph

# Columns of frames and attributes of graphs in their order, where it is not that of the records.
_NODES = [
    "blockchain",
    "address",
    "depth",
    "labels",
    "entity_name",
    "in_amount_usd",
    "out_amount_usd",
    "counterparties",
    "stop_reason",
    "taint_amount",
    "taint_ratio",
    "stayed_share",
    "disputed",
]
_EDGES = [
    "from_blockchain",
    "from_address",
    "to_blockchain",
    "to_address",
    "depth",
    "direction",
    "symbol",
    "contract",
    "amount",
    "amount_raw",
    "amount_usd",
    "tx_count",
    "first_activity",
    "last_activity",
    "tx_hashes",
    "taint_amount",
    "is_change",
]
_ENDS = [
    "blockchain",
    "address",
    "label",
    "direction",
    "hops",
    "amount_usd",
    "share",
    "assets",
    "stop_reason",
    "disputed",
]


# What a prompt shows of a trace: where the money is.
_OVERVIEW = ["direction", "address", "label", "share", "amount_usd", "hops", "stop_reason", "blockchain"]


class TraceReport(Report[records.TraceReport]):
    """Where money went from an address and where it came from, hop by hop.

    A trace is a hypothesis: coins in one account cannot be told apart. ``report.summary``, ``report.settings``,
    ``report.truncated`` and ``report.truncation_reasons`` are those of the answer; ``docs/tracing.md`` explains them.

    Examples
    --------
    >>> from headwater.examples import ALICE, ledger
    >>> report = ledger().trace(ALICE, inward_depth=0)
    >>> report.nodes["depth"].to_list(), report.edges["symbol"].to_list()
    ([0, 1, 1], ['eth', 'usdt', 'eth'])
    >>> report.frame.equals(report.edges), len(report.rows)
    (True, 3)
    >>> report.ends["stop_reason"].to_list(), report.divisions["direction"].to_list()
    (['time_range'], ['out'])
    >>> report.assets["symbol"].unique(maintain_order=True).to_list()
    ['eth', 'usdt']
    """

    _overview_name = ".ends"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The edges, by hops, then by worth."""
        return cast("list[dict[str, Any]]", self.data["edges"])

    @property
    def frame(self) -> pl.DataFrame:
        """The edges as a frame: see :attr:`edges`."""
        return self.edges

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the edges through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    @property
    def nodes(self) -> pl.DataFrame:
        """The addresses, by hops from the start: 0 for it, negative inward, positive outward.

        ``blockchain`` is that of the trace, or one that a bridge led to.
        ``stop_reason`` says why the trace does not go on from an address. It is null where it does, as at a bridge that
        leads to another chain. ``taint_amount``, in US dollars, and ``taint_ratio`` are there with a method.
        ``stayed_share`` is the part of the money that stayed at an address while another part went on.
        """
        return with_dispute_secs(self._table("nodes")).select(_NODES)

    @property
    def edges(self) -> pl.DataFrame:
        """What went from one address to another, by hops, then by worth.

        ``amount`` is exact text in whole units, ``amount_raw`` in the smallest; ``tx_hashes`` are at most ten
        transactions, the largest first. ``is_change`` marks bitcoin that returned to the payer; it does not count
        as a hop. An edge between two chains leads over a bridge; its asset, amount, times and transactions are those of
        the far chain.
        """
        return self._table("edges").select(_EDGES)

    @property
    def ends(self) -> pl.DataFrame:
        """Where the trace ends, by worth, once per direction.

        ``amount_usd`` is what the traced money was worth when it arrived, ``assets`` its amounts. ``share`` is its part
        of what left the start, inward of what came to it, with the methods ``"haircut"`` and ``"fifo"``.
        """
        return with_dispute_secs(self._table("ends")).select(_ENDS)

    @property
    def divisions(self) -> pl.DataFrame:
        """What became of the money in each direction, as shares that add up to 1.

        The shares are at ends, back at the start, at addresses between, with counterparties for which there was no
        room, outside of filters, and in fees. Empty with the methods ``"none"`` and ``"poison"``.
        """
        return self._table("summary.divisions")

    @property
    def assets(self) -> pl.DataFrame:
        """By address and asset, what came in and what became of it, in the smallest unit as exact text.

        ``in_amount = out_amount + stayed + pruned + filtered + fee``. At addresses inward of the start the walk goes
        against time, so that ``in_amount`` is what left them there.
        """
        return flattened(self._table("nodes").select("blockchain", "address", "depth", "assets"), "assets")

    def to_networkx(self) -> MultiDiGraph[str]:
        """Give the trace as a graph of networkx.

        Nodes are addresses, with their chain before them (``tron:T...``) where a bridge led to another one. They have
        the columns of :attr:`nodes` as attributes, edges have those of :attr:`edges`, as they are in the answer:
        amounts are exact text, times epoch seconds.

        Returns
        -------
        networkx.MultiDiGraph

        Raises
        ------
        Unsupported
            When networkx is not installed: ``pip install 'headwater[graph]'``.

        Examples
        --------
        >>> from headwater.examples import ALICE, SHOP, ledger
        >>> graph = ledger().trace(ALICE).to_networkx()
        >>> graph.number_of_nodes(), [edge["amount"] for edge in graph[ALICE][SHOP].values()]
        (3, ['1'])
        """
        try:
            from networkx import MultiDiGraph  # noqa: PLC0415
        except ImportError as error:
            message = "graphs need networkx: pip install 'headwater[graph]'; to_graphml() does without"
            raise Unsupported(message) from error
        graph: MultiDiGraph[str] = MultiDiGraph(blockchain=self.data["blockchain"], address=self.data["address"])
        for node in cast("list[dict[str, Any]]", self.data["nodes"]):
            graph.add_node(node_id(self.data, node), **{name: node[name] for name in _NODES if name != "address"})
        for edge in self.rows:
            attributes = {name: edge[name] for name in _EDGES if not name.startswith(("from_", "to_"))}
            graph.add_edge(node_id(self.data, edge, "from_"), node_id(self.data, edge, "to_"), **attributes)
        return graph

    def to_graphml(self, path: str | PathLike[str]) -> None:
        """Write the trace as GraphML, for Gephi, yEd, Cytoscape and others.

        Every attribute has its type. ``amount`` is the nearest double, ``amount_raw`` exact text; lists are text with
        spaces; what is missing is left out.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        StorageError
            When the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from headwater.examples import ALICE, ledger
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "trace.graphml")
        ...     ledger().trace(ALICE).to_graphml(file)
        ...     file.read_text().count("<node ")
        3
        """
        _objects.write(Path(_objects.path(path, "path")), self._native.graphml().encode())

    def plot(self) -> Picture:
        """Draw the trace.

        Returns
        -------
        Picture
            Its columns are hops. It has the addresses with their names, the amounts and dates of payments, where the
            money ends and why, and what was left out.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> picture = ledger().trace(ALICE).plot()
        >>> "Corner Shop" in picture.svg, "A trace is a hypothesis" in picture.svg
        (True, True)
        """
        return Picture(self._native.picture(), f"trace of {short(self.data['address'])}")

    def show(self) -> None:
        """Show the picture of the trace: in a notebook below the cell, elsewhere in the browser.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().trace(ALICE).show()  # doctest: +SKIP
        """
        self.plot().show()

    def _overview(self) -> pl.DataFrame:
        return self.ends.select(_OVERVIEW)

    def title(self) -> str:
        """Name the address, what was found, and what was left out."""
        data = self.data
        summary = data["summary"]
        found = f"{summary['node_count']} addresses, {summary['edge_count']} edges, {len(data['ends'])} ends"
        cut = f", cut by {', '.join(data['truncation_reasons'])}" if data["truncated"] else ""
        return f"trace of {data['address']} on {data['blockchain']}: {found}{cut}"


class TraceReports(Reports[records.TraceReport]):
    """Traces from many addresses, in the order given.

    Examples
    --------
    >>> from headwater.examples import ALICE, BOB, ledger
    >>> ledger().trace([ALICE, BOB], inward_depth=0).frame["queried_address"].n_unique()
    2
    """

    def __iter__(self) -> Iterator[TraceReport]:
        """Go over the reports."""
        return iter(cast("list[TraceReport]", self._reports))

    @property
    def frame(self) -> pl.DataFrame:
        """The edges of all traces, the queried address in the first column."""
        return super().frame

    def _without_rows(self) -> pl.DataFrame:
        return _rows.table(self.endpoint, "edges").select(_EDGES)

    def title(self) -> str:
        """Count the traces and their edges."""
        return f"traces of {len(self):,} addresses: {sum(len(report.rows) for report in self)} edges"
