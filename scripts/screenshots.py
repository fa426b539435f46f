"""Make the screenshots of the docs from the demo economy.

Usage: python scripts/screenshots.py PROGRAM docs/images (with Chromium installed)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser, find_browser


def main() -> None:
    """Write trace.png: the page of a trace in a browser, with the card of an address."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    path = find_browser()
    if path is None:
        sys.exit("screenshots: there is no chromium: apt-get install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        store, page = Path(temporary, "demo.hw"), Path(temporary, "trace.html")
        made = subprocess.run(
            [program, "simulate", "--store", str(store), "--preset", "demo", "--json"], check=True, capture_output=True
        )
        highlights = json.loads(made.stdout)["highlights"]
        first = next(each for each in highlights if (each["blockchain"], each["title"]) == ("ethereum", "bridge user"))
        arguments = ["--store", str(store), "--chain", first["blockchain"], "--outward", "3", "--inward", "1"]
        subprocess.run(
            [program, "trace", *arguments, "--out", str(page), first["address"]], check=True, capture_output=True
        )
        with Browser(path, (1400, 660), scale=1.5) as browser:
            browser.open(page.as_uri())
            browser.wait_for("document.querySelector('.hw-graph canvas') !== null")
            time.sleep(1)
            browser.screenshot(folder / "trace.png")
    print(f"{folder / 'trace.png'}: the trace of {first['address']}")


if __name__ == "__main__":
    main()
