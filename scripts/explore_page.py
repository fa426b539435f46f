"""Check the page /explore in a browser: python scripts/explore_page.py PROGRAM FOLDER, with axe.js in the folder."""

from __future__ import annotations

import sys
from pathlib import Path

from browser import Browser
from explore import by_keyboard, by_mouse
from explore.session import Program, Server, checks

_CREDITS = 10_000


def main() -> None:
    """Run all checks."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    path = checks.browser()
    demo = Program(program, folder / "store", folder / "demo.state")
    theft = by_mouse.Theft(demo.ask("demo", "--list")["highlights"])
    with Server([program, "demo", *demo.options], folder / "demo.log") as server, Browser(path) as browser:
        print(f"explore: by mouse, {by_mouse.check_case(browser, server, theft)} addresses")
    keyed = Program(program, folder / "store", folder / "keyed.state")
    key = keyed.key(_CREDITS)
    with keyed.serve(folder / "keyed.log") as server, Browser(path) as browser:
        page = by_keyboard.check_case(browser, server, theft, keyed, key["key"])
        print(f"explore: by keys, {len(page.nodes())} addresses")


if __name__ == "__main__":
    main()
