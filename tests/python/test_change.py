"""The output of a bitcoin transaction that is the change, in the demo economy."""

from __future__ import annotations

import json
from pathlib import Path

import headwater as hw
import polars as pl
import pytest
from conftest import headwater

# The example of docs/bitcoin.md: 0.0022 BTC are paid, the rest is change.
PAYMENT = "5a628dc9e55745580242d938fb8febb0add44b71ce659a303ccf9b229f73e50c"


def test_change_report_has_a_row_per_output(demo: Path) -> None:
    report = hw.open(demo).change_address(PAYMENT)
    assert report.change["index"] == 1
    assert report.change["level"] == "high"
    assert report.reason is None
    assert report.coinjoin == {"detected": False, "type": None, "possible_coinjoin": False, "confidence": 0.0}
    frame = report.to_frame(amounts="text")
    assert frame["amount"].to_list() == ["0.0022", "0.00901965"]
    assert frame["is_change"].to_list() == [False, True]
    assert frame.schema["heuristics"] == pl.List(pl.String)
    assert "power_of_ten_4" in frame["heuristics"].to_list()[1]


def test_the_shell_gives_the_answer_of_python(demo: Path) -> None:
    report = hw.open(demo).change_address(PAYMENT)
    for arguments in (("change", PAYMENT), ("query", "btc/change-address", "--param", f"txid={PAYMENT}")):
        printed = json.loads(headwater(*arguments, "--store", demo, "--json").stdout)
        assert printed["data"] == report.data


def test_invalid_and_unknown_ids_are_errors(demo: Path) -> None:
    ledger = hw.open(demo)
    with pytest.raises(hw.InvalidInput, match="txid: expected the id of a Bitcoin transaction"):
        ledger.change_address("12")
    with pytest.raises(hw.NotFound, match="is held of bitcoin"):
        ledger.change_address("f" * 64)
