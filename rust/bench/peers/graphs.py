"""Graph libraries: the trace of three hops along the strongest edges, over the grouped edges of all transfers."""

from collections import defaultdict

import igraph
import networkx
import numpy as np
import polars as pl
import rustworkx


def edges(tables):
    """Sender, receiver and count of every pair, transfers to oneself left out."""
    frame = pl.DataFrame({side: tables.column("transfers", f"{side}.u32") for side in ("from", "to")})
    grouped = frame.filter(pl.col("from") != pl.col("to")).group_by("from", "to").len().sort("from", "to")
    return [grouped[name].to_numpy() for name in ("from", "to", "len")]


def accounts(tables):
    return tables.path("transfers", "addresses.txt").stat().st_size // 43


class Graph:
    queries_of_caps = (10, 50, 200)

    def bytes(self):
        return None

    @property
    def queries(self):
        return {f"trace, cap {cap}": self.trace for cap in self.queries_of_caps}

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

    @staticmethod
    def version():
        return rustworkx.__version__

    @classmethod
    def open(cls, tables):
        engine = cls()
        engine.graph = rustworkx.PyDiGraph()
        engine.graph.add_nodes_from(range(accounts(tables)))
        columns = edges(tables)
        step = 1_000_000
        for first in range(0, len(columns[0]), step):
            part = [column[first : first + step].tolist() for column in columns]
            engine.graph.add_edges_from(list(zip(*part, strict=True)))
        return engine, True

    def outgoing(self, node):
        return [(to, count) for _, to, count in self.graph.out_edges(node)]


class Igraph(Graph):
    name = "igraph"

    @staticmethod
    def version():
        return igraph.__version__

    @classmethod
    def open(cls, tables):
        engine = cls()
        sender, receiver, count = edges(tables)
        pairs = np.column_stack([sender, receiver])
        engine.graph = igraph.Graph(n=accounts(tables), edges=pairs, directed=True)
        engine.ends, engine.counts = receiver, count
        return engine, True

    def outgoing(self, node):
        ids = self.graph.incident(node, mode="out")
        return [(int(self.ends[edge]), int(self.counts[edge])) for edge in ids]


class Networkx(Graph):
    """Some five hundred bytes an edge: what fits into the memory of the machine of the targets is 2 M transfers."""

    name = "networkx"
    largest_transfers = 2_000_000

    @staticmethod
    def version():
        return networkx.__version__

    @classmethod
    def open(cls, tables):
        engine = cls()
        engine.graph = networkx.DiGraph()
        engine.graph.add_nodes_from(range(accounts(tables)))
        columns = [column.tolist() for column in edges(tables)]
        engine.graph.add_weighted_edges_from(zip(*columns, strict=True))
        return engine, True

    def outgoing(self, node):
        return [(to, data["weight"]) for to, data in self.graph[node].items()]


ENGINES = [Rustworkx, Igraph, Networkx]
