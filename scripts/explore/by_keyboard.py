"""The theft by keys alone on a server that wants a key: no mouse, and no focus that the page did not give."""

from __future__ import annotations

import json

from browser import Browser
from explore.by_mouse import Theft
from explore.session import Explore, Program, Server, check

_NOTE = "Cashed out here: <b>ask the exchange</b>"


def check_case(browser: Browser, server: Server, theft: Theft, program: Program, secret: str) -> Explore:
    """Follow the theft from the empty page to the exchange; return the page."""
    page = Explore(browser, server.origin)
    page.open()
    check_key(page, secret)
    check_search(page, theft)
    for address in way_to_cash_out(program, theft):
        check_payments_out(page, theft, address)
    check_risk(page, theft)
    check_note(page, theft)
    check_pin(page, theft)
    check_table(page, theft)
    page.quiet("the theft by keys")
    return page


def way_to_cash_out(program: Program, theft: Theft) -> list[str]:
    """Return the payers on a shortest way from the thief to the exchange."""
    options = ["--chain", theft.chain, "--outward", "3", "--inward", "0"]
    edges = program.ask("trace", theft.thief, *options)["data"]["edges"]
    before = {theft.thief: ""}
    queue = [theft.thief]
    for here in queue:
        for edge in edges:
            there = edge["to_address"]
            if edge["from_address"] == here and edge["to_blockchain"] == theft.chain and there not in before:
                before[there] = here
                queue.append(there)
    check(theft.cash_out in before, "the trace of the program does not reach the exchange")
    way = [before[theft.cash_out]]
    while before[way[0]]:
        way.insert(0, before[way[0]])
    return way


def check_key(page: Explore, secret: str) -> None:
    """Check that the empty page wants a key, and takes it from the keyboard."""
    check("wants an API key" in page.text("#welcome"), "the empty page does not say that a key is wanted")
    page.tab_to("Enter an API key")
    page.press("Enter")
    check(bool(page.run("document.querySelector('dialog').open")), "the button Key opens no dialog")
    check(page.focused() == "Key", f"the dialog puts the focus on {page.focused()!r}")
    page.browser.write(secret)
    page.press("Enter")
    page.expect("document.querySelector('#welcome li') !== null", "a key does not show the chains that are held")


def check_search(page: Explore, theft: Theft) -> None:
    """Check that the thief is found by his address."""
    page.press("/")
    check(page.focused().startswith("Address, transaction"), f"the key / puts the focus on {page.focused()!r}")
    page.browser.write(theft.thief)
    page.press("Enter")
    page.panel_shows(theft.thief, "the look-up does not open the thief")
    check(
        bool(page.run("document.querySelector('#panel') === document.activeElement")),
        "the panel does not get the focus",
    )
    page.press("Escape")
    check(page.panel() == "", "Escape does not close the panel")
    check(on_picture(page), f"Escape leaves the focus on {page.focused()!r}")


def on_picture(page: Explore) -> bool:
    """Return whether the picture has the focus."""
    return bool(page.run("document.activeElement.classList.contains('canvas')"))


def check_payments_out(page: Explore, theft: Theft, address: str) -> None:
    """Check that the arrow keys reach an address, and that O asks whom it paid."""
    page.walk_to(theft.key(address))
    short = f"{address[:6]}…{address[-4:]}"
    check(short in page.spoken(), f"the arrow keys say {page.spoken()!r}, not {short}")
    before = len(page.nodes())
    page.press("o")
    added = len(page.nodes()) - before
    check(added > 0, f"O adds nothing to {short}: {page.notice()!r}")
    expected = f"Money out of {short}: {added} address"
    check(page.spoken().startswith(expected), f"O says {page.spoken()!r}, not {expected!r}")
    check(on_picture(page), f"O moves the focus to {page.focused()!r}")


def check_risk(page: Explore, theft: Theft) -> None:
    """Check that Enter opens the exchange, and that arrows and Enter choose the tab Risk."""
    page.walk_to(theft.key(theft.cash_out))
    check(theft.exchange in page.spoken(), f"at the exchange is said {page.spoken()!r}")
    page.press("Enter")
    page.panel_shows(theft.cash_out, "Enter does not open the exchange")
    page.tab_to("Here")
    page.press_until(
        "ArrowRight", lambda: page.focused().startswith("Risk"), "arrows do not reach the tab Risk", limit=8
    )
    page.press("Enter")
    page.panel_shows("Why this score", "the tab Risk does not say why")
    check(page.focused().startswith("Risk"), f"an answer moves the focus to {page.focused()!r}")
    page.press("Escape")
    check(on_picture(page), f"Escape leaves the focus on {page.focused()!r}")


def note_of(page: Explore, theft: Theft) -> bool:
    """Return whether the exchange is marked as noted in the picture."""
    return (
        "note"
        in str(page.graph(f"cy.getElementById({json.dumps(theft.key(theft.cash_out))}).data('text')")).split("\n")[-1]
    )


def check_note(page: Explore, theft: Theft) -> None:
    """Check that N writes a note, that Escape keeps it, and that undo and redo work."""
    page.press("n")
    check(page.focused() == "Note", f"N puts the focus on {page.focused()!r}")
    page.browser.write(_NOTE)
    page.press("Escape")
    check(on_picture(page), f"Escape leaves the focus of a note on {page.focused()!r}")
    check(note_of(page, theft), "a note is lost when Escape closes the panel")
    page.press("z", control=True)
    check(page.spoken().startswith("Undone: Note"), f"Ctrl+Z says {page.spoken()!r}")
    check(not note_of(page, theft), "Ctrl+Z leaves the note")
    page.press("y", control=True)
    check(note_of(page, theft), "Ctrl+Y does not bring the note back")


def check_pin(page: Explore, theft: Theft) -> None:
    """Check that P pins and frees."""
    for word in ("is pinned", "is free"):
        page.press("p")
        check(word in page.spoken(), f"P says {page.spoken()!r}, not that it {word}")
    lines = len(page.lines())
    page.press("i")
    check(page.spoken().startswith("Money into"), f"I says {page.spoken()!r}")
    check(len(page.lines()) > lines, "I adds no lines")


def check_table(page: Explore, theft: Theft) -> None:
    """Check that the table lists what the picture shows, and that its links open addresses."""
    page.tab_to("Table", back=True)
    page.press("Enter")
    check("Addresses" in page.focused(), f"the button Table puts the focus on {page.focused()[:60]!r}")
    table = page.text("#table")
    for text in (f"Addresses: {len(page.nodes())}", theft.exchange, _NOTE):
        check(text in table, f"the table lacks {text!r}")
    page.press("Tab")
    title = page.run("document.activeElement.title")
    page.press("Enter")
    page.panel_shows(title, "a link of the table does not open the address")
    page.press("Escape")
    check("Addresses" in page.focused(), f"Escape leaves the focus of the table on {page.focused()[:60]!r}")
    page.tab_to("Table", back=True)
    page.press("Enter")
    check(
        bool(page.run("document.querySelector('.canvas').checkVisibility()")),
        "the button Table does not show the picture again",
    )
