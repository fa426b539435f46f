"""Loads, simulations and imports from Python: the same stores and reports as those of the command line."""

from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import headwater as hw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import Served, headwater
from headwater import _load, _progress, examples
from headwater.examples import ALICE, SHOP

PRICES = [{"symbol": "ETH", "ts": 1_600_000_000, "price_usd": 2000.0}]
TOKEN = {"blockchain": "bsc", "contract": "0x" + "ab" * 20, "symbol": "MINE", "decimals": 18}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The two exports of the four transfers."""
    folder = tmp_path / "exports"
    folder.mkdir()
    return examples.exports(folder)


@pytest.fixture
def ledger(files: list[Path], tmp_path: Path) -> hw.Ledger:
    """A ledger over a store of the four transfers."""
    return hw.ingest(files, tmp_path / "store").open()


def digest(store: Path) -> str:
    """The digest of the content of a store, which is checked."""
    text: str = json.loads(headwater("verify", "--digest", "--json", "--store", store).stdout)["digest"]
    return text


def test_ingest_equals_the_command_line(files: list[Path], tmp_path: Path) -> None:
    by_command, by_python = tmp_path / "command", tmp_path / "python"
    printed = json.loads(headwater("ingest", "--json", "--chain", "ethereum", "--store", by_command, *files).stdout)
    report = hw.ingest(files, by_python, chain="ethereum")
    assert report.to_dict() == printed
    assert digest(by_python) == digest(by_command)
    counts = (report.files, report.rows, report.transactions, report.movements, report.blocks, report.skipped)
    # The call of the token moves no ether, and is a movement of zero.
    assert counts == (2, 5, 4, 5, 4, 0)
    assert report.frame.select("path", "state", "rows", "problem").rows() == [
        (str(files[0]), "read", 4, None),
        (str(files[1]), "read", 1, None),
    ]
    assert report.open().transactions(ALICE).frame.height == 3


def test_ingest_of_real_exports_equals_the_command_line(corpus: Path, tmp_path: Path) -> None:
    exports = [
        corpus / "tron" / "aso_trc20_xfers.csv.gz",
        corpus / "bitcoin" / "mainnet_block_250000.raw",
        corpus / "ethereum" / "ethereum-etl",
    ]
    by_command, by_python = tmp_path / "command", tmp_path / "python"
    printed = json.loads(headwater("ingest", "--json", "--on-error", "skip", "--store", by_command, *exports).stdout)
    report = hw.ingest(exports, by_python, on_error="skip")
    assert report.to_dict() == printed
    assert digest(by_python) == digest(by_command)
    assert set(report.frame["chain"].drop_nulls()) >= {"bitcoin", "ethereum", "tron"}


def test_ingest_repeated_changes_nothing(files: list[Path], tmp_path: Path) -> None:
    store = tmp_path / "store"
    first, second = hw.ingest(files, store), hw.ingest(files[0].parent, store)
    assert (second.transactions, second.completed, second.movements, second.known) == (0, 0, 0, 4)
    assert second.generation == first.generation


def test_ingest_takes_folders_patterns_and_the_home(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    whole = hw.ingest(files, tmp_path / "a").to_dict()
    named: dict[str, str | list[str | Path]] = {
        "b": "~/exports",
        "c": ["~/exports/trans*.csv", Path("~/exports/token*")],
    }
    for store, paths in named.items():
        report = hw.ingest(paths, f"~/{store}")
        assert report.store == tmp_path / store
        assert report.to_dict() == whole


def test_ingest_report_shows_itself(files: list[Path], tmp_path: Path) -> None:
    (files[0].parent / "notes.txt").write_text("nothing of a chain")
    unlisted = "0x" + "cd" * 20
    files[1].write_text(files[1].read_text().replace(examples.USDT, unlisted))
    report = hw.ingest(files[0].parent, tmp_path / "store")
    assert repr(report).splitlines()[:2] == [
        "<IngestReport 2 files, 5 rows, 0 of them left out>",
        f"  {tmp_path / 'store'}, generation {report.generation}: 4 transactions new, 0 completed, 0 known; "
        "5 movements; 4 blocks",
    ]
    assert any(note.startswith("not read: ") and "notes.txt" in note for note in report.notes)
    assert any("`ledger.import_tokens` adds a registry" in note for note in report.notes)
    assert report.frame.filter(state="left out").select("rows", "format").rows() == [(None, None)]
    shown = report._repr_html_()
    assert "IngestReport 2 files" in shown
    assert "<table" in shown


def test_ingest_error_names_file_line_and_value(files: list[Path], tmp_path: Path) -> None:
    store = tmp_path / "store"
    lines = files[0].read_text().splitlines()
    files[0].write_text("\n".join([*lines[:2], lines[2].replace(ALICE, "0x12"), *lines[3:]]))
    with pytest.raises(hw.InvalidInput, match=rf'{files[0]}, line 3: column "from" is "0x12"'):
        hw.ingest(files[0], store)
    report = hw.ingest(files[0], store, on_error="skip")
    assert (report.transactions, report.skipped) == (3, 1)
    assert '"0x12"' in report.frame["problem"][0]
    with pytest.raises(hw.InvalidInput, match="no file is named by"):
        hw.ingest(tmp_path / "nothing.csv", store)
    with pytest.raises(hw.InvalidInput, match='on_error: "ignore"'):
        hw.ingest(files, store, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(hw.InvalidInput, match="expected files, folders or patterns"):
        hw.ingest([], store)
    with pytest.raises(hw.InvalidInput, match="at_block: expected a whole number"):
        hw.ingest(files, store, at_block="seven")  # type: ignore[arg-type]


def test_errors_name_arguments_of_python(corpus: Path, tmp_path: Path) -> None:
    holders = corpus / "holders" / "polis_bsc_holders.csv"
    with pytest.raises(hw.InvalidInput, match="contract=") as caught:
        hw.ingest(holders, tmp_path / "store", chain="bsc")
    assert "--" not in str(caught.value)
    for text, expected in {
        "name its chain with --chain, or": "name its chain with chain=, or",
        "raise --max-line-bytes": "raise max_line_bytes=",
        '--column address="wallet", with --code': 'columns={"address": "wallet"}, with code=',
        "import it with --accept-shrinking": "import it with accept_shrinking=True",
        "/tmp/a--b.csv is damaged": "/tmp/a--b.csv is damaged",
    }.items():
        assert _load.in_python(text) == expected


def test_calls_wait_for_another_writer_of_the_store(files: list[Path], tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    store = tmp_path / "store"
    ledger = hw.ingest(files, store).open()
    with (store / "writer.lock").open("r+") as lock, concurrent.futures.ThreadPoolExecutor() as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        loading = pool.submit(hw.ingest, files, store)
        importing = pool.submit(ledger.import_prices, PRICES)
        time.sleep(0.5)
        assert not loading.done()
        assert not importing.done()
        fcntl.flock(lock, fcntl.LOCK_UN)
        loading.result(60)
        assert importing.result(60).entries == 1


def generation(store: Path) -> int:
    """The newest generation of a store, of which others may be writing the next."""
    return max((int(path.stem.rpartition("-")[2]) for path in store.glob("manifest-*.json")), default=0)


INTERRUPTED = """
import sys
import headwater as hw
print("begin", flush=True)
try:
    hw.ingest(sys.argv[1], sys.argv[2], chain="ethereum", batch_transactions=20_000)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_keeps_commits_and_the_same_call_resumes(corpus: Path, tmp_path: Path) -> None:
    export = corpus / "classifier" / "eth_transactions.parquet"
    store = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, export, store], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    # The first generation is the empty store.
    while generation(store) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out.split() == ["begin", "interrupted"], err
    assert err == ""
    held = hw.open(store).chains().frame
    assert held.filter(chain="ethereum").height == 1
    report = hw.ingest(export, store, chain="ethereum")
    assert report.known > 0
    assert report.transactions > 0


