"""The peers that are used from Python, behind one line protocol.

Reads requests of the benchmark as lines of JSON and answers each with one line. `open` builds whatever is missing from
the plain columns under the folder given, and lists which engines there are; `answer` gives an answer in the words of
the generator; `time` runs the question once and gives nanoseconds by the clock and of the processor, with the rows
fetched but not translated; `cold` does so after the system forgot the peer's file.
"""

import gc
import json
import sys
from pathlib import Path

import numpy as np

import duck
import frames
import graphs
import holders
from tables import Tables, timed

ENGINES = {engine.name: engine for module in (duck, frames, graphs, holders) for engine in module.ENGINES}


def open_all(tables, names):
    engines = {}
    abouts = []
    for name in names or ENGINES:
        engine, cost = timed(lambda name=name: ENGINES[name](tables))
        engines[name] = engine
        about = {"name": name, "version": engine.version, "queries": list(engine.queries), "bytes": engine.bytes()}
        abouts.append({**about, "build": engine.build or cost})
        print(f"  {name}: there after {cost['wall_ns'] / 1e9:.1f} s", file=sys.stderr)
    # What stays is not looked through again at every collection of garbage.
    gc.freeze()
    return engines, abouts


def asked(engine, request):
    question, of = engine.queries[request["query"]], request["of"]
    if request["do"] == "answer":
        return engine.translate(request["query"], question(of))
    if request["do"] == "cold":
        engine.forget()
    return timed(lambda: question(of))[1]


def main():
    tables = Tables(Path(sys.argv[1]))
    engines = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                engines, reply = open_all(tables, request["only"])
            else:
                reply = asked(engines[request["engine"]], request)
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
