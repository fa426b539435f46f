"""Check pictures of traces in a browser: python scripts/pictures_page.py PROGRAM FOLDER, with a demo store in the folder."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from browser import Browser
from page_checks import Checks

HOSTILE = "</script><img src=x onerror=alert(1)>\\u202e]]>"
_READY = "document.querySelector('.hw-graph canvas') !== null"
checks = Checks("pictures")
check = checks.check


def trace(program: str, folder: Path, name: str, who: dict[str, str], *options: str) -> Path:
    """Write the page of a trace."""
    page = folder / f"{name}.html"
    arguments = [
        "--store",
        str(folder / "store"),
        "--chain",
        who["blockchain"],
        *options,
        "--out",
        str(page),
        who["address"],
    ]
    subprocess.run([program, "trace", *arguments], check=True, capture_output=True)
    return page


def open_page(browser: Browser, page: Path) -> None:
    """Open a page; it may ask for nothing and complain about nothing."""
    browser.open(page.as_uri())
    browser.wait_for(_READY)
    check(browser.complaints() == [], f"{page.name} complains: {browser.complaints()}")
    others = [url for url in browser.requests() if url != page.as_uri()]
    check(others == [], f"{page.name} asks for {others}")


def check_keyboard(browser: Browser) -> None:
    """Walk over the picture by keys alone."""
    for _ in range(12):
        browser.press("Tab")
        if browser.run("document.activeElement.className").startswith("hw-canvas"):
            break
    else:
        check(False, "the picture cannot be reached with Tab")
    spoken = "document.querySelector('.hw-quiet').textContent"
    card = "document.querySelector('.hw-card')"
    first = browser.run(spoken)
    browser.press("ArrowRight")
    check(browser.run(spoken) not in ("", first), "an arrow key does not move to the next address")
    browser.press("Enter")
    check(browser.run(f"!{card}.hidden"), "Enter does not open the card")
    address = browser.run("document.querySelector('.hw-whole').textContent")
    check(len(address) > 20, f"the card does not show the whole address: {address!r}")
    check(browser.run(f"{card}.contains(document.activeElement)"), "the card does not get the focus")
    browser.press("Escape")
    check(browser.run(f"{card}.hidden"), "Escape does not close the card")


def check_tools(browser: Browser) -> None:
    """Search, filter, and list the payments."""
    browser.run("document.querySelector('input[type=search]').focus()")
    browser.write("exchange")
    found = browser.run("document.querySelector('.hw-status').textContent")
    check(found.endswith("found") and not found.startswith("0"), f"a search finds {found!r}")
    browser.run(
        "(() => { const range = document.querySelector('input[type=range]'); range.value = 90;"
        "range.dispatchEvent(new Event('input')); })()"
    )
    shown = browser.run("document.querySelector('output').textContent")
    check(shown.startswith("at least"), f"the filter says {shown!r}")
    browser.run("[...document.querySelectorAll('button')].find((each) => each.textContent === 'Table').click()")
    rows = browser.run("document.querySelectorAll('.hw-table tbody tr').length")
    check(rows > 0, "the table has no rows")


def main() -> None:
    """Run all checks."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    path = checks.browser()
    highlights = json.loads((folder / "economy.json").read_text())["highlights"]
    of = {(each["blockchain"], each["title"]): each for each in highlights}
    town = trace(program, folder, "town", of["ethereum", "sanctioned"])
    widest = ("--outward", "7", "--inward", "7", "--limit", "100", "--max-nodes", "1000")
    crowd = trace(program, folder, "crowd", of["bitcoin", "exchange"], *widest)
    # The data of a page is no script, so that its hash is in no policy.
    hostile = folder / "hostile.html"
    text = town.read_text(encoding="utf-8")
    head, rest = text.split('id="data">', 1)
    data, tail = rest.split("</script>", 1)
    graph = json.loads(data)
    name = json.loads(f'"{HOSTILE}"')
    for node in graph["nodes"]:
        node.update(text=name, title=name, facts=[["name", name]])
    for edge in graph["edges"]:
        edge["payments"][0].update(amount=name, remark=name)
    graph.update(title=name, summary=[name], left_out=[name])
    escaped = json.dumps(graph).replace("<", "\\u003c").replace(">", "\\u003e")
    hostile.write_text(f'{head}id="data">{escaped}</script>{tail}', encoding="utf-8")

    rules = folder / "axe.js"
    passed = 0
    for dark in (False, True):
        with Browser(path, dark=dark) as browser:
            open_page(browser, town)
            if rules.exists():
                passed += checks.rules(browser, rules, "a trace")
            check_keyboard(browser)
            if rules.exists():
                browser.press("Enter")
                passed += checks.rules(browser, rules, "a trace")
            check_tools(browser)
            check(browser.complaints() == [], f"use makes complaints: {browser.complaints()}")
            open_page(browser, hostile)
            browser.run("document.querySelector('.hw-canvas').focus()")
            check_keyboard(browser)
            check_tools_text = browser.run(
                "(document.querySelectorAll('img, iframe').length === 0) && document.querySelector('h1').textContent"
            )
            check(check_tools_text == name, f"a hostile name became {check_tools_text!r}")
    with Browser(path, (390, 800)) as browser:
        open_page(browser, town)
        check(browser.run("document.documentElement.scrollWidth <= innerWidth"), "a small screen scrolls sideways")
    with Browser(path) as browser:
        began = time.monotonic()
        open_page(browser, crowd)
        loaded = time.monotonic() - began
        nodes = browser.run("JSON.parse(document.getElementById('data').textContent).nodes.length")
        motion = checks.motion(browser, ".hw-canvas", f"{nodes} addresses")
    size = crowd.stat().st_size / 1e6
    print(
        f"pictures: {nodes} addresses load in {loaded:.1f} s ({size:.1f} MB) and move at {motion['fps']:.0f} frames per second, "
        f"the longest frame takes {motion['longest']:.0f} ms; {passed} rules of axe-core hold; no requests, no errors"
    )


if __name__ == "__main__":
    main()
