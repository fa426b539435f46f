"""Exports have the rows of the store in every engine, and features of their rows are those of the store."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import headwater as hw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import headwater
from headwater import _headwater
from headwater.examples import ledger as example_ledger
from polars.testing import assert_frame_equal

TABLES = ["transfers", "transactions", "logs", "tokens", "labels", "prices"]
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def economy(demo: Path) -> hw.Ledger:
    """A ledger of the four simulated chains."""
    return hw.open(demo)


@pytest.fixture(scope="module")
def whole(economy: hw.Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of all its tables, as Delta tables."""
    folder = tmp_path_factory.mktemp("whole")
    written = economy.export(folder, "all", format="delta")
    assert list(written) == TABLES
    return folder


def parquet(folder: Path, table: str) -> pl.DataFrame:
    """The rows of the files of a table, without the columns of folders."""
    paths = sorted(folder.joinpath(table).rglob("*.parquet"))
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in paths])


def sorted_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in an order of their own, words as text."""
    words = [name for name, kind in frame.schema.items() if kind == pl.Categorical or isinstance(kind, pl.Enum)]
    return frame.with_columns(pl.col(words).cast(pl.String)).sort(pl.all())


@pytest.mark.parametrize("table", TABLES)
def test_delta_tables_have_the_rows_of_the_files(whole: Path, table: str) -> None:
    delta = deltalake.DeltaTable(str(whole / table))
    manifest = json.loads((whole / table / "_headwater.json").read_text())
    assert delta.metadata().partition_columns == manifest["partitions"]
    assert {(whole / table / entry["path"]).stat().st_size for entry in manifest["files"]} == {
        entry["bytes"] for entry in manifest["files"]
    }
    rows = pl.DataFrame(pl.from_arrow(delta.to_pyarrow_table()))
    files = parquet(whole, table)
    assert files.height == manifest["rows"] > 0
    assert_frame_equal(sorted_text(rows.select(files.columns)), sorted_text(files), check_dtypes=False)
    if "chain" in manifest["partitions"]:
        counted = {chain: held["rows"] for chain, held in manifest["chains"].items() if held["rows"]}
        assert dict(rows["chain"].value_counts().rows()) == counted


def test_exported_tables_are_those_of_scans(economy: hw.Ledger, whole: Path) -> None:
    for table in TABLES[1:]:
        scanned = economy.scan(table).collect()
        assert_frame_equal(sorted_text(parquet(whole, table)), sorted_text(scanned))


def test_delta_filters_find_amounts_of_any_length(whole: Path) -> None:
    """Statistics of the log leave out no file that has the row."""
    files = parquet(whole, "transfers").filter(pl.col("amount").str.len_chars() > 20)
    files = files.drop_nulls("amount_decimal").sort("amount_decimal")
    table = deltalake.DeltaTable(str(whole / "transfers")).to_pyarrow_dataset()
    for amount in {files["amount_decimal"][place] for place in (0, files.height // 2, files.height - 1)}:
        found = table.to_table(filter=pa.compute.field("amount_decimal") == pa.scalar(amount, pa.decimal128(38, 0)))
        assert found.num_rows == files.filter(pl.col("amount_decimal") == amount).height


def test_duckdb_reads_the_partitions(economy: hw.Ledger, whole: Path) -> None:
    query = """
        select chain, count(*) from read_parquet(?, hive_partitioning = true, hive_types_autocast = false)
        where is_primary group by chain order by chain
    """
    found = duckdb.execute(query, [f"{whole}/transfers/**/*.parquet"]).fetchall()
    counted = economy.scan("movements").group_by("blockchain").len().sort("blockchain").collect()
    assert found == counted.rows()


def test_the_same_store_gives_the_same_bytes(economy: hw.Ledger, demo: Path, whole: Path, tmp_path: Path) -> None:
    headwater("export", "--store", demo, "--out", tmp_path, *(part for name in TABLES for part in ("--table", name)))
    for path in tmp_path.rglob("*.*"):
        if path.is_file():
            assert path.read_bytes() == (whole / path.relative_to(tmp_path)).read_bytes(), path
    assert [path.name for path in sorted(tmp_path.iterdir())] == sorted(TABLES)


def test_files_state_where_they_come_from(economy: hw.Ledger, whole: Path) -> None:
    generation = economy.scan("tokens", as_="arrow").generation
    for table in TABLES:
        manifest = json.loads((whole / table / "_headwater.json").read_text())
        assert (manifest["format"], manifest["table"], manifest["generation"]) == (2, table, generation)
        metadata = pq.read_metadata(whole / table / manifest["files"][0]["path"]).metadata
        assert metadata[b"headwater.table"] == table.encode()
        assert metadata[b"headwater.generation"] == str(generation).encode()
    heads = json.loads((whole / "transfers/_headwater.json").read_text())["chains"]
    latest = (
        economy.scan("transactions").group_by("blockchain").agg(pl.col("block_number", "timestamp").max()).collect()
    )
    assert heads.keys() == set(latest["blockchain"])
    for chain, block, moment in latest.rows():
        assert heads[chain]["last_block"] >= block
        assert heads[chain]["last_time"] >= moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("chain", ["ethereum", "tron", "bsc"])
def test_features_of_each_bucket_are_those_of_the_store(economy: hw.Ledger, whole: Path, chain: str) -> None:
    columns = ["features"] if chain == "bsc" else ["class", "features"]
    _compare(economy, whole, chain, columns)


def test_features_of_real_exports_are_those_of_the_store(exports: Path, tmp_path: Path) -> None:
    ledger = hw.open(exports)
    ledger.export(tmp_path)
    _compare(ledger, tmp_path, "ethereum", ["class", "features"], step=1 if os.environ.get("HEADWATER_FULL") else 16)


def test_features_of_real_blocks_are_those_of_the_store(corpus: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    headwater("ingest", "--store", store, *sorted((corpus / "ethereum/rpc_blocks").glob("*.json.gz"))[:12])
    headwater("ingest", "--store", store, corpus / "tron/aso_trc20_xfers.csv.gz")
    ledger = hw.open(store)
    ledger.export(tmp_path / "out")
    for chain in ("ethereum", "tron"):
        _compare(ledger, tmp_path / "out", chain, ["class", "features"])


def _compare(ledger: hw.Ledger, folder: Path, chain: str, columns: list[str], step: int = 1) -> None:
    """Compare every address of every so many buckets of an export with the store."""
    paths = sorted((folder / "transfers" / f"chain={chain}").rglob("*.parquet"))[::step]
    found = pl.concat(hw.features_of_export(pq.read_table(path, partitioning=None), chain, columns) for path in paths)
    assert_frame_equal(found, ledger.score(found["address"], chain, columns=columns), check_exact=True)
    moved = ledger.scan("accounts", blockchain=chain).filter(pl.col("movements") > 0).select("address").collect()
    buckets = {path.parent.name.removeprefix("bucket=") for path in paths}
    moved = moved.filter(pl.col("address").map_elements(bucket_of, return_dtype=pl.String).is_in(buckets))
    assert sorted(found["address"]) == sorted(moved["address"])


def bucket_of(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:2]


def test_features_take_rows_of_any_engine(economy: hw.Ledger, whole: Path) -> None:
    path = sorted((whole / "transfers/chain=ethereum").rglob("*.parquet"))[0]
    wanted = economy.features(pl.read_parquet(path)["address"].unique(maintain_order=True), "ethereum")
    query = duckdb.sql(f"select * from read_parquet('{path}', hive_partitioning = true)")
    tables: list[Any] = [
        pl.read_parquet(path),
        pl.scan_parquet(path),
        pq.read_table(path),
        query,
        pq.read_table(path).to_pandas(),
    ]
    for table in tables:
        assert_frame_equal(hw.features_of_export(table, "ethereum"), wanted, check_exact=True)
    empty = hw.features_of_export(pl.read_parquet(path).clear(), "ethereum")
    assert (empty.height, empty.columns) == (0, wanted.columns)


def test_features_refuse_what_rows_do_not_contain(whole: Path) -> None:
    path = sorted((whole / "transfers/chain=ethereum").rglob("*.parquet"))[0]
    rows = pl.read_parquet(path)
    cases: list[tuple[tuple[Any, str], dict[str, Any], str]] = [
        ((rows, "bitcoin"), {}, "inputs and outputs"),
        ((rows, "dogecoin"), {}, "dogecoin"),
        ((rows.drop("verified"), "ethereum"), {}, "no column `verified`.*export format 2"),
        ((rows, "tron"), {}, "row 1: address: .* expected an address of tron"),
        ((rows, "ethereum"), {"columns": ["risk"]}, "columns: the risk needs labels"),
        ((rows, "ethereum"), {"columns": "size"}, "unknown columns"),
        (([{"address": "0x12"}], "ethereum"), {}, "no column `block`"),
    ]
    for arguments, options, why in cases:
        with pytest.raises(hw.InvalidInput, match=why):
            hw.features_of_export(*arguments, **options)


def test_export_of_several_tables_is_whole_or_absent(economy: hw.Ledger, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/own").touch()
    with pytest.raises(hw.InvalidInput, match="is not empty"):
        economy.export(tmp_path, ["tokens", "logs"])
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    written = economy.export(tmp_path, "tokens", "tron")
    assert written["chains"].keys() == {"tron"}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tables": "edges"}, "tables"),
        ({"tables": []}, "tables"),
        ({"format": "csv"}, "format"),
        ({"chains": "tron", "blockchain": "tron"}, "chains"),
        ({"blockchain": "dogecoin"}, "chain"),
    ]
    for arguments, field in cases:
        with pytest.raises(hw.InvalidInput) as caught:
            economy.export(tmp_path / "never", **arguments)
        assert caught.value.field == field
    assert not (tmp_path / "never").exists()


def test_delta_without_its_package_is_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(hw.Unsupported, match="pip install deltalake"):
        example_ledger().export(tmp_path / "out", format="delta")
    assert not (tmp_path / "out").exists()


def test_progress_names_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example_ledger().export(tmp_path, ["transfers", "prices"], progress=True)
    assert "export prices" in capsys.readouterr().err


def test_tables_without_rows_have_their_columns(tmp_path: Path) -> None:
    example_ledger().export(tmp_path, ["logs", "labels"], format="delta")
    for table in ("logs", "labels"):
        files = pl.read_parquet(f"{tmp_path}/{table}/**/*.parquet")
        assert files.columns[: len(example_ledger().scan(table).collect_schema())] == list(
            example_ledger().scan(table).collect_schema()
        )
        assert len(deltalake.DeltaTable(str(tmp_path / table)).to_pyarrow_table()) == files.height


def test_documents_list_every_table_and_column() -> None:
    page = (DOCS / "export.md").read_text()
    for table, row, partitions, columns in _headwater.export_tables():
        if table == "transfers":
            for name, kind, meaning in columns:
                assert f"| `{name}` | {kind} | {meaning} |" in page, name
        else:
            keys = ", ".join(f"`{key}`" for key in partitions) or "none"
            assert f"| `{table}` | {row} | {keys} | [columns](query-the-store.md#{table}) |" in page, table
    assert [table for table, *_ in _headwater.export_tables()] == TABLES
