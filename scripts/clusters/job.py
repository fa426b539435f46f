"""Run one job on a cluster on this machine, for figures.py: prints `ready` before the job and `done` after it.

usage: job.py spark|sail STORE CHAIN COLUMNS OUTPUT ADDRESSES_PER_PART
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "tests/python" / folder) for folder in ("", "spark")]

from headwater import spark as hws  # noqa: E402
from spark_cluster import Cluster, SailServer, session  # noqa: E402


def main() -> None:
    """Start the cluster, run the job, end the cluster."""
    engine, store, chain, columns, output, size = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cluster = {"spark": Cluster, "sail": SailServer}[engine](Path(folder))
        os.environ.update(cluster.environment())
        try:
            spark = session(cluster.url)
            # Starts the executors and their Python processes.
            spark.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id long").collect()
            print("ready", flush=True)
            hws.score(spark, store, chain, columns=columns, output=output, part_size=(int(size), 1 << 20))
            print("done", flush=True)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
