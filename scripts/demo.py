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
# One address of each kind, of the first chain that has all of them: first of those on which dealings are judged.
kinds = ("sanctioned", "risky", "clean", "exchange")
of_kind = {(each["blockchain"], each["title"]): each for each in reversed(highlights)}
chains = dict.fromkeys(each["blockchain"] for each in highlights)
chain = next((chain for chain in ("ethereum", "tron", *chains) if all((chain, kind) in of_kind for kind in kinds)), None)
if chain is not None:
    print("\nHow risky are they, and why? One of each kind:\n")
    for kind in kinds:
        address = of_kind[chain, kind]["address"]
        print(f"  {kind:<11} {binary} risk --store {store} --chain {chain} {address}")
    risky = of_kind[chain, "risky"]["address"]
    print(f"\n  in Python   hw.open({store!r}).risk({risky!r}, blockchain={chain!r}).plot()")
    asked = json.dumps({"blockchain": chain, "addresses": [of_kind[chain, kind]["address"] for kind in kinds]})
    print("\nWhat kind of address are they, by what they do alone? And all addresses at once:\n")
    print(f"  {binary} query address-classify --store {store} --body '{asked}'")
    print(f"  {binary} score --store {store} --chain {chain} --columns risk,class --output scores.parquet")
    print("\nWhere did the money go? And which bitcoin addresses are one person's?\n")
    print(f"  {binary} trace --store {store} --chain {chain} {of_kind[chain, 'sanctioned']['address']}")
    print(f"  {binary} cluster --store {store} {of_kind['bitcoin', 'exchange']['address']}")

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
