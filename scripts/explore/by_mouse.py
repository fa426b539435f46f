"""The theft of the demo economy by mouse alone: from the thief to the exchange where the loot was cashed out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from browser import Browser
from explore.secrets import saved
from explore.session import Explore, Server, check, checks

# The first look at the theft: money over three hops, as `headwater demo` prints it.
_LOOK = re.compile(r"^look\s+(http://\S+)$", re.MULTILINE)


class Theft:
    """The addresses of the story, as the program tells them."""

    def __init__(self, highlights: list[dict[str, str]]) -> None:
        of = {(each["blockchain"], each["title"]): each for each in highlights}
        self.chain = "ethereum"
        self.thief = of[self.chain, "thief"]["address"]
        self.cash_out = of[self.chain, "cash-out"]["address"]
        self.exchange = self.cash_out_name(of[self.chain, "cash-out"]["why"])
        self.bitcoin_exchange = of["bitcoin", "exchange"]["address"]

    @staticmethod
    def cash_out_name(why: str) -> str:
        """Return the name of the exchange from the reason why it is worth a look."""
        return why.partition(":")[0].removeprefix("exchange-")

    def key(self, address: str) -> str:
        """Return the identity of an address in the picture."""
        return f"{self.chain}:{address}"


def address_of_look(server: Server) -> str:
    """Return the address that the demo prints."""
    found = _LOOK.search(server.printed())
    if found is None:
        checks.fail(f"the demo prints no address to look at: {server.printed()}")
    address = found.group(1)
    check(address.startswith(f"{server.origin}/explore#"), f"the demo prints {address!r} as the address to look at")
    return address


def check_case(browser: Browser, server: Server, theft: Theft, folder: Path) -> int:
    """Follow the theft by mouse; return the number of addresses."""
    page = Explore(browser, server.origin)
    page.open("#" + address_of_look(server).split("#")[1])
    check_layout(page, theft)
    check_address(page, theft)
    check_transaction(page, theft)
    check_bridge(page)
    check_risk(page, theft)
    check_cash_out(page, theft)
    check_moves(page, theft)
    check_filters(page)
    page.quiet("the theft by mouse")
    check_saved(page, folder)
    return len(page.nodes())


def check_layout(page: Explore, theft: Theft) -> None:
    """Check that the theft is laid out without a click, money from left to right."""
    page.expect(
        "document.querySelector('.canvas')._cyreg.cy.nodes().length > 10", "the theft is not laid out by itself"
    )
    nodes = page.nodes()
    for address in (theft.thief, theft.cash_out):
        check(theft.key(address) in nodes, f"the first picture lacks {address}")
    thief, exchange = (page.place(theft.key(each)) for each in (theft.thief, theft.cash_out))
    check(thief["x"] + 600 < exchange["x"], "the exchange is not three columns right of the thief")
    places = [(place["x"], place["y"]) for place in map(page.place, nodes)]
    covered = [
        (one, other)
        for at, one in enumerate(places)
        for other in places[:at]
        if abs(one[0] - other[0]) < 176 and abs(one[1] - other[1]) < 58
    ]
    check(covered == [], f"boxes cover each other: {covered}")
    check(not page.run("document.querySelector('#welcome').checkVisibility()"), "the welcome covers the picture")


def check_address(page: Explore, theft: Theft) -> None:
    """Check that a click on the thief opens its panel, and one on the ground closes it."""
    page.click_button("Close", "#panel")
    check(page.panel() == "", "the button Close leaves the panel open")
    page.click_node(theft.key(theft.thief))
    page.panel_shows(theft.thief, "a click on the thief does not show its address")
    page.panel_shows("Went to", "the panel of the thief does not say whom it paid")


def bridge_line(page: Explore) -> dict[str, Any]:
    """Return a line over a bridge that ends on another chain, and the line before it to the bridge."""
    found = page.graph(
        "(() => { const over = cy.edges('.bridge').find((edge) =>"
        " edge.data('source').split(':')[0] !== edge.data('target').split(':')[0]);"
        "const into = over && cy.edges('.bridge').find((edge) => edge.data('target') === over.data('source'));"
        "return into ? { into: into.id(), bridge: over.data('source'), far: over.data('target') } : null; })()"
    )
    if found is None:
        checks.fail("the theft crosses no bridge in the picture")
    line: dict[str, Any] = found
    return line


def check_transaction(page: Explore, theft: Theft) -> None:
    """Check that a click on a line shows its payments, and a click on a hash the transaction."""
    line = next(each for each in page.lines() if each.startswith(theft.key(theft.thief)))
    page.click_line(line)
    page.panel_shows("From ", "a click on a line does not open its payments")
    hash_ = str(page.run("document.querySelector('#panel button.whole').textContent"))
    page.click("#panel button.whole")
    page.panel_shows("Transfers", "a click on a hash does not open the transaction")
    check(hash_ in page.panel(), "the panel shows another transaction than that of the line")
    page.click_button("Back", "#panel")
    page.panel_shows("From ", "Back does not return to the payments")


def check_bridge(page: Explore) -> None:
    """Check that a payment into a bridge is followed to the other chain."""
    line = bridge_line(page)
    page.click_line(line["into"])
    page.panel_shows("Crossed over", "the payments into the bridge do not say that they cross it")
    page.click_button("Follow to the other chain", "#panel")
    chain, far = line["far"].split(":", 1)
    page.panel_shows(far, "the bridge is not followed to the receiver")
    page.panel_shows(f"on {chain}", "the panel does not name the other chain")
    check(line["far"] in page.nodes(), "the receiver on the other chain is not in the picture")


def check_risk(page: Explore, theft: Theft) -> None:
    """Check that the tab Risk says why."""
    page.click_button("Fit", "#tools")
    page.click_node(theft.key(theft.thief))
    page.click("#panel [role=tab]", "Risk")
    page.panel_shows("Why this score", "the tab Risk does not say why")
    page.panel_shows("high risk", "the thief is not of high risk")
    page.panel_shows("sanction", "the reasons do not name the sanction")
    check("of 100" in page.panel(), "the score does not say of how much it is")


def check_cash_out(page: Explore, theft: Theft) -> None:
    """Check that the exchange is named where the money was cashed out."""
    page.click_node(theft.key(theft.cash_out))
    page.panel_shows(theft.cash_out, "a click on the exchange does not open it")
    page.panel_shows(theft.exchange, "the exchange is not named")
    page.panel_shows("Came from", "the exchange received nothing")
    page.click("#panel [role=tab]", "Labels")
    page.panel_shows("source", "the tab Labels does not say who claims it")


def check_moves(page: Explore, theft: Theft) -> None:
    """Check dragging, pinning, laying out, undo and redo."""
    page.click_button("Close", "#panel")
    page.click_button("Fit", "#tools")
    key = theft.key(theft.cash_out)
    before = page.place(key)
    page.drag_node(key, -60, 20)
    moved = page.place(key)
    check(moved["y"] > before["y"] + 10, "dragging does not move an address")
    page.click_node(key)
    page.click_button("Pin", "#panel")
    check(page.graph(f"cy.getElementById({json.dumps(key)}).hasClass('pinned')"), "Pin leaves no mark in the picture")
    page.click_button("Lay out", "#tools")
    check(page.place(key) == moved, "a pinned address moves when all are laid out")
    for title in ("Lay out", "Pin", "Move"):
        page.click_button("Undo", "#tools")
        check(page.spoken().startswith(f"Undone: {title}"), f"undo of {title!r} says {page.spoken()!r}")
    check(page.place(key) == before, "undo does not put an address back")
    page.click_button("Redo", "#tools")
    check(page.place(key) == moved, "redo does not move an address again")
    page.click_button("Undo", "#tools")


def check_filters(page: Explore) -> None:
    """Check that filters by amount, asset and date take lines away and give them back."""
    page.click_button("Filters", "#tools")
    all_lines = sorted(page.lines())
    dates = str(page.graph("cy.edges()[0].data('label')")).split("\n")[1]
    day = re.findall(r"\d{4}-\d\d-\d\d", dates)[0]
    for label, text in (("At least US$", "3000"), ("Assets", "usdt"), ("To", _typed(day))):
        page.fill(label, text, "#filters")
        lines = sorted(page.lines())
        check(
            0 < len(lines) < len(all_lines),
            f"the filter {label} {text!r} leaves {len(lines)} of {len(all_lines)} lines",
        )
        check("(filtered" in page.text("#tools"), f"the filter {label} is not said beside the tools")
        page.click_button("No filter", "#filters")
        check(sorted(page.lines()) == all_lines, f"lines do not return without the filter {label}")
    page.click_button("Filters", "#tools")


def check_saved(page: Explore, folder: Path) -> None:
    """Check that the picture is saved, and that a saved case is the same once it is opened."""
    image = saved(page, folder, "Image", ".png").read_bytes()
    check(image.startswith(b"\x89PNG") and len(image) > 50_000, f"Image writes {len(image)} bytes: {image[:8]!r}")
    file = saved(page, folder)
    before = drawn(page)
    page.open()
    page.browser.choose_file("#tools input[type=file]", file)
    page.expect(
        f"document.querySelector('.canvas')._cyreg.cy.nodes().length === {len(before[0])}", "a case is not opened"
    )
    check(drawn(page) == before, "an opened case is drawn otherwise than it was saved")
    check("opened from headwater-case" in page.text("#tools"), "the page does not say that the case is from a file")
    page.quiet("an opened case")


def drawn(page: Explore) -> list[Any]:
    """Return what the picture shows, with the places of addresses."""
    found: list[Any] = page.graph(
        "[cy.nodes().map((one) => [one.data(), one.position(), one.classes().filter((name) => name !== 'at')]),"
        " cy.edges().map((one) => [one.data(), one.classes().filter((name) => !['at', 'read'].includes(name))])]"
    )
    return found


# Dates are typed as the language of the browser writes them: month, day, year.
def _typed(day: str) -> str:
    year, month, of_month = day.split("-")
    return f"{month}{of_month}{year}"
