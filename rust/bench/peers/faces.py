"""A page of 100 through the faces of the engine: the Python package with its table as Arrow, HTTP on one connection.

    python faces.py FOLDER >> FOLDER/results.jsonl

The folder is that of a preset. Run it with the Python that has the wheel; the gateway is that of the same wheel.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import headwater as hw
import pyarrow as pa

RUNS = 300


def measured(face, of, questions):
    for question in questions:
        question()
    took = []
    for run in range(RUNS):
        question = questions[run % len(questions)]
        begin = time.perf_counter_ns()
        question()
        took.append(time.perf_counter_ns() - begin)
    took.sort()
    line = {"kind": "face", "face": face, "set": of, "median_ns": took[RUNS // 2], "p95_ns": took[RUNS * 95 // 100]}
    print(json.dumps({**line, "operations": RUNS}), flush=True)


def through_python(store, sets):
    ledger = hw.open(store)
    for of, addresses in sets.items():

        def page(address):
            table = pa.table(ledger.transactions(address, limit=100))
            assert table.num_rows > 0

        measured("python, arrow", of, [lambda address=address: page(address) for address in addresses])


def through_http(store, sets):
    script = str(Path(sys.executable).with_name("headwater"))
    made = subprocess.run(
        [script, "keys", "create", "--store", store, "--name", "bench", "--credits", "1000000000", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    key = json.loads(made.stdout)["key"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "HEADWATER_LOG": "error"}
    gateway = subprocess.Popen(
        [script, "serve", "--store", store, "--listen", f"127.0.0.1:{port}", "--set", "limits.enabled=false"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        headers = {"X-API-Key": key, "Content-Type": "application/json"}

        def page(address):
            body = json.dumps({"blockchain": "ethereum", "address": address, "limit": 100})
            connection.request("POST", "/v1/transactions", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                sys.exit(f"the gateway answers {answer.status}: {text[:300]!r}")

        for of, addresses in sets.items():
            measured("http", of, [lambda address=address: page(address) for address in addresses])
    finally:
        gateway.terminate()
        gateway.wait(10)


def main():
    folder = Path(sys.argv[1])
    store = str(folder / "store")
    sets = json.loads((folder / "addresses.json").read_text())
    print(json.dumps({"kind": "of", "transfers": sets.pop("transfers")}))
    through_python(store, sets)
    through_http(store, sets)


if __name__ == "__main__":
    main()
