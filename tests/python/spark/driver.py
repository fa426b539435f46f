"""A driver in a process of its own: reads the arguments of `headwater.spark.score` as JSON, and prints the report."""

from __future__ import annotations

import json
import sys

from headwater import spark as hws
from spark_cluster import session

if __name__ == "__main__":
    url, arguments = sys.argv[1], json.loads(sys.argv[2])
    # JSON has lists alone.
    arguments["part_size"] = tuple(arguments["part_size"])
    print(json.dumps(hws.score(session(url), **arguments)))
