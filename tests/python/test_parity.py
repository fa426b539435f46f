"""One request, every interface, one answer, which equals an independent computation."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import headwater as hw
import pytest
from conftest import Served, headwater

ADDRESSES = 200
EVERYTHING = {"include_unverified": True, "include_zero_value": True, "include_failed": True}


class Row(NamedTuple):
    """One movement as the export states it."""

    block: int
    hash: str
    kind: str
    sender: str
    receiver: str
    contract: str
    value: int
    failed: bool


@pytest.fixture(scope="module")
def movements(corpus: Path) -> dict[str, list[Row]]:
    """Every movement by address, computed from the Parquet files by DuckDB and plain Python integers."""
    files = corpus / "classifier"
    rows: list[Row] = []
    native = f"""
        select blockNumber, hash, "from", case when "to" is null or "to" = '' then contractAddress else "to" end,
            value, isError
        from '{files}/eth_transactions.parquet'"""
    for block, tx, sender, receiver, value, failed in duckdb.sql(native).fetchall():
        rows.append(Row(block, tx, "native", sender, receiver, "", int(value), bool(failed)))
    # Equal rows of one export are separate movements, across exports the same ones: the largest count prevails.
    token = f"""
        select blockNumber, hash, "from", "to", contractAddress, value, max(n) from (
            select blockNumber, hash, "from", "to", contractAddress, value, AccountId, count(*) n
            from '{files}/eth_token_transfers.parquet' group by all)
        group by all"""
    for block, tx, sender, receiver, contract, value, count in duckdb.sql(token).fetchall():
        rows += [Row(block, tx, "token", sender, receiver, contract, int(value), failed=False)] * count
    by_address: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for address in {row.sender, row.receiver}:
            by_address[address].append(row)
    return by_address


@pytest.fixture(scope="module")
def chosen(movements: dict[str, list[Row]]) -> list[str]:
    """Addresses of all sizes: every n-th of those ordered by degree, the largest among them."""
    known = sorted((a for a in movements if a and a.startswith("0x")), key=lambda a: (-len(movements[a]), a))
    largest, rest = known[: ADDRESSES // 4], known[ADDRESSES // 4 :]
    step = len(rest) // (ADDRESSES - len(largest))
    return largest + rest[::step][: ADDRESSES - len(largest)]


def shown(row: dict[str, Any]) -> Row:
    """A row of an answer in the form of the independent computation."""
    kind = "native" if row["contract"] is None else "token"
    sender = row["from_address"] or "GENESIS"
    block, tx = row["block_number"], row["tx_hash"]
    return Row(
        block,
        tx,
        kind,
        sender,
        row["to_address"],
        row["contract"] or "",
        int(row["amount_raw"]),
        row["status"] == "failed",
    )


def walk(ledger: hw.Ledger, address: str, **fields: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """All rows of an address, page after page by cursor."""
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        report = ledger.query(
            "transactions",
            blockchain="ethereum",
            address=address,
            limit=1000,
            **fields,
            **({"cursor": cursor} if cursor else {}),
        )
        rows += report.data["datas"]
        cursor = report.data["pagination"]["next_cursor"]
        if cursor is None:
            return rows


def test_rows_sums_and_order_equal_an_independent_computation(
    exports: Path, movements: dict[str, list[Row]], chosen: list[str]
) -> None:
    ledger = hw.open(exports)
    assert len(chosen) == ADDRESSES
    for address in chosen:
        rows = walk(ledger, address, **EVERYTHING)
        expected = movements[address]
        assert sorted(map(shown, rows)) == sorted(expected), address
        # The exports give no position in the block: order is block, hash, kind, and so exactly the reverse.
        places = [(row["block_number"], row["tx_hash"], row["contract"] is not None) for row in rows]
        assert places == sorted(places, reverse=True), address
        assert len({row["id"] for row in rows}) == len(rows), address

        visible = [row for row in expected if row.kind == "native" and not row.failed and row.value > 0]
        default = [shown(row) for row in walk(ledger, address, contracts=[None])]
        assert sorted(default) == sorted(visible), address


def test_rankings_are_those_of_an_independent_computation(
    exports: Path, movements: dict[str, list[Row]], chosen: list[str]
) -> None:
    ledger = hw.open(exports)
    for address in chosen:
        sent: dict[str, int] = defaultdict(int)
        received: dict[str, int] = defaultdict(int)
        transactions: dict[str, set[str]] = defaultdict(set)
        for row in movements[address]:
            other = row.receiver if row.sender == address else row.sender
            if row.kind != "native" or row.failed or row.value == 0 or other in {address, "GENESIS", "0x" + "00" * 20}:
                continue
            (sent if row.sender == address else received)[other] += row.value
            transactions[other].add(row.hash)
        found = {}
        page = 1
        while True:
            report = ledger.counterparties(address, contracts=[None], limit=1000, page=page)
            assert isinstance(report, hw.Report)
            for item in report.data["datas"]:
                wei = [int(Decimal(str(item[key])) * 10**18) for key in ("sent_amount", "received_amount")]
                found[item["address"]] = (*wei, item["total_count"])
            if not report.data["pagination"]["has_more"]:
                break
            page += 1
        assert found == {other: (sent[other], received[other], len(txs)) for other, txs in transactions.items()}, (
            address
        )


def untimed(data: dict[str, Any]) -> dict[str, Any]:
    """An answer without when it was computed, and how long that took."""
    kept = {
        name: value for name, value in data.get("meta", {}).items() if name not in {"computed_at", "query_duration_ms"}
    }
    return {**data, "meta": kept}


def test_command_line_python_and_http_give_the_same_json(exports: Path, served: Served, chosen: list[str]) -> None:
    ledger = hw.open(exports)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("transactions", "/v1/transactions", {"limit": 50, **EVERYTHING}),
        ("counterparty", "/v1/counterparty", {"limit": 50}),
        ("wallet-overview", "/v1/wallet-overview", {}),
        ("address-risk", "/v1/address-risk", {}),
        ("address-classify", "/v1/address-classify", {"explain": True}),
        ("trace", "/v1/trace", {"track_setting": {"method": "fifo"}}),
        ("exposure", "/v1/exposure", {"max_hops": 2}),
    ]
    # A process for each answer of the command line takes long: one address in four, and all in the long runs.
    addresses = chosen if os.environ.get("HEADWATER_FULL") else chosen[::4]
    for number, address in enumerate(addresses):
        # Every interface answers every call for one address in four, and one call in turn for the others.
        for name, path, fields in calls if number % 4 == 0 else [calls[number % len(calls)]]:
            named: dict[str, Any] = {"addresses": [address]} if name == "address-classify" else {"address": address}
            request = {"blockchain": "ethereum", **named, **fields}
            report = ledger.query(name, request)
            status, body, headers = served.call("POST", path, request)
            assert status == 200, body
            assert headers["X-Credit-Cost"] == ("10" if name == "exposure" else "5")
            assert untimed(body["data"]) == untimed(report.data), (name, address)
            assert body["meta"].get("warnings", []) == report.warnings
            printed = json.loads(
                headwater("query", name, "--store", exports, "--body", json.dumps(request), "--json").stdout
            )
            assert untimed(printed["data"]) == untimed(report.data), (name, address)
            assert printed["meta"].get("warnings", []) == report.warnings
