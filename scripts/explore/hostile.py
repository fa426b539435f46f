"""Texts of strangers: in answers of the API, and in case files. They stay texts, whatever they look like."""

from __future__ import annotations

import copy
import csv
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explore import calls, secrets
from explore.session import Explore, Program, check, environment

TEXTS = (
    "</script><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u202egnp.exe\u202c",
    "z\u200be\u200dr\ufeffo",
    "l" + "o" * 9_998 + "ng",
    "__proto__",
    "<svg/onload=alert(1)>'\"`${alert(1)}",
)
_LINES = "first line\nsecond line"
_PAYER = "0x" + "a1" * 20
# Characters that are invisible or turn the direction of writing.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
# Elements and attributes that a page of this kind never has: they would be made of a text.
_STRANGE = """
[...document.querySelectorAll("*")].filter((one) =>
  ["IMG", "IFRAME", "OBJECT", "EMBED", "BASE", "A"].includes(one.tagName) ||
  (one.tagName === "SCRIPT" && !one.getAttribute("src")?.startsWith("/explore/")) ||
  [...one.attributes].some(({ name, value }) =>
    name.startsWith("on") || (/^(href|src|action|formaction|style)$/.test(name) && /script:/i.test(value))),
).map((one) => one.outerHTML.slice(0, 200))
"""
# Everything that is read on the page or aloud.
_SHOWN = """
document.body.innerText +
  [...document.querySelectorAll("[title], [aria-label]")].map((one) => one.title + one.ariaLabel)
"""
# The longest text of the panel besides commands, and the number of characters that it may have.
_LONGEST = """
Math.max(0, ...[...document.querySelectorAll("#panel :not(pre)")].flatMap((one) => [...one.childNodes])
  .filter((one) => one.nodeType === Node.TEXT_NODE).map((one) => one.data.length))
"""
_MAX_TEXT = 700
_POLLUTED = "[...Object.keys(Object.prototype), ...Object.keys(Array.prototype), ...Object.keys(Map.prototype)]"
Case = dict[str, Any]


# A store of hostile texts, in formats that people have.


def load(program: Program, folder: Path) -> None:
    """Load a store of a payer and payees whose names, labels, tokens and errors are hostile."""
    folder.mkdir()
    numbers = range(len(TEXTS))
    tokens, payees = ([f"0x{each + start:02x}" + f"{each + start:02x}" * 19 for each in numbers] for start in (1, 176))
    blocks = [f"0x{each + 101:02x}" + "00" * 31 for each in numbers]
    first, failed = [f"0x{each + 1:02x}" + "22" * 31 for each in numbers], [failed_hash(each) for each in numbers]
    gas = {"gas": 65_000, "gas_price": 12_000_000_000, "input": "0x"}
    transactions, transfers, traces = [], [], []
    for at in numbers:
        block = {"block_number": 20_000_000 + at}
        mined = {**block, "block_hash": blocks[at], "block_timestamp": 1_720_000_000 + 12 * at, "from_address": _PAYER}
        transactions.append(
            {
                "hash": first[at],
                "nonce": at,
                "transaction_index": 0,
                "to_address": tokens[at],
                "value": 0,
                **gas,
                **mined,
            }
        )
        transactions.append(
            {
                "hash": failed[at],
                "nonce": 50 + at,
                "transaction_index": 1,
                "to_address": payees[at],
                "value": 1000,
                **gas,
                **mined,
            }
        )
        ends = {"from_address": _PAYER, "to_address": payees[at]}
        transfers.append(
            {
                "token_address": tokens[at],
                **ends,
                "value": 250_000_000,
                "transaction_hash": first[at],
                "log_index": 1,
                **block,
            }
        )
        calling = {
            "input": "0x",
            "output": "0x",
            "trace_type": "call",
            "call_type": "call",
            "reward_type": "",
            "gas": 65_000,
        }
        ended = {
            "gas_used": 100,
            "subtraces": 0,
            "trace_address": "",
            "error": TEXTS[at],
            "status": 0,
            "trace_id": f"call_{failed[at]}_",
        }
        traces.append(
            {"transaction_hash": failed[at], "transaction_index": 1, **ends, "value": 1000, **calling, **ended, **block}
        )
    for name, rows in (("transactions", transactions), ("token_transfers", transfers), ("traces", traces)):
        write_table(folder / f"{name}.csv", rows)
    write_table(
        folder / "labels.csv",
        [
            {"address": payee, "chain": "ethereum", "code": "exchange", "entity": text, "source_url": TEXTS[1]}
            for payee, text in zip(payees, TEXTS, strict=True)
        ],
    )
    listed = [
        {"chainId": 1, "address": token, "symbol": text, "name": text, "decimals": 6}
        for token, text in zip(tokens, TEXTS, strict=True)
    ]
    version = {"major": 1, "minor": 0, "patch": 0}
    (folder / "tokens.json").write_text(
        json.dumps({"name": "hostile", "timestamp": "2024-01-01T00:00:00Z", "version": version, "tokens": listed})
    )
    program.run(
        "ingest",
        "--chain",
        "ethereum",
        *(str(folder / f"{name}.csv") for name in ("transactions", "token_transfers", "traces")),
    )
    program.run("tokens", "import", str(folder / "tokens.json"))
    program.run("labels", "import", str(folder / "labels.csv"), "--source", TEXTS[0], "--trust")


