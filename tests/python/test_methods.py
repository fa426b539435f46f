"""The methods of ledgers and the types of records are those of the descriptions of the engine."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import headwater as hw
from headwater import _headwater, records
from headwater.examples import ALICE, ledger

GENERATOR = Path(__file__).parents[2] / "python" / "methods" / "generate.py"


def test_generated_modules_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_call_has_a_method() -> None:
    sources = "".join(path.read_text() for path in GENERATOR.parent.glob("*.toml"))
    # `cross_chain` asks two calls, and `risk` over a server asks another about many.
    others = {"cross-chain", "cross-chain/batch", "address-risk/batch"}
    calls = {name for name, *_ in _headwater.calls()} - others
    assert {name for name in calls if f'endpoint = "{name}"' not in sources} == set()


def test_arguments_are_the_fields_of_the_request() -> None:
    request: dict[str, Any] = _headwater.descriptions()["calls"]["counterparty"]["request"]
    arguments = inspect.signature(hw.Ledger.counterparties).parameters
    assert set(request["properties"]) == set(arguments) - {"self", "progress", "fields"}
    assert (arguments["blockchain"].default, arguments["limit"].default) == (None, "auto")


def test_records_have_the_fields_of_answers() -> None:
    row: records.TransferRow = ledger().transactions(ALICE).data["datas"][0]
    assert set(row) <= set(records.TransferRow.__annotations__)
    assert row["action"] in get_args(records.Action)
