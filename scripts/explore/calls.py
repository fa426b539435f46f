"""A session of every kind of call: its credits, and the same calls in curl and Python."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from explore import secrets
from explore.by_mouse import Theft
from explore.session import Explore, Program, check, checks, environment

# Fields in data that are about one answer: its duration, its origin, its time.
_OF_ONE_ANSWER = ("query_duration_ms", "cached", "computed_at")
# Runs a snippet of the page, whose last line is an expression, and prints the data of the report that it makes.
_RUNNER = """
import ast, json, sys
tree = ast.parse(sys.stdin.read())
last = ast.Expression(tree.body.pop().value)
names = {}
exec(compile(tree, "snippet", "exec"), names)
report = eval(compile(last, "snippet", "eval"), names)
print(json.dumps({"rows": len(report), "data": getattr(report, "data", None)}))
"""


@dataclass
class Call:
    """A call that the page made, with its answer."""

    method: str
    path: str
    body: str | None
    answer: dict[str, Any]


def every_kind(page: Explore, theft: Theft) -> None:
    """Make every kind of call by clicking."""
    page.open(f"#chain={theft.chain}&address={theft.thief}&outward=3&inward=0")
    page.panel_shows(theft.thief, "a link does not open its address")
    page.click_button("Money in", "#panel")
    page.click_button("Money out", "#panel")
    page.click("#panel summary", "Trace over several hops")
    page.click_button("Trace", "#panel")
    page.panel_shows("Where the money went", "Trace does not list where the money went")
    for tab in ("Overview", "Risk", "Counterparties", "Labels", "Transfers"):
        page.click("#panel [role=tab]", tab)
        page.expect(
            f"document.querySelector('#panel [aria-selected=true]')?.textContent.startsWith('{tab}')",
            f"the tab {tab} does not open",
        )
    page.click("#panel [role=tab]", "Here")
    page.click("#panel li button[title=Payments]")
    page.click_button("All transfers between the two", "#panel")
    page.click("#panel button.whole")
    page.click_button("Other side of a bridge", "#panel")
    page.click_button("Risk of", "#tools")
    page.expect("document.querySelector('#spoken').textContent.includes('judged')", "Risk of all says nothing")
    look_up(page, theft.bitcoin_exchange)
    page.click("#panel [role=tab]", "Cluster")
    page.panel_shows("weakest link", "the tab Cluster does not open")
    page.click("#panel [role=tab]", "Transfers")
    page.click("#panel td:last-child button.link")
    page.panel_shows("Inputs", "a Bitcoin transaction does not open")
    page.click_button("Which output is change", "#panel")
    page.panel_shows("change", "the change of a transaction is not shown")
    page.click_button("Back", "#panel")
    page.expect(
        "document.querySelector('#panel [aria-selected=true]')?.textContent.startsWith('Transfers')",
        "Back does not return to the tab that was left",
    )
    look_up(page, theft.exchange)
    page.panel_shows("of that name", "a name is not looked up")


def look_up(page: Explore, text: str) -> None:
    """Look a text up with the search."""
    page.click("#search input")
    page.browser.press("a", control=True)
    page.browser.write(text)
    page.press("Enter")


def made(page: Explore) -> list[Call]:
    """Return the calls that the page made since it was opened, with their answers."""
    calls = []
    for event in list(page.browser.events):
        if event["method"] != "Network.requestWillBeSent":
            continue
        request = event["params"]["request"]
        path = request["url"].removeprefix(page.origin)
        if path.startswith("/v1/"):
            body = page.browser.call("Network.getResponseBody", requestId=event["params"]["requestId"])["body"]
            calls.append(Call(request["method"], path, request.get("postData"), json.loads(body)))
    return calls


def check_link(page: Explore, theft: Theft) -> None:
    """Check that a link asks nothing by itself where a key is needed, with a key or without."""
    page.open(f"#chain={theft.chain}&address={theft.thief}&outward=3&inward=0")
    page.panel_shows(theft.thief, "a link does not open its address")
    paid = [call.path for call in made(page) if not call.path.startswith("/v1/chains")]
    check(paid == [], f"a link asks by itself: {paid}")


def check_credits(page: Explore, program: Program, key: str, before: int) -> int:
    """Check that used and left credits are those of the state; return those used."""
    shown = page.text("#credits")
    found = re.search(r"([\d,]+) credits? used here · ([\d,]+) left", shown)
    if found is None:
        checks.fail(f"the page shows no credits: {shown!r}")
    used, left = (int(each.replace(",", "")) for each in found.groups())
    usage = program.ask("usage", key)
    check(
        left == usage["credit_remaining"], f"the page shows {left} credits left, the state {usage['credit_remaining']}"
    )
    check(used == before - left, f"the page shows {used} credits used, the state {before - left}")
    charged = sum(call.answer.get("meta", {}).get("credit_cost", 0) for call in made(page))
    check(used == charged, f"the page shows {used} credits used, its answers say {charged}")
    return used


def check_repeated(page: Explore, theft: Theft) -> None:
    """Check that what was asked before is shown again for nothing."""
    look_up(page, theft.thief)
    calls, shown = len(made(page)), page.text("#credits")
    look_up(page, theft.bitcoin_exchange)
    look_up(page, theft.thief)
    page.panel_shows(theft.thief, "the thief is not found again")
    price = "·"
    for tab in ("Overview", "Risk", "Counterparties", "Labels", "Transfers"):
        tabs = page.run("[...document.querySelectorAll('#panel [role=tab]')].map((tab) => tab.textContent)")
        text = next(text for text in tabs if text.startswith(tab))
        check(price not in text, f"the tab {text!r} has a price, but its answer is at hand")
        page.click("#panel [role=tab]", tab)
    page.click_button("Money out", "#panel")
    check(page.text("#credits") == shown, f"what was asked before costs: {page.text('#credits')!r} after {shown!r}")
    again = [call.path for call in made(page)[calls:]]
    check(again == [], f"what was asked before is asked again: {again}")


def check_refusals(page: Explore, theft: Theft, program: Program) -> None:
    """Check that the page says what helps where a key is wrong, or its credits are used up."""
    page.open()
    secrets.give(page, "hw_live_wrong")
    page.expect("document.querySelector('dialog').open", "a wrong key opens no dialog")
    check("Enter a key" in page.notice(), f"of a wrong key is said {page.notice()!r}")
    page.click_button("Cancel", "dialog")
    # Enough for one look-up.
    secrets.give(page, program.key(5)["key"])
    look_up(page, theft.thief)
    page.panel_shows(theft.thief, "the thief is not found with the last credits")
    check("0 left" in page.text("#credits"), f"of used up credits is shown {page.text('#credits')!r}")
    before = page.nodes()
    page.click_button("Money out", "#panel")
    page.expect("!document.querySelector('#notice').hidden", "a call without credits says nothing")
    check("used up" in page.notice() and "Request" in page.notice(), f"of used up credits is said {page.notice()!r}")
    check(page.nodes() == before, "a call without credits changes the picture")


def check_snippets(page: Explore, secret: str) -> tuple[int, list[str]]:
    """Run every call of the session in curl and Python; return their number and what is left out."""
    page.click_button("Calls", "#tools")
    snippets: list[list[str]] = page.run(
        "[...document.querySelectorAll('#panel details.same')].map((each) =>"
        "[...each.querySelectorAll('pre')].map((one) => one.textContent)).reverse()"
    )
    calls = made(page)
    check(len(snippets) == len(calls), f"the page made {len(calls)} calls, and lists {len(snippets)}")
    left_out = []
    has_package = importlib.util.find_spec("headwater") is not None
    if not has_package:
        left_out.append(f"calls in Python, because {sys.executable} has no package headwater")
    for call, (in_curl, *in_python) in zip(calls, snippets, strict=True):
        check(secret not in in_curl + "".join(in_python), f"the snippets of {call.path} contain the key")
        check_curl(call, in_curl, secret)
        check(len(in_python) == 1, f"{call.path} has no snippet in Python")
        if has_package:
            check_python(call, in_python[0], secret)
    return len(snippets), left_out


def check_curl(call: Call, snippet: str, secret: str) -> None:
    """Check that a call in curl gives the data that the page got."""
    done = subprocess.run(["sh", "-c", snippet], env=environment(secret), capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"curl of {call.path} ends with {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    check("data" in answer, f"curl of {call.path} answers {done.stdout[:400]}")
    other = difference(answer["data"], call.answer["data"])
    check(other is None, f"curl of {call.path} gives other data than the page got: {other}\n{snippet}")


def difference(one: Any, other: Any, place: str = "data") -> str | None:  # noqa: ANN401
    """Return the first place at which two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        found = (difference(one[name], other[name], f"{place}.{name}") for name in one if name not in _OF_ONE_ANSWER)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = (difference(*pair, f"{place}[{at}]") for at, pair in enumerate(zip(one, other, strict=True)))
    else:
        return None if one == other else f"{place}: {str(one)[:200]} and {str(other)[:200]}"
    return next(filter(None, found), None)


def check_python(call: Call, snippet: str, secret: str) -> None:
    """Check that a call in Python runs, and has the data or the rows that the page got."""
    command = [sys.executable, "-c", _RUNNER]
    done = subprocess.run(command, input=snippet, env=environment(secret), capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"Python of {call.path} ends with an error: {done.stderr[-800:]}\n{snippet}")
    report = json.loads(done.stdout)
    data = call.answer["data"]
    if report["data"] is not None:
        other = difference(report["data"], data)
        check(other is None, f"Python of {call.path} gives other data than the page got: {other}\n{snippet}")
    else:
        rows = len(data["results"])
        check(report["rows"] == rows, f"Python of {call.path} has {report['rows']} rows, the page {rows}")
