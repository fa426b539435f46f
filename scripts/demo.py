"""Print what to try with the demo economy."""

import json
import sys
from pathlib import Path

binary, store, listen = sys.argv[1:4]
report = json.loads(Path(f"{store}.json").read_text())
key = json.loads(Path(f"{store}.key").read_text())["key"]
highlights = report["highlights"]

print(f"\nThe demo economy is in {store}. Addresses worth a look:\n")
for each in highlights:
    print(f"  {each['blockchain']:<9} {each['address']:<44} {each['why']}")
first = highlights[0]
who = {"blockchain": first["blockchain"], "address": first["address"]}
print(f"""
Ask over HTTP (your key is {key}):

  curl -s http://{listen}/v1/counterparty -H 'X-API-Key: {key}' -H 'Content-Type: application/json' -d '{json.dumps(who | {"limit": 5})}'

in the shell, without a server:

  {binary} query wallet-overview --store {store} --body '{json.dumps(who)}'

in Python, after `pip install` of the wheel that `make wheel` builds:

  import headwater as hw
  hw.open("{store}").counterparties("{first["address"]}", blockchain="{first["blockchain"]}").frame

or in a browser: http://{listen}/docs

Serving until Ctrl-C.
""")
