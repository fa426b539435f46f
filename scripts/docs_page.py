"""Check the documentation page as a browser without the outside world renders it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from browser import OPTIONS

browser, origin, place = sys.argv[1], sys.argv[2], Path(sys.argv[3])


def ready() -> bool:
    """Whether the server answers."""
    try:
        with urllib.request.urlopen(f"{origin}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def rendered() -> str:
    """Give what the page holds once its scripts have run."""
    arguments = [
        browser,
        *OPTIONS,
        f"--user-data-dir={place / 'profile'}",
        f"--log-net-log={place / 'net.json'}",
        "--virtual-time-budget=30000",
        "--dump-dom",
        f"{origin}/docs",
    ]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=180, check=True).stdout


def requests() -> list[tuple[str, str]]:
    """Give what the browser asked for, and on whose behalf; its own errands have no origin."""
    text = (place / "net.json").read_text()
    try:
        log = json.loads(text)
    except json.JSONDecodeError:
        # A browser that is ended in a hurry leaves the list open.
        log = json.loads(text.rstrip().rstrip(",") + "]}")
    started = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    told: list[dict[str, Any]] = [
        event["params"] for event in log["events"] if event["type"] == started and "params" in event
    ]
    return [(params["url"], params.get("initiator", "")) for params in told if "url" in params]


for _ in range(200):
    if ready():
        break
    time.sleep(0.1)
else:
    sys.exit("the server did not become ready within twenty seconds")

with urllib.request.urlopen(f"{origin}/api-docs/openapi.json") as answer:
    paths = json.load(answer)["paths"]
operations = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
page = rendered()
# Tags and ids of operations are joined by a line; ids have none.
shown = {name.rsplit("-", 1)[-1] for name in re.findall(r'id="operations-([^"]*)"', page)}
missing = sorted(operations - shown)
if missing or not operations:
    sys.exit(f"the page shows {len(operations) - len(missing)} of {len(operations)} operations; missing: {missing}")

asked = requests()
own = [url for url, initiator in asked if url.startswith(f"{origin}/")]
foreign = [url for url, initiator in asked if initiator == origin and not url.startswith(f"{origin}/")]
if foreign or len(own) < 5:
    sys.exit(f"the page asked for {len(own)} files of its own host, and of others for {foreign}")
outside = re.findall(r'(?:src|href)="(https?://(?!127\.0\.0\.1)[^"]*)"', page)
loaded = [url for url in outside if re.search(r"\.(js|css|png|svg|woff2?)$", url)]
if loaded:
    sys.exit(f"the page refers to files of other hosts: {loaded}")
print(f"docs: {len(operations)} operations shown, {len(own)} requests, all to {origin}")
