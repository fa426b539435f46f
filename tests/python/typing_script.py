"""Lines that users write, for the type checkers alone: mypy and pyright read them, nothing runs them.

``make check`` reads this file with both. Calls that they have to refuse are marked: a mark without an error is one.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import headwater as hw
import polars as pl
from headwater import records
from typing_extensions import assert_type

ALICE, BOB = "0x" + "aa" * 20, "0x" + "bb" * 20

ledger = hw.open("~/chain.hw", classifiers=Path("model.json.gz"))
remote = hw.connect("https://headwater.example", "hw_live_key", parallel=8)

report = ledger.risk(ALICE)
assert_type(report, hw.RiskReport)
print(report.assessment, report.composite_score, report.factors.height, report.data["risk_level"].upper())

reports = ledger.risk([ALICE, BOB], progress=True)
assert_type(reports, hw.RiskReports)
for each in reports:
    assert_type(each, hw.RiskReport)
print(len(reports), reports.summary.filter(pl.col("risk_level") == "high"))

january = ledger.transactions(ALICE, symbols="usdt", start_time=date(2024, 1, 1), end_time="2024-01-31")
assert_type(january.frame, pl.DataFrame)
assert_type(january.data["datas"][0]["amount_raw"], str)
print(january.frame.select("timestamp", "amount").head(), january.warnings, january.to_frame("pandas"))

recent = ledger.counterparties(ALICE, start_time=datetime.now(timezone.utc) - timedelta(days=7), sort="total_count")
print(recent.rows[0]["address"], [row["address"] for row in recent.data["datas"]])

wallets = remote.wallet(pl.Series([ALICE, BOB]), contracts=["native", None])
print(wallets.frame, wallets.to_dict()[ALICE]["blockchain"])

assert_type(ledger.trace(ALICE, outward_depth=3, stop_labels="exchange").ends, pl.DataFrame)
assert_type(ledger.path(ALICE, [BOB], symbols=("eth", "usdt")).paths, pl.DataFrame)
assert_type(ledger.classify([ALICE, BOB]).summary, pl.DataFrame)
assert_type(ledger.labels(ALICE, as_of=1_700_000_000), hw.Report[records.LabelsReport])
assert_type(ledger.prices("eth, btc", at="2024-01-31T12:00Z").frame, pl.DataFrame)
assert_type(ledger.score([ALICE, BOB], columns="risk"), pl.DataFrame)
assert_type(ledger.read_all("transactions", address=ALICE, blockchain="ethereum"), pl.DataFrame)
assert_type(hw.address.validate([ALICE, None]), list[bool])
assert_type(hw.address.checksum(ALICE), str | None)

try:
    print(remote.holders("native", blockchain="bsc", limit=10).holder_count, remote.credits.remaining)
except hw.InsufficientCredit as error:
    print(error.retry_after, error.request_id)
except hw.HeadwaterError as error:
    print(error.reason, error.field, sorted(error.answered))

ledger.risk(5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
ledger.transactions(ALICE, start_time=[2024])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
ledger.transactions(ALICE, order="down")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
