"""The peers that are used from Python, behind one line protocol.

Reads requests of the benchmark as lines of JSON and answers each with one line. `open` builds whatever is missing from
the plain columns under the folder given, and tells which engines there are; `answer` gives an answer in the words of
the generator; `time` runs the question once and gives nanoseconds by the clock and of the processor, with the rows
fetched but not translated.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import columnar
import graphs
import holders

ENGINES = [*columnar.ENGINES, *graphs.ENGINES, *holders.ENGINES]


def timed(work):
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    outcome = work()
    return outcome, {"wall_ns": time.perf_counter_ns() - wall, "cpu_ns": time.process_time_ns() - cpu}


def open_all(folder, only):
    engines = {}
    abouts = []
    for engine_type in ENGINES:
        if only and engine_type.name not in only:
            continue
        tables = columnar.Tables(folder)
        largest = getattr(engine_type, "largest_transfers", None)
        if largest is not None and tables.transfers > largest:
            continue
        (engine, built), cost = timed(lambda: engine_type.open(tables))
        engines[engine_type.name] = engine
        abouts.append(
            {
                "name": engine_type.name,
                "version": engine_type.version(),
                "queries": list(engine.queries),
                "build": cost if built else None,
                "bytes": engine.bytes(),
            }
        )
        print(f"  {engine_type.name}: {'built' if built else 'opened'} in {cost['wall_ns'] / 1e9:.1f} s", file=sys.stderr)
    return engines, abouts


def main():
    folder = Path(sys.argv[1])
    engines = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                engines, reply = open_all(folder, request["only"])
            else:
                engine = engines[request["engine"]]
                question = engine.queries[request["query"]]
                of = request["of"]
                if request["do"] == "time":
                    _, reply = timed(lambda: question(of))
                elif request["do"] == "cold":
                    engine.forget()
                    _, reply = timed(lambda: question(of))
                else:
                    reply = engine.translate(request["query"], question(of))
        except Exception as error:  # the benchmark names the peer and stops
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply, default=plain), flush=True)


def plain(value):
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    raise TypeError(f"{type(value)} has no JSON form")


if __name__ == "__main__":
    main()
