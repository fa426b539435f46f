"""Tables of a store in polars, DuckDB and pandas have the rows of the export and of the answers."""

from __future__ import annotations

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import headwater as hw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import headwater
from headwater import _pushdown
from headwater.examples import ALICE, BOB, SHOP, USDT
from headwater.examples import ledger as example_ledger
from polars.testing import assert_frame_equal

TABLES = ["movements", "transactions", "logs", "edges", "balances", "accounts", "labels", "tokens", "prices"]


@pytest.fixture(scope="module")
def economy(demo: Path) -> hw.Ledger:
    """A ledger of the four simulated chains."""
    return hw.open(demo)


@pytest.fixture(scope="module")
def real(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> hw.Ledger:
    """A ledger of real data of the four chains, in several segments."""
    folder = tmp_path_factory.mktemp("real")
    store = folder / "store"
    blocks = sorted((corpus / "ethereum/rpc_blocks").glob("*.json.gz"))
    for chain, files in {
        "ethereum": blocks[:8],
        "bsc": [],
        "tron": [corpus / "tron/aso_trc20_xfers.csv.gz"],
        "bitcoin": [corpus / "bitcoin/blocks1-256.bz2"],
    }.items():
        if files:
            headwater("ingest", "--store", store, *files)
        else:
            # Blocks of one chain stand for another, whose addresses have the same form.
            copies = folder / chain
            copies.mkdir()
            for block in blocks[8:12]:
                text = re.sub(rb'"chainId": ?"0x1"', b'"chainId":"0x38"', gzip.decompress(block.read_bytes()))
                (copies / block.stem).write_bytes(text)
            headwater("ingest", "--store", store, "--chain", chain, copies)
    headwater("ingest", "--store", store, *blocks[12:18])
    return hw.open(store)


def queried(query: str, **tables: Any) -> list[Any]:  # noqa: ANN401
    """Give the rows that DuckDB answers over tables."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    rows: list[Any] = connection.execute(query).fetchall()
    return rows


def exported(ledger: hw.Ledger, folder: Path) -> pl.DataFrame:
    """The rows of an export, each movement once, with the names of a scan."""
    ledger.export(folder / "out")
    rows = pl.read_parquet(folder / "out/transfers/**/*.parquet", hive_partitioning=True)
    text = [pl.col(name).cast(pl.String) for name in ("chain", "kind", "direction", "status")]
    rows = rows.with_columns(text).filter("is_primary")
    outgoing = pl.col("direction") == "out"
    own = pl.col("direction") == "self"
    return rows.select(
        pl.format("{}:{}:{}:{}", "chain", "tx_hash", "kind", "ordinal").alias("id"),
        pl.col("block").alias("block_number"),
        pl.col("time").alias("timestamp"),
        pl.col("tx_index").cast(pl.Int64),
        pl.when(outgoing | own).then("address").otherwise("counterparty").alias("from_address"),
        pl.when(own).then("address").when(outgoing).then("counterparty").otherwise("address").alias("to_address"),
        "contract",
        "symbol",
        pl.col("decimals").cast(pl.Int64),
        pl.col("amount").alias("amount_raw"),
    ).sort("id")


@pytest.mark.parametrize("source", ["economy", "real"])
def test_movements_are_those_of_the_export(source: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    ledger: hw.Ledger = request.getfixturevalue(source)
    wanted = exported(ledger, tmp_path)
    movements = ledger.scan("movements")
    found = movements.select(wanted.columns).sort("id").collect()
    assert_frame_equal(found, wanted)
    chains = movements.select(pl.col("blockchain").unique(maintain_order=True)).collect()["blockchain"].to_list()
    assert chains == ["bitcoin", "bsc", "ethereum", "tron"]
    # Of an address that acts on every side, each row once.
    busy = wanted.drop_nulls("from_address")["from_address"].value_counts(sort=True)["from_address"][0]
    of_address = (pl.col("from_address") == busy) | (pl.col("to_address") == busy)
    assert_frame_equal(
        movements.filter(of_address).select(wanted.columns).sort("id").collect(), wanted.filter(of_address)
    )


def test_rows_are_those_of_the_list_of_transactions(economy: hw.Ledger) -> None:
    """Names that a list and a table share mean the same, signs and dollars among them."""
    address = (
        economy.scan("movements", blockchain="ethereum").select("from_address").drop_nulls().head(1).collect().item()
    )
    listed = economy.transactions(
        address,
        blockchain="ethereum",
        order="asc",
        include_unverified=True,
        include_zero_value=True,
        include_failed=True,
        limit=1000,
    ).to_frame(amounts="text")
    shared = [name for name in economy.scan("movements").collect_schema().names() if name in listed.columns]
    assert len(shared) == len(economy.scan("movements").collect_schema().names())
    found = economy.scan("movements", blockchain="ethereum", address=address).select(shared).head(1000).collect()
    assert found.height > 3
    assert_frame_equal(found, listed.select(shared), check_dtypes=False)


def test_predicates_give_what_polars_gives(economy: hw.Ledger) -> None:
    movements = economy.scan("movements")
    whole = movements.collect()
    middle = whole["timestamp"].sort()[whole.height // 2]
    chosen = whole.drop_nulls(["from_address", "to_address"])
    one, two = chosen["from_address"][5], chosen["to_address"][-5]
    block = whole.filter(blockchain="ethereum")["block_number"].sort()[100]
    token = whole.drop_nulls("contract")["contract"][0]
    col = pl.col
    predicates = [
        col("from_address") == one,
        pl.lit(one) == col("from_address"),
        col("to_address").is_in([one, two]),
        (col("from_address") == one) | (col("to_address") == one),
        (col("from_address") == one) & (col("to_address") == two),
        col("from_address").is_in([one, None]),
        col("from_address") == one.upper(),
        col("from_address") != one,
        ~(col("from_address") == one),
        col("from_address").is_null(),
        col("from_address").str.starts_with(one[:4]),
        col("contract").is_null(),
        col("contract") == token,
        col("contract").is_null() | (col("contract") == token),
        col("blockchain") == "tron",
        col("blockchain").is_in(["tron", "bitcoin", "nothing"]),
        col("block_number") > block,
        block >= col("block_number"),
        col("block_number").is_between(block, block + 50),
        col("block_number") < -5,
        col("block_number") < 10.5,
        col("timestamp") >= middle,
        col("timestamp") < middle,
        col("timestamp").is_between(middle, middle, closed="none"),
        col("timestamp") >= date(2024, 1, 1),
        col("tx_hash") == whole["tx_hash"][17],
        (col("from_address") == one) & (col("amount_raw") > col("amount")),
        (col("timestamp") >= middle) & (col("symbol") == "usdt") & col("status").eq("success"),
        hw.u256.gt("amount_raw", 10**18) & (col("blockchain") == "ethereum"),
    ]
    for predicate in predicates:
        assert_frame_equal(movements.filter(predicate).collect(), whole.filter(predicate))
        assert_frame_equal(movements.filter(predicate).collect(engine="streaming"), whole.filter(predicate))
    first = movements.head(500).filter(col("from_address") == one).collect()
    assert_frame_equal(first, whole.head(500).filter(col("from_address") == one))
    assert_frame_equal(
        movements.filter(col("from_address") == one).head(2).collect(), whole.filter(col("from_address") == one).head(2)
    )
    assert_frame_equal(movements.slice(7, 9).select("amount", "id").collect(), whole.slice(7, 9).select("amount", "id"))


def test_predicates_become_filters_that_are_wide_enough() -> None:
    col = pl.col
    ends = ["address", "from_address", "to_address"]
    filters = [*ends, "contract", "from_block", "to_block", "start_time", "end_time"]
    noon = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
    seconds = int(noon.timestamp())
    cases: list[tuple[pl.Expr, dict[str, Any]]] = [
        (col("from_address") == "a", {"from_address": ["a"]}),
        (col("from_address").is_in(["a", "b"]) & (col("from_address") == "b"), {"from_address": ["b"]}),
        ((col("from_address") == "a") | (col("to_address") == "b"), {"address": ["a", "b"]}),
        ((col("from_address") == "a") | (col("amount") == "b"), {}),
        (col("block_number") >= 5, {"from_block": 5}),
        ((col("block_number") > 5) & (col("block_number") <= 9), {"from_block": 5, "to_block": 9}),
        (col("timestamp") > noon, {"start_time": seconds}),
        (col("timestamp").is_between(noon, noon), {"start_time": seconds, "end_time": seconds}),
        (col("contract").is_null(), {"contract": [None]}),
        (col("symbol") == "eth", {}),
        (col("from_address").str.to_uppercase() == "A", {}),
        (~(col("from_address") == "a"), {}),
        ((col("from_address") == "a") & (col("amount") == col("symbol")), {"from_address": ["a"]}),
    ]
    for predicate, wanted in cases:
        assert _pushdown.filter_of(predicate, filters) == wanted, str(predicate)


def test_filter_by_address_reads_that_address_alone(economy: hw.Ledger) -> None:
    whole = economy.scan("movements").select(pl.len()).collect().item()
    movements = economy.scan("movements", blockchain="ethereum").select("from_address").drop_nulls().collect()
    rare = movements["from_address"].value_counts().filter(pl.col("count") < 5)["from_address"].sort()[0]
    native = economy._answers.stored_scan("movements", {})  # type: ignore[attr-defined]
    reader = native.open(["id"], _pushdown.filter_of(pl.col("from_address") == rare, ["from_address"]))
    rows = 0
    while (batch := reader.next_batch()) is not None:
        rows += pl.DataFrame(batch).height
    assert 0 < rows < 5
    assert reader.decoded_rows < whole / 20


def test_every_reader_sees_the_same_rows(economy: hw.Ledger) -> None:
    scan = economy.scan("movements", as_="arrow", blockchain="tron")
    wanted = economy.scan("movements", blockchain="tron").collect()
    assert wanted.height > 100
    assert_frame_equal(pl.DataFrame(scan), wanted)
    assert_frame_equal(pl.DataFrame(scan), wanted)
    assert pa.table(scan).num_rows == wanted.height
    reader = pa.RecordBatchReader.from_stream(scan)
    assert sum(batch.num_rows for batch in reader) == wanted.height
    duck = queried("select count(*), sum(amount_usd), min(timestamp) from scan", scan=scan)[0]
    assert duck[0] == wanted.height
    assert duck[1] == pytest.approx(wanted["amount_usd"].sum())
    again = queried("select from_address, count(*) as n from scan group by all order by n desc, 1 limit 5", scan=scan)
    counts = wanted.group_by("from_address").len("n").sort(["n", "from_address"], descending=[True, False]).head(5)
    assert again == counts.rows()
    frame = economy.scan("movements", as_="pandas", blockchain="tron")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["id"]) == wanted["id"].to_list()
    assert str(frame["timestamp"].dtype).startswith("datetime64[us, UTC")


def test_tables_join_with_frames_of_the_caller(economy: hw.Ledger) -> None:
    movements = economy.scan("movements", blockchain="ethereum")
    sent = movements.drop_nulls("from_address")
    senders = sent.group_by("from_address").len().sort("len", "from_address").tail(3).collect()["from_address"]
    own = pl.DataFrame({"from_address": senders, "team": ["a", "b", "c"]})
    wanted = movements.join(own.lazy(), on="from_address").group_by("team").agg(hw.u256.sum("amount_raw")).sort("team")
    in_polars = wanted.collect().rows()
    assert len(in_polars) == 3
    scan = economy.scan("movements", as_="arrow", columns=["from_address", "amount_raw"], blockchain="ethereum")
    joined = "select team, count(*) from scan join own using (from_address) group by team order by team"
    in_duck = queried(joined, scan=scan, own=own)
    frame = economy.scan("movements", as_="pandas", columns=["from_address", "amount_raw"], blockchain="ethereum")
    merged = frame.merge(own.to_pandas(), on="from_address")
    assert in_duck == sorted(merged.groupby("team").size().items())
    assert [(team, str(sum(map(int, rows)))) for team, rows in merged.groupby("team")["amount_raw"]] == in_polars


def test_a_scan_is_collected_in_threads_and_again(economy: hw.Ledger) -> None:
    lazy = economy.scan("movements").group_by("blockchain").len().sort("blockchain")
    wanted = lazy.collect()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: lazy.collect(), range(8)):
            assert_frame_equal(found, wanted)
    together = pl.collect_all([lazy, economy.scan("transactions").group_by("blockchain").len().sort("blockchain")])
    assert_frame_equal(together[0], wanted)


def test_a_scan_keeps_its_generation(tmp_path: Path, example: Path) -> None:
    store = tmp_path / "store"
    files = [example.parent / "transactions.csv", example.parent / "token_transfers.csv"]
    headwater("ingest", "--store", store, files[0])
    ledger = hw.open(store)
    before, scan = ledger.scan("movements"), ledger.scan("movements", as_="arrow")
    rows = before.collect()
    headwater("ingest", "--store", store, files[1])
    after = ledger.scan("movements", as_="arrow")
    assert after.generation > scan.generation
    assert_frame_equal(before.collect(), rows)
    assert pl.DataFrame(scan).height == rows.height < pl.DataFrame(after).height


def test_keywords_filter_and_take_any_form(economy: hw.Ledger) -> None:
    ledger = example_ledger()
    assert ledger.scan("movements", address=ALICE.upper().replace("0X", "0x")).collect().height == 3
    assert ledger.scan("movements", address=[BOB], contract=[None]).collect()["amount"].to_list() == ["3", "0.25"]
    assert ledger.scan("movements", contract="native").collect().height == 3
    assert ledger.scan("movements", contract=USDT, blockchain=["ethereum"]).collect()["symbol"].to_list() == ["usdt"]
    assert ledger.scan("movements", from_block=2, to_block=3).collect()["block_number"].to_list() == [2, 3]
    start = ledger.scan("movements").collect()["timestamp"][1]
    for given in (start, int(start.timestamp()), start.isoformat()):
        assert ledger.scan("movements", start_time=given).collect().height == 3
    assert ledger.scan("movements", end_time=date(2020, 1, 1)).collect().height == 0
    # As in lists: a date that ends a range includes its day, and a time needs a zone.
    for day in (date(2020, 9, 13), "2020-09-13"):
        assert ledger.scan("movements", start_time=day, end_time=day).collect().height == 4
    assert ledger.scan("movements", limit=2).collect().height == 2
    assert ledger.scan("movements", limit=2).filter(pl.col("block_number") > 2).collect().height == 0
    assert ledger.scan("edges", from_address=ALICE).select("to_address", "amount").collect().rows() == [
        (BOB, "2.5"),
        (SHOP, "1"),
    ]
    assert ledger.scan("labels").select("code", "entity").collect().height == 1
    assert ledger.scan("prices", symbol="eth").collect().height >= 1
    assert (
        economy.scan("movements", blockchain="bitcoin", columns=["transfer_type"]).collect()["transfer_type"].n_unique()
        == 2
    )


def test_what_is_unknown_is_refused_with_near_names() -> None:
    ledger = example_ledger()
    with pytest.raises(hw.InvalidInput, match="unknown table 'movement'; did you mean movements") as refused:
        ledger.scan("movement")
    assert refused.value.candidates[0] == "movements"
    with pytest.raises(hw.InvalidInput, match="did you mean amount_raw"):
        ledger.scan("movements", columns=["amount_row"])
    cases: tuple[dict[str, Any], ...] = (
        {"address": "0x12"},
        {"blockchain": "solana"},
        {"tx_hash": "0x12"},
        {"symbol": "eth"},
        {"from_block": -1},
        {"from_block": 1.5},
        {"start_time": "yesterday"},
        {"start_time": 1_700_000_000_000},
        {"columns": []},
        {"columns": ["id", "id"]},
        {"as_": "csv"},
        {"limit": -1},
    )
    for wrong in cases:
        name = next(iter(wrong))
        with pytest.raises(hw.InvalidInput, match=name):
            ledger.scan("movements", **wrong)
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        ledger.scan("movements").select("nothing").collect()


def test_a_ledger_over_a_server_refuses_with_the_remedy() -> None:
    with hw.connect("http://127.0.0.1:9", "key") as ledger, pytest.raises(hw.Unsupported, match=r"hw\.open"):
        ledger.scan("movements")


def test_empty_tables_have_their_columns(tmp_path: Path) -> None:
    ledger = hw.Ledger.from_frames([])
    for table in TABLES:
        frame = ledger.scan(table).collect()
        wanted = ledger.tables().filter(table=table)["column"].to_list()
        assert frame.columns == wanted
        assert frame.height == 0 or table in ("tokens", "prices")
        assert pa.table(ledger.scan(table, as_="arrow")).column_names == wanted


def test_documents_list_every_table_and_column() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/query-the-store.md").read_text()
    tables = example_ledger().tables()
    for table, column, kind, meaning in tables.rows():
        assert f"## {table}" in page, table
        assert f"| `{column}` | {kind} | {meaning} |" in page, f"{table}.{column}"


def test_the_table_of_labels_makes_a_ledger() -> None:
    """The table of labels is one that a ledger takes."""
    ledger = example_ledger()
    labels = ledger.scan("labels").collect()
    again = hw.Ledger.from_frames([], labels=labels.drop("list", "licence", "action", "is_disputed", "last_seen"))
    assert (
        again.scan("labels").select("address", "code", "entity").collect().rows()
        == labels.select("address", "code", "entity").rows()
    )
