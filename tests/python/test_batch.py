"""Features and scores of very many addresses through the Python interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import headwater as hw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Served, headwater
from hand_model import MODEL
from headwater import examples
from headwater._progress import Bar
from headwater.examples import ALICE, BOB, SHOP

NOBODY = "0x" + "dd" * 20


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "by-hand.json"
    path.write_text(json.dumps(MODEL))
    return path


@pytest.fixture(scope="module")
def ledger(demo: Path, model: Path) -> hw.Ledger:
    return hw.open(demo, classifiers=[model])


def test_score_equals_risk_and_classify_of_each_address(ledger: hw.Ledger) -> None:
    scores = ledger.score(columns=("risk", "class"))
    some = scores[:: max(1, scores.height // 200)]
    single = ledger.risk(some["address"])
    reported = [
        (risk.composite_score, risk.risk_level, risk.decision["gate_reason"], risk.decision["context"])
        for risk in single
    ]
    assert some.select("risk_score", "risk_level", "gate_reason", "context").rows() == reported
    assert some.filter(pl.col("risk_score") > 0).height > 0
    classes = ledger.classify(some["address"])
    assert some["predicted_class"].to_list() == [one.predicted_class for one in classes]
    assert some["confidence"].fill_null(0.0).to_list() == pytest.approx([one.confidence for one in classes], abs=1e-4)


def test_addresses_are_taken_in_any_form_and_kept_in_order(ledger: hw.Ledger) -> None:
    first, second = ledger.features()["address"].head(2).to_list()
    asked = [second, None, first, second, "0x12"]
    frame = pl.DataFrame({"n": [1, 2, 3, 4, 5], "address": asked})
    table = frame.to_arrow()
    forms: list[Any] = [
        asked,
        tuple(asked),
        frame,
        frame.lazy(),
        frame["address"],
        frame.with_columns(pl.col("address").cast(pl.Categorical)),
        frame.to_pandas(),
        pd.Series(asked),
        table,
        table["address"],
        table["address"].combine_chunks(),
        duckdb.sql("select n, address from frame order by n"),
    ]
    wanted = ledger.score(asked, columns=["risk", "class", "features"])
    assert wanted["address"].to_list() == asked
    assert wanted["error"].is_null().to_list() == [True, False, True, True, False]
    assert wanted["error"][1] == "the address is missing"
    assert wanted.row(0) == wanted.row(3)
    for form in forms:
        assert ledger.score(form, columns=["risk", "class", "features"]).equals(wanted), type(form)
    assert ledger.score([]).height == 0
    assert ledger.features(["0x12"]).select("in_count", "error").rows()[0][0] is None


def test_all_addresses_of_a_chain_are_scored_when_none_are_given(ledger: hw.Ledger) -> None:
    frame = ledger.features()
    assert frame["address"].is_sorted()
    assert frame["address"].n_unique() == frame.height > 100
    assert frame["error"].null_count() == frame.height


def test_observing_a_share_lowers_counts_alone(ledger: hw.Ledger) -> None:
    whole, half = ledger.features(), ledger.features(observed=(0.5, 3))
    assert whole["address"].equals(half["address"])
    ratio = float(half["in_count"].sum()) / float(whole["in_count"].sum())
    assert 0.2 < ratio < 0.8
    assert not half.equals(ledger.features(observed=(0.5, 4)))
    assert (ledger.features(observed=(1.0, 3))["in_count"] <= whole["in_count"]).all()
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(hw.InvalidInput, match="above 0 and at most 1"):
            ledger.features([ALICE], observed=(share, 1))


def test_score_file_equals_the_frame_and_names_its_inputs(
    demo: Path, model: Path, ledger: hw.Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "scores.parquet"
    written = ledger.score(output=path, columns=["risk", "class", "features"])
    frame = ledger.score(columns=["risk", "class", "features"])
    assert written["file"] == str(path)
    failed = frame.height - frame["error"].null_count()
    assert (written["rows"], written["failed"], written["resumed"]) == (frame.height, failed, 0)
    assert pl.read_parquet(path).equals(frame)
    reported = {key.decode(): value.decode() for key, value in pq.read_schema(path).metadata.items()}
    assert reported["headwater.chain"] == "ethereum"
    assert reported["headwater.columns"] == "risk,class,features"
    assert reported["headwater.model"].startswith("by hand (")
    assert reported["headwater.labels"] == ledger.risk(frame["address"][0]).data["meta"]["labels_version"]
    assert reported["headwater.risk_parameters"] == ledger.risk(frame["address"][0]).data["meta"]["model_version"]
    assert pq.read_table(path).num_rows == frame.height
    assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(frame.height,)]

    # The command line writes the same bytes.
    other = tmp_path / "other.parquet"
    job = ("score", "--store", demo, "--chain", "ethereum", "--columns", "risk,class,features", "--output", other)
    headwater(*job, "--model", model)
    assert other.read_bytes() == path.read_bytes()


def test_interrupted_file_resumes_with_the_same_bytes(demo: Path, model: Path, tmp_path: Path) -> None:
    path, straight = tmp_path / "scores.parquet", tmp_path / "straight.parquet"
    addresses = hw.open(demo).features()["address"].to_list()
    # Three parts and more: one is written, and one is interrupted.
    count = 100_000 if os.environ.get("HEADWATER_FULL") else 40_000
    addresses = (addresses * (count // len(addresses) + 1))[:count]
    listed = pl.DataFrame({"address": addresses})
    listed.write_parquet(tmp_path / "listed.parquet")
    script = (
        "import sys, headwater as hw, polars as pl\n"
        "ledger = hw.open(sys.argv[1], classifiers=sys.argv[2])\n"
        "ledger.score(pl.read_parquet(sys.argv[3]), output=sys.argv[4])\n"
    )
    arguments = [sys.executable, "-c", script, *map(str, (demo, model, tmp_path / "listed.parquet", path))]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("scores.parquet.parts/part-*.parquet")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[1]
    assert "KeyboardInterrupt" in said
    assert not path.exists()
    with hw.open(demo, classifiers=model) as ledger:
        written = ledger.score(listed, output=path)
        assert written["resumed"] >= 16_384
        ledger.score(listed, output=straight)
        assert path.read_bytes() == straight.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["listed.parquet", "scores.parquet", "straight.parquet"]


def test_parts_of_another_job_are_refused(ledger: hw.Ledger, tmp_path: Path) -> None:
    parts = tmp_path / "scores.parquet.parts"
    parts.mkdir()
    job = ledger.score_plan(columns="risk").job
    (parts / "job.json").write_text(job.replace('"chain": "ethereum"', '"chain": "tron"'))
    (parts / "part-0-of-another-job").touch()
    with pytest.raises(hw.InvalidInput, match="chain was tron, is ethereum"):
        ledger.score(output=tmp_path / "scores.parquet")
    with pytest.raises(hw.StorageError, match="No such file"):
        ledger.score(output=tmp_path / "none" / "scores.parquet")
    with pytest.raises(hw.InvalidInput, match=r"does not end in \.parquet"):
        ledger.score(output=tmp_path / "scores.csv")


def test_what_cannot_be_scored_is_refused_by_name(ledger: hw.Ledger) -> None:
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("one address", ALICE, {}),
        ("no column `address`; the columns are wallet", pl.DataFrame({"wallet": [ALICE]}), {}),
        ("expected text", pl.DataFrame({"address": [1]}), {}),
        (r"addresses\[1\]", [ALICE, 5], {}),
        ("expected text", 5, {}),
        ("unknown columns", [ALICE], {"columns": ["age"]}),
        ("unknown columns", [ALICE], {"columns": []}),
        ("unknown chain", [ALICE], {"blockchain": "solana"}),
        ("no classifier of bsc", [ALICE], {"blockchain": "bsc"}),
    ]
    for wanted, addresses, fields in cases:
        with pytest.raises(hw.InvalidInput, match=wanted):
            ledger.score(addresses, **fields)


def test_risk_by_labels_alone_is_warned_of(ledger: hw.Ledger, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="score: the risk of bsc rests on labels alone") as reported:
        frame = ledger.score(blockchain="bsc", columns="risk")
    assert reported[0].filename == __file__
    assert frame.height > 100
    assert frame["behavior_score"].null_count() == frame.height
    with pytest.warns(UserWarning, match="labels alone") as reported:
        ledger.score(blockchain="bsc", columns="risk", output=tmp_path / "bsc.parquet")
    assert reported[0].filename == __file__
    with pytest.raises(hw.InvalidInput, match="neither rows nor labels of tron"):
        examples.ledger().features(blockchain="tron")


def test_classifiers_are_refused_by_name(demo: Path, model: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.json"
    torn.write_text("{")
    cases: list[tuple[str, Any]] = [
        ("none.json cannot be read", tmp_path / "none.json"),
        ("torn.json cannot be used", [model, torn]),
        ("both models of ethereum", [model, str(model)]),
        (r"classifiers\[0\]: expected a path", [5]),
        ("classifiers: expected paths", 5),
    ]
    for wanted, classifiers in cases:
        with pytest.raises(hw.InvalidInput, match=wanted):
            hw.open(demo, classifiers=classifiers)
        with pytest.raises(hw.InvalidInput, match=wanted):
            hw.Ledger.from_frames([], classifiers=classifiers)


def test_frames_take_classifiers_too(model: Path) -> None:
    moved = [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": 1_600_000_000 + 12 * number,
            "tx_hash": f"0x{number:064x}",
            "from_address": BOB,
            "to_address": ALICE,
            "contract": None,
            "amount_raw": "5",
        }
        for number in range(1, 8)
    ]
    scores = hw.Ledger.from_frames(moved, classifiers=model).score([ALICE, BOB, NOBODY])
    # Seven movements in and none out: raw scores of -1, 1.5 and 1.5, of which a scam has an offset of 0.5 besides.
    assert scores["predicted_class"].to_list()[0] == "Scam"
    assert scores["predicted_class"].to_list()[2] is None
    assert scores["error"].to_list() == [None, None, "no activity: no transfers of the address are held on ethereum"]


def test_a_bar_follows_parts_and_leaves_out_what_was_done_before(
    ledger: hw.Ledger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger.score([ALICE, BOB])
    assert capsys.readouterr() == ("", "")
    ledger.score([ALICE, BOB], progress=True)
    assert "score [####################] 2 of 2 addresses" in capsys.readouterr().err
    ledger.features([ALICE], progress=True)
    assert "features [####################] 1 of 1 addresses" in capsys.readouterr().err
    ledger.score([ALICE], output=tmp_path / "one.parquet", progress=True)
    assert "score [####################] 1 of 1 addresses" in capsys.readouterr().err

    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Bar("score", "addresses") as bar:
        now[0] += 2.0
        bar.follow(60, 100, 40)
    # Twenty in two seconds, and forty are left.
    assert "60 of 100 addresses, 10/s, 4 s left" in capsys.readouterr().err


def test_over_a_server_the_calls_to_ask_are_named(served_example: Served) -> None:
    with hw.connect(served_example.url, served_example.key) as ledger:
        for call in (ledger.features, ledger.score):
            with pytest.raises(hw.Unsupported, match=r"risk\(\) or classify\(\)"):
                call([ALICE, SHOP])


def test_table_of_pyarrow_without_columns_of_text_is_refused(ledger: hw.Ledger) -> None:
    with pytest.raises(hw.InvalidInput, match="address"):
        ledger.features(pa.table({"wallet": [ALICE]}))
