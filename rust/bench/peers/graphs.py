"""Graph libraries: the trace of three hops along the strongest edges, over the grouped edges of all transfers."""

from collections import defaultdict

import igraph
import networkx
import numpy as np
import polars as pl
import rustworkx

from tables import Peer


def edges(tables):
    """Sender, receiver and count of every pair, transfers to oneself left out."""
    frame = pl.DataFrame({side: tables.column("transfers", f"{side}.u32") for side in ("from", "to")})
    grouped = frame.filter(pl.col("from") != pl.col("to")).group_by("from", "to").len().sort("from", "to")
    return [grouped[name].to_numpy() for name in ("from", "to", "len")]


def triples(tables):
    """The same as tuples, a million at a time."""
    columns = edges(tables)
    step = 1_000_000
    for first in range(0, len(columns[0]), step):
        yield list(zip(*(column[first : first + step].tolist() for column in columns), strict=True))


def accounts(tables):
    return tables.path("transfers", "addresses.txt").stat().st_size // 43


class Graph(Peer):
    @property
    def queries(self):
        # Two hundred edges at each node take a minute here.
        return {f"trace, cap {cap}": self.trace for cap in (10, 50)}

    def trace(self, of):
        cap = of["cap"]
        reached = defaultdict(float)
        frontier = {of["account"]: 1.0}
        for _ in range(3):
            following = defaultdict(float)
            for node in sorted(frontier):
                share = frontier[node]
                strongest = sorted(self.outgoing(node), key=lambda edge: (-edge[1], edge[0]))[:cap]
                total = sum(count for _, count in strongest)
                for to, count in strongest:
                    following[to] += share * count / total
            for node, share in following.items():
                reached[node] += share
            frontier = following
        return reached

    def translate(self, query, found):
        return {"reached": [[int(node), share] for node, share in sorted(found.items())]}


class Rustworkx(Graph):
    name = "rustworkx"
    version = rustworkx.__version__

    def __init__(self, tables):
        self.graph = rustworkx.PyDiGraph()
        self.graph.add_nodes_from(range(accounts(tables)))
        for part in triples(tables):
            self.graph.add_edges_from(part)

    def outgoing(self, node):
        return [(to, count) for _, to, count in self.graph.out_edges(node)]


class Igraph(Graph):
    name = "igraph"
    version = igraph.__version__

    def __init__(self, tables):
        sender, self.ends, self.counts = edges(tables)
        pairs = np.column_stack([sender, self.ends])
        self.graph = igraph.Graph(n=accounts(tables), edges=pairs, directed=True)

    def outgoing(self, node):
        ids = self.graph.incident(node, mode="out")
        return zip(self.ends[ids].tolist(), self.counts[ids].tolist(), strict=True)


class Networkx(Graph):
    name = "networkx"
    version = networkx.__version__

    def __init__(self, tables):
        self.graph = networkx.DiGraph()
        self.graph.add_nodes_from(range(accounts(tables)))
        for part in triples(tables):
            self.graph.add_weighted_edges_from(part)

    def outgoing(self, node):
        return [(to, data["weight"]) for to, data in self.graph[node].items()]


ENGINES = [Rustworkx, Igraph, Networkx]