def test_progress_is_shown_where_somebody_sees_it(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hw.ingest(files, tmp_path / "a")
    assert capsys.readouterr() == ("", "")
    hw.ingest(files, tmp_path / "b", progress=True)
    assert "ingest" in capsys.readouterr().err
    monkeypatch.setattr(_progress, "is_watched", lambda: True)
    hw.ingest(files, tmp_path / "c")
    assert capsys.readouterr().err == "", "a load of less than a second shows no bar"
    monkeypatch.setattr(_progress, "_DELAY_SECS", 0.0)
    hw.ingest(files, tmp_path / "d", progress=False)
    assert capsys.readouterr().err == ""
    hw.ingest(files, tmp_path / "e")
    assert "ingest" in capsys.readouterr().err


def test_load_bar_follows_one_part_after_the_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "_DRAW_SECS", 0.0)
    with _load.LoadBar("ingest", progress=True) as bar:
        bar.show("", "bytes", 5_000, 10_000)
        bar.show("edges", "steps", 3, 3)
    lines = capsys.readouterr().err.replace("\n", "\r").split("\r")
    assert [line for line in lines if "ingest [##########..........] 5 of 10 kB" in line]
    assert [line for line in lines if "ingest, building edges [####################] 3 of 3 steps" in line]


def test_simulate_equals_the_command_line(demo: Path, tmp_path: Path) -> None:
    report = hw.simulate(tmp_path / "store", "demo", 1, truth=tmp_path / "truth")
    assert digest(tmp_path / "store") == digest(demo)
    assert (report.preset, report.seed, report.days) == ("demo", 1, 400)
    assert report.frame["transfers"].sum() == report.transfers
    assert (tmp_path / "truth" / "labels").is_dir()
    assert repr(report).startswith(f"<SimulateReport {tmp_path / 'store'}: ")
    with pytest.raises(hw.InvalidInput, match="holds the simulated economy"):
        hw.simulate(tmp_path / "store", seed=2)
    with pytest.raises(hw.InvalidInput, match=r"preset: .*tiny"):
        hw.simulate(tmp_path / "other", "tiny")


