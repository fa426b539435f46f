"""Prices from a service: a fake one that answers in the forms of CoinGecko and DefiLlama."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import headwater as hw
import pytest
from conftest import headwater
from headwater import examples

DAY = 86_400
LINK = "ethereum:0x514910771af9ca656af840dff83e8264ecf986ca"
# The four transfers of the examples are of the 13th of September 2020.
FIRST = 1_599_955_200 // DAY
START, END = date(2020, 9, 13), date(2020, 9, 22)


class PriceService:
    """The service: its address, the requests it received, and the way in which it goes wrong."""

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.fault = ""
        self.released = threading.Event()

    def usd(self, day: int) -> float | None:
        """Return the price on a day; an outlier and a gap where they are asked for."""
        if self.fault == "outlier" and day == FIRST + 4:
            return 150.0
        return None if self.fault == "gap" and day == FIRST + 4 else 15.0 + day % 3

    def answer(self, path: str, query: dict[str, str]) -> Any:  # noqa: ANN401
        """Return the answer to a request; none where it is refused."""
        symbol = "meth" if self.fault == "symbol" else "link"
        match path.strip("/").split("/"):
            case ["coins", "list"]:
                platforms = {"ethereum": LINK.removeprefix("ethereum:")}
                return [{"id": "chainlink", "symbol": symbol, "name": "Chainlink", "platforms": platforms}]
            case ["coins", "chainlink", "market_chart", "range"]:
                midnights = range(int(query["from"]) // DAY + 1, int(query["to"]) // DAY + 1)
                return {"prices": [[day * DAY * 1000, self.usd(day - 1)] for day in midnights if self.usd(day - 1)]}
            case ["chart", coin]:
                first, step = int(query["start"]), 3_600 if query["period"] == "1h" else DAY
                times = [first + number * step - 40 for number in range(int(query["span"]))]
                prices = [
                    {"timestamp": time, "price": self.usd(time // DAY)} for time in times if self.usd(time // DAY)
                ]
                return {"coins": {coin: {"symbol": symbol.upper(), "confidence": 0.99, "prices": prices}}}
            case ["prices", "historical", second, coin]:
                price = {"timestamp": int(second) - 40, "price": self.usd(int(second) // DAY)}
                return {"coins": {coin: {"symbol": symbol.upper(), "confidence": 0.99, **price}}}
        return None


@pytest.fixture
def service() -> Iterator[PriceService]:
    """A running service."""
    fake = PriceService()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            fake.paths.append(self.path)
            fake.keys.append(self.headers["x-cg-pro-api-key"])
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if fake.fault == "hang" and len(fake.paths) == 2:
                fake.released.wait(timeout=60)
            answer = None if fake.fault == "refused" else fake.answer(parts.path, query)
            body = json.dumps({"error": "no KEY-123"} if answer is None else answer).encode()
            self.send_response(401 if fake.fault == "refused" else 200 if answer is not None else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        fake.url = url
        yield fake


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[str]:
    """Run a server, and give its address."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def ledger(tmp_path: Path) -> hw.Ledger:
    """A ledger over a store of the four transfers."""
    return hw.ingest(examples.exports(tmp_path), tmp_path / "store").open()


def fetch(ledger: hw.Ledger, service: PriceService, **options: Any) -> hw.PriceReport:  # noqa: ANN401
    """Fetch ten days of one symbol."""
    source: Literal["coingecko", "defillama"] = options.pop("source", "defillama")
    asked = {"symbols": "link", "start": START, "end": END, "key_type": "pro", "url": service.url, **options}
    return ledger.fetch_prices(source, **asked)


COUNTS = ("held", "asked", "stored", "set_aside", "missing", "out_of_reach", "open")


def counts(report: hw.PriceReport) -> dict[str, int]:
    """Return the counts of the first symbol that are not zero."""
    row = report.frame.row(0, named=True)
    return {name: row[name] for name in COUNTS if row[name]}


@pytest.mark.parametrize("source", ["coingecko", "defillama"])
def test_fetch_stores_missing_days_once(ledger: hw.Ledger, service: PriceService, source: str) -> None:
    report = fetch(ledger, service, source=source)
    assert counts(report) == {"asked": 10, "stored": 10}
    assert (report.source, report.step, report.version, report.stored) == (source, "1d", 1, 10)
    requests = f"{report.requests} request{'s' if report.requests > 1 else ''}"
    assert repr(report) == f"<PriceReport {source} 1d: 10 prices, {requests}: version 1>"
    assert report.frame["last"][0] == datetime(2020, 9, 22, 23, 59, 59, tzinfo=timezone.utc)
    end = (FIRST + 4) * DAY - 1
    assert ledger.prices("link", at=end).rows[0]["price_usd"] == service.usd(FIRST + 3)
    service.paths.clear()
    again = fetch(ledger, service, source=source)
    assert counts(again) == {"held": 10}
    assert (service.paths, again.version, "no new price" in repr(again)) == ([], None, True)
    # The next day alone is asked for.
    assert counts(fetch(ledger, service, source=source, end=date(2020, 9, 24))) == {"held": 10, "asked": 2, "stored": 2}


