"""Arguments as people write them: chains left out, one symbol as text, times as dates, and a home folder in paths."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any, cast

import headwater as hw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import Served, headwater
from headwater import _headwater, train
from headwater._answers import Answers
from headwater.examples import ALICE, BOB, SHOP, USDT, ledger

START = 1_600_000_000
DAY = "2020-09-13"
TRON = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"
TRON_USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
BITCOIN = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"


def moved(*chains: str) -> hw.Ledger:
    """A ledger with one movement of the coin of each chain."""
    sides = {"tron": (TRON, TRON_USDT)}
    rows = [
        {
            "blockchain": chain,
            "block_number": 1,
            "timestamp": START,
            "tx_hash": f"0x{1:064x}",
            "from_address": sides.get(chain, (ALICE, BOB))[0],
            "to_address": sides.get(chain, (ALICE, BOB))[1],
            "contract": None,
            "amount_raw": 5,
        }
        for chain in chains
    ]
    return hw.Ledger.from_frames(rows)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (("bsc",), "bsc"),
        (("bsc", "tron"), "bsc"),
        (("ethereum", "bsc"), "ethereum"),
        (("tron",), "ethereum"),
    ],
)
def test_chain_of_an_evm_address_is_the_only_one_held(held: tuple[str, ...], expected: str) -> None:
    made = moved(*held)
    if expected in held:
        assert made.wallet(ALICE).blockchain == expected
        assert made.transfers_between(ALICE, BOB).rows[0]["amount"] == "0.000000000000000005"
    else:
        with pytest.raises(hw.InvalidInput, match="neither rows nor labels of ethereum"):
            made.wallet(ALICE)


def test_each_address_has_the_chain_of_its_form() -> None:
    made = moved("bsc", "tron")
    reports = made.wallet([ALICE, TRON, BOB])
    assert [report.blockchain for report in reports] == ["bsc", "tron", "bsc"]
    assert [report.blockchain for report in made.labels([TRON, ALICE])] == ["tron", "bsc"]
    assert made.risk([TRON, ALICE]).summary["blockchain"].to_list() == ["tron", "bsc"]
    with pytest.raises(hw.InvalidInput, match="neither rows nor labels of ethereum; it contains bsc, tron"):
        made.holders("native")
    assert made.flows([TRON, TRON_USDT], "native").frame.height == 2
    assert made.transactions(TRON, blockchain="tron").frame.equals(made.transactions(TRON).frame)
    # What is named is not guessed at.
    with pytest.raises(hw.InvalidInput, match="is not a valid Ethereum address"):
        made.transactions(TRON, blockchain="ethereum")
    with pytest.raises(hw.InvalidInput, match="neither rows nor labels of bitcoin"):
        made.cluster(BITCOIN)
    assert made.resolve(contracts=TRON_USDT).assets[0]["symbol"] == "usdt"


def test_call_without_an_address_is_about_the_only_chain_held() -> None:
    assert moved("tron").holders("native").holder_count == 1
    assert moved("bsc").resolve(symbols="usdt").assets[0]["chain"] == "bsc"
    assert moved("bsc", "tron").resolve(symbols="usdt").assets[0]["chain"] == "ethereum"
    assert moved("bsc").features()["address"].to_list() == [ALICE, BOB]


def test_classes_are_asked_of_each_chain_by_itself() -> None:
    made = moved("ethereum", "tron")
    reports = made.classify([ALICE, TRON, BOB, TRON_USDT])
    assert [(report.blockchain, report.address) for report in reports] == [
        ("ethereum", ALICE),
        ("tron", TRON),
        ("ethereum", BOB),
        ("tron", TRON_USDT),
    ]
    assert made.classify(TRON).blockchain == "tron"


def test_features_and_scores_keep_the_order_of_mixed_addresses(tmp_path: Path) -> None:
    made = moved("bsc", "tron")
    asked = [TRON, ALICE, "nonsense", TRON_USDT, BOB]
    features = made.features(asked)
    assert features["address"].to_list() == [TRON, ALICE, "nonsense", TRON_USDT, BOB]
    assert features["out_count"].to_list() == [1.0, 1.0, None, 0.0, 0.0]
    assert "is not a valid TRON address" in features["error"][2]
    assert features.columns == made.features([ALICE]).columns
    scores = made.score(pl.Series(asked), columns="risk")
    alone = made.score([ALICE, BOB], columns="risk")
    assert scores[[1, 4]].equals(alone)
    with pytest.raises(hw.InvalidInput, match=r"^addresses: they are of tron, bsc: name one as blockchain"):
        made.score(asked, columns="risk", output=tmp_path / "scores.parquet")
    written = made.score([TRON, TRON_USDT], columns="risk", output=tmp_path / "scores.parquet")
    assert written["failed"] == 0
    labels = {"address": [TRON], "class": ["Scam"]}
    assert train.examples(made, labels, observed=()).height == 0


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("0x12", "Ethereum"),
        ("nonsense", "Ethereum"),
        (TRON[:-1] + "c", "TRON"),
        (BITCOIN[:-1] + "b", "Bitcoin"),
        ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdx", "Bitcoin"),
    ],
)
def test_invalid_address_is_refused_as_what_it_resembles(text: str, chain: str) -> None:
    made = ledger()
    with pytest.raises(hw.InvalidInput, match=f"is not a valid {chain} address"):
        made.wallet(text)
    with pytest.raises(hw.InvalidInput, match=rf'^address\[1\]: "{text}" is not a valid {chain} address'):
        made.wallet([ALICE, text])


def test_chain_is_the_same_over_a_server(served_example: Served) -> None:
    with hw.connect(served_example.url, served_example.key) as remote:
        assert remote.wallet(ALICE).blockchain == "ethereum"
        assert remote.credits.spent == remote.credits.last_cost
        with pytest.raises(hw.InvalidInput, match="neither rows nor labels of tron"):
            remote.wallet(TRON)
        assert remote.holders("native").holder_count == 2
        assert remote.prices("eth, usdt", at=date(2020, 9, 14)).frame["price_usd"].to_list() == [2000.0, 1.0]
        assert remote.chains(include="none").rows[0]["tokens"] == []
        assert remote.query("labels", addresses=[ALICE, SHOP], blockchain="ethereum").rows


def test_text_is_a_list_of_one() -> None:
    made = ledger()
    assert made.transactions(ALICE, symbols="eth").frame.height == 2
    assert made.transactions(ALICE, symbols="eth, usdt").frame.height == 3
    assert made.transactions(ALICE, contracts=USDT).frame.height == 1
    assert made.transactions(ALICE, contracts="native").frame.height == 2
    assert made.query("transactions", address=ALICE, blockchain="ethereum", symbols="usdt").frame.height == 1
    assert made.read_all("transactions", address=ALICE, blockchain="ethereum", symbols="usdt").height == 1
    assert made.trace(ALICE, stop_labels="merchant", bridge_chains="tron").edges.height > 0
    assert made.path(ALICE, BOB, symbols="eth").frame.equals(made.path(ALICE, [BOB], symbols=["eth"]).frame)


@pytest.mark.parametrize(
    ("start", "rows"),
    [
        (date(2020, 9, 13), 3),
        (date(2020, 9, 14), 0),
        (DAY, 3),
        ("2020-09-14", 0),
        ("2020-09-13T12:27:04Z", 2),
        ("2020-09-13 14:27:04+02:00", 2),
        (datetime(2020, 9, 13, 12, 27, 4, tzinfo=timezone.utc), 2),
        (START + 24, 2),
        (float(START) + 24.9, 2),
        (np.datetime64(DAY), 3),
        (np.int64(START + 24), 2),
        (pd.Timestamp("2020-09-13T12:27:04Z"), 2),
        (pl.Series([datetime(2020, 9, 13, 12, 27, 4)]).dt.replace_time_zone("UTC")[0], 2),
    ],
)
def test_start_is_any_form_of_a_time(start: Any, rows: int) -> None:  # noqa: ANN401
    assert ledger().transactions(ALICE, start_time=start).frame.height == rows


def test_date_at_the_end_is_the_last_second_of_its_day() -> None:
    made = ledger()
    day = date(2020, 9, 13)
    assert made.transactions(ALICE, start_time=day, end_time=day).frame.height == 3
    assert made.transactions(ALICE, end_time=DAY).frame.height == 3
    assert made.transactions(ALICE, end_time="2020-09-12").frame.height == 0
    assert made.transactions([ALICE, BOB], end_time=np.datetime64(DAY)).frame.height == 6
    assert made.trace(ALICE, end_time=DAY).edges.equals(made.trace(ALICE, end_time=1_600_041_599).edges)
    closes = made.price_history("eth", DAY, "2020-09-14").frame["ts"].dt.date().to_list()
    assert closes == [date(2020, 9, 13), date(2020, 9, 14)]


def test_time_without_a_zone_is_refused_with_the_remedy() -> None:
    made = ledger()
    for time, remedy in (
        (
            datetime(2020, 9, 13),
            r"^end_time: .*expected a time with a zone, such as time.replace\(tzinfo=timezone.utc\)",
        ),
        ("2020-09-13T12:00", r'^end_time: \'2020-09-13T12:00\' has no time zone; .*"2024-01-31T12:00Z"'),
        ("2020-02-30", "^end_time: '2020-02-30' is not a valid time"),
    ):
        with pytest.raises(hw.InvalidInput, match=remedy):
            made.transactions(ALICE, end_time=time)


def test_home_folder_is_known_in_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    headwater("simulate", "--store", tmp_path / "store", "--preset", "demo")
    made = hw.open("~/store")
    assert made.write("chains", "~/chains.csv")["rows"] == 4
    assert made.export(Path("~/parquet"), chains="tron")["chains"].keys() == {"tron"}
    assert made.score([ALICE], columns="risk", output="~/scores.parquet")["rows"] == 1
    ledger().trace(ALICE).to_graphml("~/trace.graphml")
    assert {path.name for path in tmp_path.iterdir()} >= {"chains.csv", "parquet", "scores.parquet", "trace.graphml"}
    with pytest.raises(hw.InvalidInput, match="nothing"):
        hw.open("~/store", classifiers="~/nothing.json")


def test_addresses_of_any_chain_are_valid() -> None:
    texts = [ALICE, TRON, BITCOIN, "nonsense"]
    assert hw.address.validate(texts) == [True, True, True, False]
    assert hw.address.checksum([TRON, BITCOIN, ALICE.upper(), "x"])[:2] == [TRON, BITCOIN]
    assert hw.address.validate(TRON, chain="ethereum") is False


def test_chains_held_are_asked_for_once() -> None:
    asked: list[str] = []

    class CountingAnswers:
        source = "a fake"

        def answer(self, name: str, request: dict[str, Any], /) -> _headwater.Answer:
            asked.append(name)
            return near.answer(name, request)

    near = moved("bsc")._answers
    made = hw.Ledger(cast("Answers", CountingAnswers()))
    assert [made.wallet(ALICE).blockchain for _ in range(2)] == ["bsc", "bsc"]
    assert made.wallet([ALICE, BOB]).frame.height == 2
    assert asked == ["chains", *["wallet-overview"] * 4]
    # Where none are held they are asked for again, once a call.
    asked.clear()
    near = hw.Ledger.from_frames([])._answers
    empty = hw.Ledger(cast("Answers", CountingAnswers()))
    with pytest.raises(hw.InvalidInput, match="ethereum"):
        empty.wallet([ALICE, BOB])
    assert asked == ["chains", "wallet-overview"]
    # An address that has a form of its own needs none of it.
    with pytest.raises(hw.InvalidInput, match="tron"):
        empty.wallet(TRON)
    assert asked[2:] == ["wallet-overview"]