def failed_hash(at: int) -> str:
    """Return the hash of a transaction that failed with a hostile text."""
    return f"0x{at + 51:02x}" + "22" * 31


def write_table(file: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def load_corpus(program: Program, folder: Path, corpus: Path) -> list[str]:
    """Load odd lists of labels that people have; return the addresses that they name."""
    program.run("ingest", "--chain", "ethereum", str(folder / "transactions.csv"))
    for odd in sorted(corpus.iterdir()):
        # Many of the files are not lists of labels, and are refused.
        program.attempt("labels", "import", "--source", "odd", "--list", odd.name, str(odd))
    exported = folder / "odd.csv"
    program.run("labels", "export", str(exported))
    with exported.open(encoding="utf-8", newline="") as rows:
        return sorted({row["address"] for row in csv.DictReader(rows)})


# What must hold wherever the page is.


def check_texts(page: Explore, place: str) -> None:
    """Check that no text became an element or ran, that none is invisible, and that none is endless."""
    strange = page.run(_STRANGE)
    check(strange == [], f"{place}: texts became elements: {strange}")
    check(page.run(_POLLUTED) == [], f"{place}: the prototypes have {page.run(_POLLUTED)}")
    page.quiet(place)
    shown = page.run(_SHOWN)
    drawn = page.graph("cy.elements().map((one) => `${one.data('text') ?? ''} ${one.data('label') ?? ''}`).join(' ')")
    for text in (shown, drawn):
        found = _INVISIBLE.search(text)
        check(
            found is None,
            f"{place}: a character is invisible: {found and ascii(text[max(0, found.start() - 30) :][:60])}",
        )
    longest = page.run(_LONGEST)
    check(longest <= _MAX_TEXT, f"{place}: a text of {longest} characters is shown")
    check(page.run("document.documentElement.scrollWidth <= innerWidth"), f"{place} scrolls sideways")


def check_answers(page: Explore) -> int:
    """Open everything that answers of a hostile store fill; return the number of places."""
    page.open(f"#chain=ethereum&address={_PAYER}&outward=2&inward=0")
    page.expect(
        f"document.querySelector('.canvas')._cyreg.cy.nodes().length > {len(TEXTS)}",
        "the hostile store is not laid out",
    )
    places = 0

    def visit(place: str) -> None:
        nonlocal places
        check_texts(page, place)
        places += 1

    visit("the picture")
    for tab in ("Overview", "Risk", "Counterparties", "Labels", "Transfers", "Trace"):
        page.click("#panel [role=tab]", tab)
        visit(f"the tab {tab} of a payer")
    page.click_button("Close", "#panel")
    for at, line in enumerate(page.lines()):
        page.click_button("Fit", "#tools")
        page.click_line(line)
        page.panel_shows("From ", "a line does not open")
        visit(f"line {at}")
        page.click("#panel button.whole")
        page.panel_shows("Transfers", "a transaction does not open")
        visit(f"the transaction of line {at}")
        page.click_button("Close", "#panel")
    for at, key in enumerate(page.nodes()):
        page.click_button("Fit", "#tools")
        page.click_node(key)
        for tab in ("Labels", "Transfers"):
            page.click("#panel [role=tab]", tab)
            visit(f"the tab {tab} of address {at}")
        page.click_button("Close", "#panel")
    for at in range(len(TEXTS)):
        calls.look_up(page, failed_hash(at))
        page.panel_shows("status", "a failed transaction does not open")
        check("success" not in page.panel(), "a failed transaction is shown as a success")
        check(at > 0 or TEXTS[at] in page.panel(), "the error of a transaction is not shown as it is")
        visit(f"failed transaction {at}")
    page.click_button("Close", "#panel")
    check_note(page)
    visit("notes")
    for tool in ("Table", "Calls", "Help"):
        page.click_button(tool, "#tools")
        visit(tool)
    page.click_button("Table", "#tools")
    return places


def check_labels(page: Explore, addresses: list[str]) -> None:
    """Look addresses up, and check the claims about each."""
    page.open()
    for address in addresses:
        calls.look_up(page, address)
        page.panel_shows(address, "an address of a list is not found")
        page.click("#panel [role=tab]", "Labels")
        check_texts(page, f"the labels of {address}")
    page.click_button("Table", "#tools")
    check_texts(page, "the table of addresses of odd lists")


def check_note(page: Explore) -> None:
    """Write hostile notes."""
    for key, text in zip(page.nodes(), TEXTS, strict=False):
        page.click_button("Fit", "#tools")
        page.click_node(key)
        page.click("#panel textarea")
        page.browser.write(text)
        page.click_button("Close", "#panel")


def check_search(page: Explore) -> None:
    """Check that hostile texts in the search stay texts; the server refuses some of them."""
    page.open()
    for text in TEXTS:
        calls.look_up(page, text[:300])
    strange = page.run(_STRANGE)
    check(strange == [], f"the search made elements: {strange}")
    blocked = page.run("blockedByPolicy")
    check(blocked == [], f"the search met the policy: {blocked}")


# Case files.


def path_of_call(path: str) -> Callable[[Case], None]:
    """Return a change that sets the path of the first call."""
    return lambda case: case["calls"][0].update(path=path)


def put(name: str, /, **fields: Any) -> Callable[[Case], None]:  # noqa: ANN401
    """Return a change that sets fields of the first row of a list."""
    return lambda case: case[name][0].update(fields)


def repeat(name: str, count: int) -> Callable[[Case], None]:
    """Return a change that makes a list too long."""

    def change(case: Case) -> None:
        case[name] = case[name][:1] * count

    return change


# Changes that make a case invalid, with the place that the error must name.
REFUSED: tuple[tuple[str, Callable[[Case], None]], ...] = (
    ("not a case of version", lambda case: case.update(version=2)),
    ("not a case of version", lambda case: case.update(format=None)),
    ("addresses:", lambda case: case.update(addresses=None)),
    ("addresses:", lambda case: case.update(addresses={"length": 1})),
    ("addresses[0]:", lambda case: case["addresses"].insert(0, None)),
    ("addresses[0]:", lambda case: case["addresses"].insert(0, [])),
    ("addresses[0].chain", put("addresses", chain=5)),
    ("addresses[0].chain", put("addresses", chain=None)),
    ("addresses[0].address", put("addresses", address=TEXTS[0])),
    ("addresses[0].address", put("addresses", address="1" * 10_000)),
    ("addresses[0].name", put("addresses", name={"toString": "x"})),
    ("addresses[0].labels", put("addresses", labels="exchange")),
    ("addresses[0].labels", put("addresses", labels=["exchange"] * 51)),
    ("addresses[0].labels[1]", put("addresses", labels=["exchange", 7])),
    ("addresses[0].x", put("addresses", x="left")),
    ("addresses[0].x", put("addresses", x=1e300)),
    ("addresses[0].x", put("addresses", x=None)),
    ("addresses[0].column", put("addresses", column=0.5)),
    ("addresses[0].isPinned", put("addresses", isPinned="yes")),
    ("addresses[0].note", put("addresses", note=["x"])),
    ("addresses[0].risk.level", put("addresses", risk={"score": 1, "level": "<b>", "assessment": "full"})),
    ("addresses[0].risk.score", put("addresses", risk={"score": -1, "level": "low", "assessment": "full"})),
    ("addresses: expected a list of at most", repeat("addresses", 3_001)),
    ("payments: expected a list of at most", repeat("payments", 30_001)),
    ("calls: expected a list of at most", repeat("calls", 5_001)),
    ("payments[0].from", put("payments", **{"from": "ethereum:0x00"})),
    ("payments[0].to", put("payments", to="__proto__")),
    ("payments[0].raw", put("payments", raw=1)),
    ("payments[0].raw", put("payments", raw="1e5")),
    ("payments[0].amount", put("payments", amount="<img>")),
    ("payments[0].usd", put("payments", usd="1")),
    ("payments[0].count", put("payments", count=0)),
    ("payments[0].first", put("payments", first=-1)),
    ("payments[0].hashes[0]", put("payments", hashes=["../../x y"])),
    ("payments[0].contract", put("payments", contract=TEXTS[1] + " ")),
    ("payments[0].crossing", put("payments", crossing="bridge")),
    ("payments[0].crossing.bridge", put("payments", crossing={"bridge": 1})),
    ("calls[0].method", put("calls", method="DELETE")),
    ("calls[0].path", path_of_call("@evil.example/x")),
    ("calls[0].path", path_of_call("//evil.example")),
    ("calls[0].path", path_of_call("https://evil.example/v1/trace")),
    ("calls[0].path", path_of_call("/v1/../../x")),
    ("calls[0].path", path_of_call("/v1/trace?key=1")),
    ("calls[0].path", path_of_call("/v1/trace\n")),
    ("calls[0].path", path_of_call("\\\\evil.example\\v1")),
    ("calls[0].path", path_of_call("/admin/keys")),
    ("calls[0].args", put("calls", args="[1]")),
    ("calls[0].args", put("calls", args="alert(1)")),
    ("calls[0].args", put("calls", args={"q": 1})),
    ("calls[0].credits", put("calls", credits="free")),
    ("calls[0].at", put("calls", at=1e99)),
    ("calls[0].request_id", put("calls", request_id=None)),
)
# Whole files that are not cases.
BROKEN = (
    ("not JSON", b""),
    ("not JSON", b"<script>alert(1)</script>"),
    ("not JSON", b'{"format": "headwater-case"'),
    ("the file", b"[]"),
    ("the file", b"null"),
    ("the file", b"[" * 200_000),
    ("the file", b"\xff\xfe\x00"),
    ("the file has", b" " * 50_000_001),
    ("the file", b'{"__proto__": {"format": "headwater-case", "version": 1}}'),
)


def check_files(page: Explore, folder: Path) -> int:
    """Check that broken cases are refused with a place and change nothing; return their number."""
    case = json.loads(secrets.saved(page, folder / "saved").read_text(encoding="utf-8"))
    check(
        len(case["addresses"]) > 1 and len(case["payments"]) > 0 and len(case["calls"]) > 0, "the saved case is empty"
    )
    before = (page.nodes(), page.lines())
    file = folder / "case.json"
    count = 0
    for place, content in (*((place, changed(case, change)) for place, change in REFUSED), *BROKEN):
        file.write_bytes(content)
        open_file(page, file)
        page.expect("!document.querySelector('#notice').hidden", f"a case with a fault at {place!r} is opened")
        notice = page.notice()
        check(
            notice.startswith("case.json cannot be opened: "), f"a case with a fault at {place!r} is opened: {notice!r}"
        )
        check(place in notice, f"the error of a case does not name {place!r}: {notice!r}")
        check((page.nodes(), page.lines()) == before, f"a case that was refused at {place!r} changed the picture")
        count += 1
    page.quiet("refused files")
    return count


def changed(case: Case, change: Callable[[Case], None]) -> bytes:
    """Return a case with a change."""
    copied = copy.deepcopy(case)
    change(copied)
    return json.dumps(copied).encode()


def open_file(page: Explore, file: Path) -> None:
    """Open a case file, as the dialog of the button Open does."""
    if page.notice():
        page.click_button("Close", "#notice")
    page.browser.choose_file("#tools input[type=file]", file)
    page.expect("!document.querySelector('#notice').hidden", "a case file is neither opened nor refused")
    page.settle()


def check_opened(page: Explore, folder: Path) -> None:
    """Check that a valid case of hostile texts is drawn, asks nothing, and gives commands that do what they say."""
    case = json.loads(secrets.saved(page, folder / "saved").read_text(encoding="utf-8"))
    mark = folder / "ran"
    command = f"'; touch {mark}; '$(touch {mark})`touch {mark}`\";touch {mark};#\n"
    fill_with_texts(case, command)
    text = json.dumps(case).replace('"version": ', '"__proto__": {"polluted": 1, "isFree": true}, "version": ', 1)
    text = text.replace(
        '{"chain": ', '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "chain": '
    )
    check("polluted" in text, "the hostile case has no prototypes")
    file = folder / f"case {TEXTS[2]}.json"
    file.write_text(text, encoding="utf-8")
    page.open()
    asked = len(calls.made(page))
    open_file(page, file)
    check("Opened from a file" in page.notice(), f"a valid case is refused: {page.notice()!r}")
    check(len(page.nodes()) == len(case["addresses"]), "the opened case is not drawn")
    page.click_node(page.nodes()[0])
    note = page.run("document.querySelector('#panel textarea').value")
    check(note == _LINES, f"a note of two lines is {note!r} once it is opened")
    check_opened_places(page)
    check(len(calls.made(page)) == asked, "an opened case asks by itself")
    page.click_button("Calls", "#tools")
    check_texts(page, "the calls of an opened case")
    snippets = page.run("[...document.querySelectorAll('#panel pre')].map((one) => one.textContent)")
    check(len(snippets) >= 2, "the calls of an opened case have no commands")
    for snippet in snippets:
        subprocess.run(["sh", "-c", snippet], env=environment("none"), capture_output=True, check=False, cwd=folder)
        check(not mark.exists(), f"a command of an opened case runs a text of it:\n{snippet}")


def fill_with_texts(case: Case, command: str) -> None:
    """Write hostile texts wherever a case takes text."""
    for at, one in enumerate(case["addresses"]):
        text = TEXTS[at % len(TEXTS)]
        one.update(name=text, note=text, labels=[text, *TEXTS[:3]], cluster=text, end=text)
        one["risk"] = {"score": 99.5, "level": "high", "assessment": "full"}
    for at, payment in enumerate(case["payments"]):
        text = TEXTS[at % len(TEXTS)]
        crossing = {
            "bridge": text,
            "from": text,
            "to": text,
            "sourceHash": "",
            "hash": "",
            "receiver": text,
            "status": text,
        }
        payment.update(
            symbol=text, key=f"{at} {text}"[:500], raw="9" * 90, amount="1" + "0" * 80 + ".5", crossing=crossing
        )
    case["addresses"][0]["note"] = _LINES
    first = {"credits": 1, "at": 1, "request_id": TEXTS[0]}
    args = json.dumps({"q": command, command: command, "__proto__": {"polluted": 1}})
    case["calls"] = [
        {"method": "GET", "path": "/v1/addresses/resolve", "args": args, **first},
        {"method": "POST", "path": "/v1/trace", "args": args, **first},
    ]


def check_opened_places(page: Explore) -> None:
    """Check the texts of an opened case wherever it shows them."""
    check_texts(page, "the picture of an opened case")
    clicks = [(page.click_node, key) for key in page.nodes()[:4]] + [
        (page.click_line, line) for line in page.lines()[:4]
    ]
    for click, one in clicks:
        page.click_button("Fit", "#tools")
        click(one)
        check_texts(page, f"{one} of an opened case")
        page.click_button("Close", "#panel")
    page.click_button("Table", "#tools")
    check_texts(page, "the table of an opened case")
    page.click_button("Table", "#tools")