def test_fetch_reports_what_it_does_not_store(ledger: hw.Ledger, service: PriceService) -> None:
    service.fault = "outlier"
    report = fetch(ledger, service)
    assert counts(report) == {"asked": 10, "stored": 9, "set_aside": 1}
    assert report.refused.select("symbol", "usd", "code").rows() == [("link", 150.0, "neighbours")]
    assert "150 US dollars of 2020-09-17 23:59:59Z not stored" in report.notes[0]
    service.fault = "gap"
    assert counts(fetch(ledger, service, symbols="link=chainlink", source="coingecko")) == {
        "held": 9,
        "asked": 1,
        "missing": 1,
    }
    service.fault = ""
    assert counts(fetch(ledger, service)) == {"held": 9, "set_aside": 1}
    assert counts(fetch(ledger, service, ask_again=True)) == {"held": 9, "asked": 1, "stored": 1}


def test_fetch_refuses_a_wrong_symbol(ledger: hw.Ledger, service: PriceService) -> None:
    service.fault = "symbol"
    with pytest.raises(hw.Unavailable, match=r'"METH" at the service.*nothing was stored'):
        fetch(ledger, service)
    with pytest.raises(hw.InvalidInput, match=r"SYMBOL=ID, or add it by `ledger.import_tokens`"):
        fetch(ledger, service, symbols="unknown")


def test_fetch_sends_the_key_and_never_shows_it(
    ledger: hw.Ledger, service: PriceService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_PRICES_KEY", "KEY-123")
    monkeypatch.setenv("MINE", "KEY-456")
    (tmp_path / "key").write_text("KEY-789\n")
    choices: dict[str, dict[str, Any]] = {
        "KEY-123": {},
        "KEY-456": {"key_env": "MINE"},
        "KEY-789": {"key_file": tmp_path / "key"},
    }
    for key, options in choices.items():
        service.keys.clear()
        fetch(ledger, service, source="coingecko", end=START, **options)
        assert set(service.keys) == {key}
        headwater("prices", "rollback", "--store", tmp_path / "store", str(len(versions(tmp_path / "store"))))
    service.fault = "refused"
    with pytest.raises(hw.Unavailable, match="refuses the caller with status 401") as caught:
        fetch(ledger, service, source="coingecko")
    assert "KEY" not in str(caught.value)
    monkeypatch.delenv("MINE")
    with pytest.raises(hw.InvalidInput, match="key_env: the environment has no variable 'MINE'"):
        fetch(ledger, service, key_env="MINE")


def versions(store: Path) -> list[dict[str, Any]]:
    """Return the versions of prices, without the core."""
    listed = json.loads(headwater("prices", "list", "--json", "--store", store).stdout)["imports"]
    return [version for version in listed if version["version"] > 0]


def test_fetch_equals_the_command_line(service: PriceService, tmp_path: Path) -> None:
    stores = tmp_path / "command", tmp_path / "python"
    service.fault = "outlier"
    for store in stores:
        hw.ingest(examples.exports(tmp_path), store)
    options = ["--source", "coingecko", "--symbols", "link", "--key-type", "pro", "--url", service.url]
    times = ["--from", "2020-09-13", "--to", "2020-09-22"]
    command: list[str | Path] = ["prices", "fetch", *options, *times, "--store", stores[0]]
    assert "10 prices to ask for; requests: 2" in headwater(*command, "--plan").stdout
    printed = json.loads(headwater(*command, "--json").stdout)
    assert fetch(hw.open(stores[1]), service, source="coingecko").to_dict() == printed
    assert versions(stores[0]) == versions(stores[1])
    assert versions(stores[0])[0]["source"] == "coingecko"
    shown = headwater(*command).stdout
    assert "no new price; requests: 0" in shown
    assert "150 US dollars of 2020-09-17 23:59:59Z not stored" in shown


def test_killed_fetch_continues(ledger: hw.Ledger, service: PriceService, tmp_path: Path) -> None:
    store = tmp_path / "store"
    script = Path(sys.executable).with_name("headwater")
    options = [
        "--source",
        "defillama",
        "--symbols",
        "link",
        "--step",
        "1h",
        "--from",
        "2020-09-13",
        "--to",
        "2020-10-12",
    ]
    service.fault = "hang"
    process = subprocess.Popen(
        [script, "prices", "fetch", *options, "--url", service.url, "--store", store],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while len(service.paths) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    service.released.set()
    hanging = service.paths[1]
    service.fault = ""
    service.paths.clear()
    report = fetch(ledger, service, step="1h", end=date(2020, 10, 12))
    assert counts(report) == {"asked": 320, "stored": 720}
    assert (service.paths, report.version) == ([hanging], 1)


def test_fetch_needs_a_store(service: PriceService) -> None:
    with pytest.raises(hw.Unsupported, match="from_frames"):
        examples.ledger().fetch_prices("coingecko", url=service.url)
