"""How the page looks and moves: rules for people who use screen readers, small screens, frames per second."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from browser import Browser
from explore import calls
from explore.by_mouse import Theft
from explore.session import Explore, Server, check, checks

TABS = ("Here", "Trace", "Overview", "Risk", "Counterparties", "Labels", "Transfers")
# Controls that a screen of 390 pixels does not show; tables of answers may scroll by themselves.
_BEYOND = """
[...document.querySelectorAll("button, input, select, textarea")]
  .filter((one) => one.checkVisibility() && !one.closest(".answer, #table") && one.getBoundingClientRect().right > 391)
  .map((one) => one.outerHTML.slice(0, 100))
"""
# Settings of the largest trace that the form offers, besides its number of addresses.
_WIDEST = {"Hops out": "7", "in": "7", "Largest": "100"}


def places(page: Explore, theft: Theft) -> Iterator[str]:
    """Open every part of the page, one after the other."""
    page.open()
    yield "the empty page"
    page.click("#credits button", "Key")
    yield "the dialog for the key"
    page.click_button("Cancel", "dialog")
    page.open(f"#chain={theft.chain}&address={theft.thief}&outward=3&inward=0")
    page.expect("document.querySelector('.canvas')._cyreg.cy.nodes().length > 10", "the theft is not laid out")
    for tab in TABS:
        page.click("#panel [role=tab]", tab)
        yield f"the tab {tab}"
    page.click("#panel summary", "Trace over several hops")
    yield "the form of a trace"
    page.click("#panel [role=tab]", "Here")
    page.click("#panel li button[title=Payments]")
    yield "a line"
    page.click("#panel button.whole")
    yield "a transaction"
    calls.look_up(page, theft.bitcoin_exchange)
    page.click("#panel [role=tab]", "Cluster")
    yield "the tab Cluster"
    page.click_button("Filters", "#tools")
    yield "the filters"
    page.fill("At least US$", "1000000000", "#filters")
    page.click_button("Risk of", "#tools")
    calls.look_up(page, "0x" + "12" * 19)
    yield "filters that leave nothing, and a message"
    page.click_button("No filter", "#filters")
    page.click_button("Filters", "#tools")
    for tool in ("Calls", "Help", "Table"):
        page.click_button(tool, "#tools")
        yield f"the tool {tool}"


def check_rules(path: str, server: Server, theft: Theft, rules: Path) -> int:
    """Check each part of the page against the rules of axe-core, light and dark; return how many hold."""
    passed = 0
    for dark in (False, True):
        with Browser(path, dark=dark) as browser:
            page = Explore(browser, server.origin)
            for place in places(page, theft):
                passed += checks.rules(browser, rules, f"{place}, {'dark' if dark else 'light'}")
    return passed


def check_small(path: str, server: Server, theft: Theft, rules: Path) -> int:
    """Check that nothing scrolls sideways on a small screen, and that its rules hold; return the number of parts."""
    count = 0
    with Browser(path, (390, 800)) as browser:
        page = Explore(browser, server.origin)
        for place in places(page, theft):
            width = page.run("document.documentElement.scrollWidth")
            check(width <= 390, f"{place} is {width} pixels wide on a screen of 390")
            beyond = page.run(_BEYOND)
            check(beyond == [], f"{place}: beyond a screen of 390 pixels are {beyond}")
            if rules.exists():
                checks.rules(browser, rules, f"{place} on a small screen")
            count += 1
    return count


def check_motion(path: str, server: Server, theft: Theft, addresses: int, min_fps: int) -> dict[str, Any]:
    """Check that a trace of many addresses moves fluidly; return figures."""
    with Browser(path) as browser:
        page = Explore(browser, server.origin)
        page.open(f"#chain=bitcoin&address={theft.bitcoin_exchange}&outward=0&inward=0")
        page.click("#panel summary", "Trace over several hops")
        for label, value in {**_WIDEST, "Addresses": str(addresses)}.items():
            choose(page, label, value)
        began = time.monotonic()
        page.click_button("Trace", "#panel .trace")
        page.expect("document.querySelector('.canvas')._cyreg.cy.nodes().length > 100", "a large trace is not laid out")
        seconds = time.monotonic() - began
        nodes, lines = len(page.nodes()), len(page.lines())
        check(nodes >= 1000, f"a large trace has {nodes} addresses")
        page.click_button("Close", "#panel")
        near = moved(page, f"{nodes} addresses near by", min_fps)
        page.click_button("Fit", "#tools")
        far = moved(page, f"{nodes} addresses in view", min_fps)
        page.quiet("a large trace")
    return {"nodes": nodes, "lines": lines, "seconds": seconds, "near": near, "far": far}


def moved(page: Explore, place: str, min_fps: int) -> dict[str, Any]:
    """Pan and zoom, and check that the picture followed; return the figures."""
    before = page.graph("cy.pan()")
    motion = checks.motion(page.browser, ".canvas", place, min_fps)
    check(page.graph("cy.pan()") != before, f"the picture does not move with {place}")
    return motion


def choose(page: Explore, label: str, value: str) -> None:
    """Choose an option of the form of a trace; lists of options open outside of the page."""
    script = (
        "((label, value) => { const field = [...document.querySelectorAll('#panel .trace label')]"
        ".find((one) => one.firstChild.data === label).querySelector('select');"
        "field.value = value; field.dispatchEvent(new Event('change')); return field.value; })"
    )
    chosen = page.run(f"{script}({json.dumps(label)}, {json.dumps(value)})")
    check(chosen == value, f"the form of a trace does not offer {value!r} for {label!r}, but {chosen!r}")
