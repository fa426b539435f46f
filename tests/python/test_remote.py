"""A ledger over a server gives what a ledger over its store gives, for every call and every refusal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headwater as hw
import pytest
from conftest import Served, serve, stop
from headwater import _headwater, _remote
from headwater.examples import ALICE, BOB, USDT
from stub_server import losing


@dataclass
class Pair:
    """The same data behind a server and without one."""

    near: hw.Ledger
    far: hw.RemoteLedger


@pytest.fixture(scope="module")
def demo_server(demo: Path) -> Iterator[Served]:
    gateway = serve(demo, 1_000_000, "limits.enabled=false")
    yield gateway
    stop(gateway)


@pytest.fixture(scope="module")
def pair(demo: Path, demo_server: Served) -> Pair:
    return Pair(hw.open(demo), hw.connect(demo_server.url, demo_server.key))


@pytest.fixture(scope="module")
def people(pair: Pair) -> dict[str, list[str]]:
    """Some busy addresses of each chain, found by the prefixes that addresses have."""
    prefixes = {"ethereum": "0x", "bsc": "0x", "tron": "T", "bitcoin": "bc1q"}
    found: dict[str, list[str]] = {}
    for chain, start in prefixes.items():
        asked = [start + text for text in ("000", "001", "d37", "e5b", "1111", "2222", "UGNX", "M2gr", "j5ja", "8l3q")]
        candidates = [
            each
            for prefix in asked
            if len(prefix) >= 5
            for each in pair.near.query("addresses/autocomplete", q=prefix, chain=chain, limit=5).candidates
        ]
        found[chain] = candidates[:4]
        assert found[chain], chain
    return found


TIMED = {"query_duration_ms": None, "cached": None, "computed_at": None}


# A page of a server has a limit by default, and a list of a store has none.
LIMITED = {"limit": None, "total_pages": None}


def reported(data: dict[str, Any]) -> dict[str, Any]:
    """An answer without its time, how long it took, and the size of its page."""
    meta = data.get("meta")
    if isinstance(meta, dict):
        data = {**data, "meta": {**meta, **TIMED, "limit": None}}
    if isinstance(data.get("pagination"), dict):
        data = {**data, "pagination": {**data["pagination"], **LIMITED}}
    if isinstance(data.get("results"), list):
        data = {**data, "results": [reported(each) for each in data["results"]]}
    return data


def assert_same(pair: Pair, method: str, /, *arguments: Any, **fields: Any) -> set[str]:  # noqa: ANN401
    """Ask both; give the names of the calls that were made."""
    near, far = (getattr(ledger, method)(*arguments, **fields) for ledger in (pair.near, pair.far))
    assert type(near) is type(far)
    assert near.frame.equals(far.frame)
    assert near.frame.schema == far.frame.schema
    nears, fars = ([each] if isinstance(each, hw.Report) else list(each) for each in (near, far))
    for one, other in zip(nears, fars, strict=True):
        assert reported(one.data) == reported(other.data)
        assert one.warnings == other.warnings
        assert (one.total, one.has_more) == (other.total, other.has_more)
        assert one.meta.get("pegged") == other.meta.get("pegged")
        assert other.meta["request_id"]
    return {each.endpoint for each in fars}


def test_every_call_gives_what_it_gives_over_the_store(pair: Pair, people: dict[str, list[str]]) -> None:
    asked: set[str] = set()
    for chain, addresses in people.items():
        one, other = addresses[0], addresses[-1]
        best = pair.near.counterparties(one, blockchain=chain, limit=1)
        assert isinstance(best, hw.Report)
        partner = best.rows[0]["address"] if best.rows else other
        recent = pair.near.transactions(one, blockchain=chain, limit=1)
        assert isinstance(recent, hw.Report)
        end = recent.rows[0]["timestamp"] if recent.rows else 1_735_689_600
        token = next((t["contract"] for t in pair.near.assets(chain).rows if t["symbol"] == "usdt"), None)
        contract = token if chain != "bitcoin" else None
        asks: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
            ("transactions", (one,), {"limit": 7}),
            (
                "transactions",
                (one,),
                {"contracts": [None], "direction": "out", "output_asset": "usd", "include_failed": True, "limit": None},
            ),
            ("transactions", (addresses,), {"limit": None}),
            ("counterparties", (one,), {"sort": "total_count", "order": "asc", "limit": 1_001}),
            ("counterparty_list", (one,), {"limit": 3, "offset": 1}),
            ("counterparty_list", (addresses,), {"limit": None}),
            ("transfers_between", (one, partner), {"limit": None}),
            ("overview", (one, partner), {}),
            ("wallet", (addresses,), {}),
            ("labels", (addresses,), {}),
            ("labels", (one,), {"as_of": end}),
            ("risk", (addresses,), {}),
            ("risk", (one,), {"third_party": "force"}),
            ("trace", (one,), {"method": "haircut", "stop_labels": ["exchange"]}),
            ("trace", (addresses,), {"outward_depth": 1, "inward_depth": 0}),
            ("exposure", (addresses,), {"max_hops": 2}),
            ("exposure", (one,), {"direction": "in"}),
            ("balance_history", (one,), {"start_time": end - 5 * 86_400, "end_time": end, "tz": "Asia/Kolkata"}),
            ("holders", (contract,), {"limit": 5, "offset": 2}),
            ("holders", (contract,), {"limit": 230}),
            ("concentration", (contract,), {}),
            ("flows", (addresses,), {}),
            ("resolve", (), {"symbols": ["USDT", "nonsense"]}),
        ]
        if chain != "bsc":
            asks += [("classify", (addresses,), {}), ("classify", (one,), {"explain": True})]
        if recent.rows:
            asks.append(("transaction", (recent.rows[0]["tx_hash"],), {"include": "logs,input"}))
        if partner != one:
            asks.append(("path", (one, partner), {"k": 5}))
        for name, arguments, fields in asks:
            asked |= assert_same(pair, name, *arguments, blockchain=chain, **fields)
        if chain == "bitcoin":
            asked |= assert_same(pair, "change_address", recent.rows[0]["tx_hash"])
            asked |= assert_same(pair, "cluster", addresses, limit=3)
            asked |= assert_same(pair, "cluster", one, include_change=True, limit=1_000)
        queries = [{"blockchain": chain, "address": each} for each in addresses]
        near, far = (ledger.query("address-risk/batch", queries=queries) for ledger in (pair.near, pair.far))
        assert reported(near.data) == reported(far.data)
        asked |= {far.endpoint} | assert_same(pair, "assets", chain)
        asked |= assert_same(pair, "resolve_address", f"  {one} ", chain=chain)
        asked |= assert_same(pair, "autocomplete", one[:6], chain=chain, limit=3)
    crossed = "0xb24c7f1937122ca6ad1cc0561e15d73d98aa71c4d115d74069ce7d8c95810bfc"
    asked |= assert_same(pair, "cross_chain", crossed)
    asked |= assert_same(pair, "cross_chain", [crossed, f"0x{1:064x}"])
    points = pair.near.price_symbols().symbols
    for name in ("chains", "registry", "resolve"):
        asked |= assert_same(pair, name)
    asked |= assert_same(pair, "prices", points[:3])
    asked |= assert_same(pair, "prices", "eth", at=1_700_000_000)
    asked |= assert_same(pair, "price_history", points[0])
    asked |= assert_same(pair, "price_symbols", detail=True)
    asked |= assert_same(pair, "search_labels", "lanternex", limit=5)
    assert asked == {name for name, *_ in _headwater.calls()}


def test_pages_follow_one_another_by_cursor(pair: Pair, people: dict[str, list[str]]) -> None:
    address = people["ethereum"][0]
    rows: dict[str, list[Any]] = {"near": [], "far": []}
    for name, ledger in (("near", pair.near), ("far", pair.far)):
        cursor = None
        while True:
            report = ledger.transactions(address, limit=3, cursor=cursor)
            assert isinstance(report, hw.Report)
            rows[name] += report.rows
            cursor = report.pagination["next_cursor"]
            if cursor is None:
                break
    assert rows["far"] == rows["near"]
    assert len(rows["far"]) > 3


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "ndjson"])
def test_a_list_of_many_pages_is_the_same_file(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(_remote, "_MOST_ROWS", {"cursor": 40, "offset": 100})
    hub = {"blockchain": "ethereum", "address": "0xe5bb8785e58bcc17f15028ad186197b7b42c3221"}
    for endpoint, fields in [
        ("transactions", hub),
        ("counterparty/list", hub),
        ("registry", {}),
        ("token/holders", {"blockchain": "ethereum", "contract": "native"}),
    ]:
        near, far = tmp_path / f"near.{ending}", tmp_path / f"far.{ending}"
        written = pair.near.write(endpoint, near, fields)
        again = pair.far.write(endpoint, far, fields)
        assert (written["rows"], written["next_cursor"]) == (again["rows"], again["next_cursor"]), endpoint
        assert written["rows"] > 100 or endpoint == "registry"
        codes = [(warning["code"], warning.get("field")) for warning in written["warnings"]]
        assert [(warning["code"], warning["field"]) for warning in again["warnings"]] == codes
        assert far.read_bytes() == near.read_bytes(), endpoint
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"far.{ending}", f"near.{ending}"]


def test_all_rows_of_a_list_are_the_same_frame(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pair.near.read_all("transactions", blockchain="tron", address="TUGNXouXRp1Ew9Rp4ZAcTbb4a5u7PvP2vA")
    for most in (100_000, 64):
        monkeypatch.setattr(_remote, "_MOST_ROWS", {"cursor": most, "offset": 100})
        before = pair.far.credits.spent
        asked = pair.far.read_all("transactions", blockchain="tron", address="TUGNXouXRp1Ew9Rp4ZAcTbb4a5u7PvP2vA")
        assert asked.equals(whole)
        pages = -(-whole.height // most)
        assert pair.far.credits.spent - before == 5 * pages
    some = {"blockchain": "ethereum", "contract": "native", "offset": 95}
    assert pair.far.read_all("token/holders", some).equals(pair.near.read_all("token/holders", some))
    for limit in (7, 100, 130):
        few = {**some, "limit": limit}
        assert pair.far.read_all("token/holders", few).equals(pair.near.read_all("token/holders", few))


def test_refusals_are_those_of_the_store(pair: Pair, tmp_path: Path) -> None:
    there = {"blockchain": "ethereum", "address": ALICE}
    asks: list[Callable[[hw.Ledger], Any]] = [
        lambda ledger: ledger.transactions("0x12"),
        lambda ledger: ledger.transactions(ALICE, blockchain="solana"),
        lambda ledger: ledger.transactions(ALICE, symbol="eth"),
        lambda ledger: ledger.trace(ALICE, max_node=5),
        lambda ledger: ledger.query("rates", symbol="eth"),
        lambda ledger: ledger.holders("0x" + "ef" * 20),
        lambda ledger: ledger.transactions([ALICE, "0x12"]),
        lambda ledger: ledger.transactions(ALICE, cursor="nonsense"),
        lambda ledger: ledger.transactions(ALICE, start_time=2, end_time=1),
        lambda ledger: ledger.transactions(ALICE, symbols=["nosuchsymbol"]),
        lambda ledger: ledger.query("transactions", blockchain="ethereum"),
        lambda ledger: ledger.query("no-such-call"),
        lambda ledger: ledger.transaction("0x" + "99" * 32),
        lambda ledger: ledger.transaction("0x12"),
        lambda ledger: ledger.transaction(""),
        lambda ledger: ledger.transaction(5),  # type: ignore[arg-type]
        lambda ledger: ledger.query("transaction", hash=[1, {"a": True}]),
        lambda ledger: ledger.query("transaction", hash=None),
        lambda ledger: ledger.query("/v1/transaction/0x12"),
        lambda ledger: ledger.query("v3/chains"),
        lambda ledger: ledger.resolve_address("\ud800"),
        lambda ledger: ledger.wallet("\ud800"),
        lambda ledger: ledger.transactions(None),  # type: ignore[call-overload]
        lambda ledger: ledger.holders("native", offset=-1),
        lambda ledger: ledger.flows([]),
        lambda ledger: ledger.prices([]),
        lambda ledger: ledger.query("rates", symbols=["eth", None]),
        lambda ledger: ledger.query("rates", symbols=5),
        lambda ledger: ledger.price_history("nosuchsymbol"),
        lambda ledger: ledger.autocomplete("0x"),
        lambda ledger: ledger.read_all("token/concentration", blockchain="ethereum", contract="native"),
        lambda ledger: ledger.read_all("transactions", blockchain="ethereum", address="0x12"),
        lambda ledger: ledger.write("transactions", tmp_path / "rows.xlsx", there),
        lambda ledger: ledger.write("transactions", tmp_path / "absent" / "rows.csv", there),
        lambda ledger: ledger.write("no-such-call", tmp_path / "rows.csv"),
        lambda ledger: ledger.write("transactions", tmp_path / "rows.csv", {**there, "blockchain": "solana"}),
    ]
    before = pair.far.credits.spent
    for number, ask in enumerate(asks):
        with pytest.raises(hw.HeadwaterError) as near:
            ask(pair.near)
        with pytest.raises(hw.HeadwaterError) as far:
            ask(pair.far)
        assert type(far.value) is type(near.value), number
        assert (str(far.value), far.value.reason, far.value.field) == (
            str(near.value),
            near.value.reason,
            near.value.field,
        )
        assert far.value.candidates == near.value.candidates
    assert list(tmp_path.iterdir()) == []
    assert pair.far.credits.spent == before


def test_missing_parts_of_a_path_are_named(pair: Pair) -> None:
    with pytest.raises(hw.InvalidInput) as caught:
        pair.far.query("transaction", blockchain="ethereum")
    assert (caught.value.reason, caught.value.field) == ("missing_field", "hash")
    # A hash that is a path is one part of the path still.
    with pytest.raises(hw.InvalidInput) as caught:
        pair.far.transaction("../chains")
    assert caught.value.field == "hash"
    # Of the path itself a call is known, too.
    assert pair.far.query("/v1/chains").rows == pair.near.query("v1/chains").rows


def test_export_needs_the_store(pair: Pair, tmp_path: Path) -> None:
    with pytest.raises(hw.Unsupported, match=r"headwater\.open") as caught:
        pair.far.export(tmp_path)
    assert isinstance(caught.value, NotImplementedError)


def test_a_key_that_is_not_valid_is_refused_and_never_shown(demo_server: Served, pair: Pair) -> None:
    secret = "hw_live_00000000_nonsense"
    for key in (secret, None):
        ledger = hw.connect(demo_server.url, key)
        with pytest.raises(hw.Unauthorized) as caught:
            ledger.chains()
        assert caught.value.status == 401
        assert caught.value.request_id
        assert secret not in f"{caught.value} {caught.value!r} {ledger!r}"
    assert repr(pair.far) == f"<Ledger {demo_server.url}>"


def test_call_without_enough_credits_is_refused(demo: Path, tmp_path: Path) -> None:
    gateway = serve(demo, 12, state=tmp_path / "state")
    try:
        with hw.connect(gateway.url, gateway.key) as ledger:
            assert ledger.credits == hw.Credits(None, 0, None)
            ledger.chains()
            assert ledger.credits == hw.Credits(0, 0, 12)
            for address in (ALICE, BOB):
                ledger.wallet(address)
            assert ledger.credits == hw.Credits(5, 10, 2)
            with pytest.raises(hw.InsufficientCredit) as caught:
                ledger.wallet(ALICE)
            assert (caught.value.status, caught.value.reason) == (402, "insufficient_credit")
            assert ledger.credits.spent == 10
    finally:
        stop(gateway)


def test_a_file_of_a_list_is_kept_when_the_next_one_fails(pair: Pair, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("an older file")
    with pytest.raises(hw.InvalidInput):
        pair.far.write("transactions", path, blockchain="ethereum", address="0x12")
    assert path.read_text() == "an older file"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_concurrent_calls_about_addresses_stay_in_order(pair: Pair) -> None:
    holders = pair.near.read_all("token/holders", contract="native", blockchain="ethereum")
    every = holders["address"].to_list()[:60]
    near, far = pair.near.wallet(every), pair.far.wallet(every)
    assert isinstance(near, hw.Reports)
    assert isinstance(far, hw.Reports)
    assert [report.data["address"] for report in far] == every
    assert far.frame.equals(near.frame)
    assert pair.far.wallet(tuple(every[:2])).to_dict().keys() == set(every[:2])


def test_corpus_rows_of_real_exports_come_over_http_as_they_are(exports: Path, served: Served) -> None:
    near, far = hw.open(exports), hw.connect(served.url, served.key)
    largest = near.read_all("token/holders", blockchain="ethereum", contract=USDT)["address"].to_list()[:5]
    for address in largest:
        fields = {"blockchain": "ethereum", "address": address, "include_unverified": True}
        assert far.read_all("transactions", fields).equals(near.read_all("transactions", fields))
        near_rank, far_rank = near.counterparties(address, limit=100), far.counterparties(address, limit=100)
        assert far_rank.frame.equals(near_rank.frame)


def test_an_answer_that_was_lost_on_its_way_is_paid_for_once(demo_server: Served) -> None:
    direct = hw.connect(demo_server.url, demo_server.key)
    before = direct.chains().meta["credit_remaining"]
    with losing(demo_server.url, lost=3) as url:
        ledger = hw.connect(url, demo_server.key, timeout=20)
        report = ledger.wallet("0xe5bb8785e58bcc17f15028ad186197b7b42c3221")
        assert isinstance(report, hw.Report)
        assert report.rows
        assert ledger.credits.spent == 5
    assert direct.chains().meta["credit_remaining"] == before - 5


def test_limits_are_kept_to_without_the_caller_knowing(demo: Path, tmp_path: Path) -> None:
    # Medium calls at ten a second after the first five: thirty take more than two seconds and none fails.
    gateway = serve(demo, 1_000_000, "limits.enabled=true", "limits.medium=10/5", state=tmp_path / "state")
    try:
        ledger = hw.connect(gateway.url, gateway.key, parallel=8)
        addresses = [f"0x{number:040x}" for number in range(30)]
        start = time.monotonic()
        reports = ledger.wallet(addresses)
        assert isinstance(reports, hw.Reports)
        assert [report.data["address"] for report in reports] == addresses
        assert time.monotonic() - start > 2.0
        assert ledger.credits.spent == 150
        # Too little patience to wait for a limit, and enough for an answer.
        once = hw.connect(gateway.url, gateway.key, retries=0, patience=1.0, parallel=16)
        with pytest.raises(hw.RateLimited) as caught:
            once.wallet(addresses)
        assert (caught.value.status, caught.value.reason) == (429, "rate_limited")
        assert caught.value.retry_after is not None
    finally:
        stop(gateway)
