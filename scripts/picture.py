"""Make the picture of the README from the demo economy: daily balances of its first highlighted wallet.

Usage: python scripts/picture.py docs/picture.svg (with the wheel and matplotlib installed)
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import headwater as hw
import matplotlib as mpl

out = sys.argv[1]
# The same file from the same data.
mpl.rcParams["svg.hashsalt"] = "headwater"
with tempfile.TemporaryDirectory() as folder:
    store = Path(folder) / "demo.hw"
    made = [sys.executable, "-m", "headwater", "simulate", "--store", str(store), "--preset", "demo", "--json"]
    report = json.loads(subprocess.run(made, check=True, capture_output=True).stdout)
    first = report["highlights"][0]
    ledger = hw.open(store)
    axes = ledger.balance_history(first["address"], blockchain=first["blockchain"]).plot()
    axes.figure.set_size_inches(9, 3.2)
    axes.figure.savefig(out, bbox_inches="tight", metadata={"Date": None})
print(f"{out}: {first['address']}, {first['why']}")