def tables(rows: list[dict[str, Any]]) -> list[Any]:
    """The same rows in the libraries that people have."""
    frame = pl.DataFrame(rows)
    return [rows, frame, frame.lazy(), pd.DataFrame(rows), pa.Table.from_pylist(rows)]


def test_import_prices_of_tables_equals_files(ledger: hw.Ledger, tmp_path: Path) -> None:
    pl.DataFrame(PRICES).write_csv(tmp_path / "prices.csv")
    by_file = ledger.import_prices(tmp_path / "prices.csv", source="table")
    assert by_file.frame["path"][0] == str(tmp_path / "prices.csv")
    for version, table in enumerate(tables(PRICES), start=by_file.versions[0] + 1):
        report = ledger.import_prices(table)
        assert report.versions == [version]
        assert report.frame.drop("path", "version").equals(by_file.frame.drop("path", "version"))
    assert ledger.transactions(SHOP, symbols=["eth"]).frame["amount_usd"].to_list() == [500.0, 2000.0]


def test_import_prices_takes_days_and_rates(ledger: hw.Ledger) -> None:
    days = pl.DataFrame({"Date": [date(2020, 9, 12)], "Close": [2000.0]})
    assert ledger.import_prices(days, symbol="eth").entries == 1
    end_of_day = int(pl.Series([date(2020, 9, 13)]).cast(pl.Datetime).dt.epoch("s")[0]) - 1
    assert ledger.prices("eth", at=end_of_day).rows[0]["price_usd"] == 2000.0
    with pytest.raises(hw.InvalidInput, match=r'prices, row 1: column "symbol" is missing, .*symbol='):
        ledger.import_prices(days)
    rates = pl.DataFrame({"date": ["2020-09-12"], "currency": ["CHF"], "units_per_usd": [0.9]})
    assert ledger.import_prices(rates, fx=True, source="bank").kind == "exchange rates"
    with pytest.raises(hw.InvalidInput, match=r"prices is in no known format"):
        ledger.import_prices(pl.DataFrame({"coin": ["eth"]}))


def test_import_tokens_of_tables_equals_files(ledger: hw.Ledger, tmp_path: Path) -> None:
    rows = [TOKEN, {**TOKEN, "contract": "0x12", "symbol": "BAD"}]
    pl.DataFrame(rows).write_csv(tmp_path / "tokens.csv")
    by_file = ledger.import_tokens(tmp_path / "tokens.csv")
    assert (by_file.entries, by_file.skipped) == (1, 1)
    for table in tables(rows):
        report = ledger.import_tokens(table, source="tokens.csv")
        assert report.frame.drop("path", "version").equals(by_file.frame.drop("path", "version"))
        assert [note.replace("row 2", "line 3") for note in report.notes] == by_file.notes
    assert ledger.resolve(blockchain="bsc", symbols=["mine"]).frame["contract"][0] == TOKEN["contract"]
    assert ledger.import_tokens(pl.DataFrame([TOKEN]).drop("blockchain"), chain="ethereum", source="x").skipped == 0


