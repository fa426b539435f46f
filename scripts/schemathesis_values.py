"""Write the settings of Schemathesis with values that the store holds, so that answers are more than refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

headwater, store, economy = sys.argv[1:4]
settings = Path(__file__).with_name("schemathesis.toml").read_text()


def asked(endpoint: str, **request: object) -> dict[str, Any]:
    """Give the data of an answer of the command line."""
    command = [headwater, "query", endpoint, "--store", store, "--body", json.dumps(request)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    data: dict[str, Any] = answer["data"]
    return data


places = [(one["blockchain"], one["address"]) for one in json.loads(Path(economy).read_text())["highlights"]]
rows = [asked("transactions", blockchain=chain, address=address, limit=3) for chain, address in places[::4]]
tokens = asked("registry")["tokens"]
values = {
    "addresses": [address for _, address in places],
    "hashes": [row["tx_hash"] for page in rows for row in page["datas"]],
    "cursors": [page["pagination"]["next_cursor"] for page in rows if page["pagination"]["has_more"]],
    "contracts": [token["contract"] for token in tokens if token["contract"]],
    "symbols": asked("rates/symbols")["symbols"],
    "units": ["usd", "per_symbol", "native"],
    "currencies": ["USD"],
    # So many that nearly none comes twice: of two requests under one, the second is a conflict.
    "repetitions": [f"made-{number}" for number in range(20_000)],
}
# Fields that take them, and how often; the rest is made up. A cursor fits its own filters alone, a unit few chains.
bindings = {
    "addresses": (0.7, ["query.address", "body.address", "body.target", "body.counterparty", "body.addresses[*]"]),
    "hashes": (0.7, ["path.hash"]),
    "cursors": (0.1, ["query.cursor", "body.cursor"]),
    "contracts": (0.6, ["query.contract", "body.contract", "body.contracts[*]"]),
    "symbols": (0.6, ["query.symbol", "body.symbols[*]"]),
    "units": (0.3, ["body.output_asset"]),
    "currencies": (0.6, ["query.quote"]),
    "repetitions": (1.0, ["header.Idempotency-Key"]),
}

print(settings)
for name, held in values.items():
    print(f"[dictionaries.{name}]\nvalues = {json.dumps(sorted(set(held)))}\n")
print("[parameters]")
for name, (probability, fields) in bindings.items():
    for field in fields:
        print(f'"{field}" = {{ dictionary = "{name}", probability = {probability} }}')