def test_import_labels_of_tables_equals_files(ledger: hw.Ledger, tmp_path: Path) -> None:
    rows = [{"address": SHOP, "chain": "ethereum", "code": "merchant", "name": "Shop", "entity": "Corner Shop"}]
    pl.DataFrame(rows).write_csv(tmp_path / "mine.csv")
    by_file = ledger.import_labels(tmp_path / "mine.csv", source="mine", list="table", trust=True, licence="CC0-1.0")
    claims = ledger.labels(SHOP).frame.select("source", "label", "confidence").rows()
    assert by_file.frame.select("source", "list", "licence", "level", "claims", "names", "skipped").rows() == [
        ("mine", "table", "CC0-1.0", "trusted_provider", 1, 0, 0)
    ]
    for table in tables(rows):
        report = ledger.import_labels(table, source="mine", level="trusted_provider", licence="CC0-1.0")
        assert report.frame["replaces"][0] == report.versions[0] - 1
        assert report.frame.drop("version", "replaces").equals(by_file.frame.drop("version", "replaces"))
        assert ledger.labels(SHOP).frame.select("source", "label", "confidence").rows() == claims
    wallets = pl.DataFrame({"wallet": [ALICE]})
    report = ledger.import_labels(wallets, source="own", code="scam", chain="ethereum", columns={"address": "wallet"})
    assert "scam" in ledger.labels(ALICE).labels
    assert any("trust=True makes it 0.50, level= names another" in note for note in report.notes)
    with pytest.raises(hw.InvalidInput, match="accept_shrinking=True"):
        ledger.import_labels([{"address": ALICE, "chain": "ethereum", "code": "scam"}], source="mine")
    for name, value in (("code", "evil"), ("level", "best"), ("chain", "dogecoin")):
        with pytest.raises(hw.InvalidInput, match=value):
            ledger.import_labels(rows, **{name: value})  # type: ignore[arg-type]


def test_import_of_core_lists_names_people(ledger: hw.Ledger) -> None:
    report = ledger.import_labels("core")
    assert report.entries > 1_000
    assert set(report.frame["state"]) == {"imported"}
    assert set(report.frame["source"]) == {"core"}
    tornado = "0x8589427373d6d84e98730d7795d8f6f8731fda16"
    assert {"mixer", "sanction_delisted"} <= set(ledger.labels(tornado).labels)
    assert set(ledger.import_labels("core").frame["state"]) == {"unchanged"}
    with pytest.raises(hw.InvalidInput, match=r"code: the core lists state this themselves"):
        ledger.import_labels("core", code="scam")


def test_first_load_points_at_the_core_lists(files: list[Path], tmp_path: Path) -> None:
    first, second = hw.ingest(files[0], tmp_path / "store"), hw.ingest(files[1], tmp_path / "store")
    hint = '`ledger.import_labels("core")` imports OFAC\'s addresses'
    assert [hint in " ".join(report.notes) for report in (first, second)] == [True, False]


def test_imports_equal_those_of_the_command_line(files: list[Path], tmp_path: Path) -> None:
    pl.DataFrame(PRICES).write_csv(tmp_path / "prices.csv")
    pl.DataFrame([TOKEN]).write_csv(tmp_path / "tokens.csv")
    pl.DataFrame({"address": [SHOP], "chain": ["ethereum"], "code": ["merchant"]}).write_csv(tmp_path / "labels.csv")
    stores = tmp_path / "command", tmp_path / "python"
    for store in stores:
        hw.ingest(files, store)
    ledger = hw.open(stores[1])
    methods: dict[str, Callable[[Path], hw.ImportReport]] = {
        "prices": ledger.import_prices,
        "tokens": ledger.import_tokens,
        "labels": ledger.import_labels,
    }
    for command, method in methods.items():
        file = tmp_path / f"{command}.csv"
        printed = json.loads(headwater(command, "import", "--json", "--store", stores[0], file).stdout)
        report = method(file).to_dict()
        # Of one list the command prints the fields beside it too.
        assert report == {name: printed[name] for name in report}
    assert digest(stores[0]) == digest(stores[1])


def test_imports_need_a_store(served_example: Served) -> None:
    with pytest.raises(hw.Unsupported, match="from_frames"):
        examples.ledger().import_prices(PRICES)
    remote = hw.connect(served_example.url, served_example.key)
    with pytest.raises(hw.Unsupported, match=r"headwater\.open"):
        remote.import_tokens([TOKEN])


def test_a_reader_in_another_thread_sees_the_import(ledger: hw.Ledger) -> None:
    seen: list[float | None] = []

    def ask() -> None:
        seen.append(ledger.transactions(SHOP, symbols=["eth"]).frame["amount_usd"][0])

    for call in (ask, lambda: ledger.import_prices(PRICES), ask):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert seen[1] == 500.0


def test_names_of_temporary_files_do_not_show(
    ledger: hw.Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(os.listdir(tmp_path))
    with pytest.raises(hw.InvalidInput) as caught:
        ledger.import_prices([{"symbol": "eth", "ts": "soon", "price_usd": 1.0}])
    assert str(caught.value).startswith('prices, row 1: column "ts" is "soon"')
    assert set(os.listdir(tmp_path)) == before
    shutil.rmtree(tmp_path / "exports")
