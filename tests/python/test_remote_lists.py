"""Whole lists of a server: their pages, what breaks off among them, and what they warn of."""

from __future__ import annotations

import json
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import headwater as hw
import polars as pl
import pytest
from headwater import examples
from headwater.examples import ALICE
from stub_server import Handler, Stub, connect, lines_of


@pytest.mark.parametrize("where", ["head", "body"])
def test_a_list_that_trickles_ends_with_the_patience(stub: Stub, where: str) -> None:
    def trickle(handler: Handler, _: int) -> None:
        if where == "body":
            handler.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n"
            )
        for letter in (b"HTTP/1.1 200 OK\r\nX: " if where == "head" else b"") + b" " * 40:
            try:
                handler.wfile.write(bytes([letter]))
            except OSError:
                break
            time.sleep(0.1)
        handler.hang_up()

    stub.script = trickle
    start = time.monotonic()
    with pytest.raises(hw.TimedOut):
        connect(stub, timeout=1.0, patience=1.5, retries=0).read_all("registry")
    spent = time.monotonic() - start
    assert 0.9 < spent < 3.0
    # A head has the time of a try; rows may come as long as they do not fall silent.
    assert (spent > 1.4) == (where == "body")


@pytest.mark.parametrize("body", [b"<h1>Log in</h1>\n", b'{"symbol": \n', b"\xff\n"])
def test_invalid_lines_are_a_server_error_and_leave_no_file(stub: Stub, body: bytes, tmp_path: Path) -> None:
    stub.script = lambda handler, _: handler.send(200, body, {"Content-Type": "application/x-ndjson"})
    with pytest.raises(hw.ServerError, match="is not Headwater"):
        connect(stub).write("registry", tmp_path / "rows.csv")
    assert list(tmp_path.iterdir()) == []


def test_interrupted_list_is_resumed_without_repeated_rows(stub: Stub, tmp_path: Path) -> None:
    page = {"Content-Type": "application/x-ndjson", "X-Credit-Cost": "5", "X-As-Of-Block": "9"}

    def script(handler: Handler, number: int) -> None:
        match number:
            case 0:
                handler.send(200, lines_of(1, 2), {**page, "X-Next-Cursor": "there"})
            case 1:
                handler.send(200, lines_of(3), page, length=1000)
            case _:
                handler.send(200, lines_of(3, 4), {**page, "X-Warnings": "checksum:colour"})

    stub.script = script
    ledger, path = connect(stub), tmp_path / "rows.csv"
    written = ledger.write("transactions", path, blockchain="ethereum", address=ALICE)
    assert written["rows"] == 4
    assert pl.read_csv(path)["symbol"].to_list() == ["s1", "s2", "s3", "s4"]
    assert ledger.credits.spent == 10
    keys = [asked.repetition_key for asked in stub.asked]
    assert (keys[1] == keys[2], keys[0] == keys[1]) == (True, False)
    assert [json.loads(asked.body).get("cursor") for asked in stub.asked] == [None, "there", "there"]
    assert {asked.headers["accept"] for asked in stub.asked} == {"application/x-ndjson"}


def test_a_list_that_never_comes_whole_leaves_the_older_file(stub: Stub, tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_text("an older file")
    stub.script = lambda handler, _: handler.send(200, lines_of(1), {"Content-Type": "application/x-ndjson"}, 1000)
    with pytest.raises(hw.Unavailable):
        connect(stub, retries=1).write("registry", path)
    assert path.read_text() == "an older file"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.ndjson"]


def test_holder_pages_warn_when_the_data_changed(stub: Stub, tmp_path: Path) -> None:
    def script(handler: Handler, number: int) -> None:
        rows = b"".join(
            json.dumps({"rank": 100 * number + place}).encode() + b"\n" for place in range(100 - 99 * number)
        )
        handler.send(200, rows, {"Content-Type": "application/x-ndjson", "X-As-Of-Block": str(9 + number)})

    stub.script = script
    path = tmp_path / "holders.csv"
    written = connect(stub).write("token/holders", path, blockchain="ethereum", contract="native")
    assert (written["rows"], [warning["code"] for warning in written["warnings"]]) == (101, ["data_changed"])
    assert pl.read_csv(path)["rank"].to_list() == list(range(101))
    assert [asked.path.split("&limit=")[-1] for asked in stub.asked] == ["100", "100&offset=100"]


def test_large_holder_limit_is_requested_in_pages(stub: Stub) -> None:
    def script(handler: Handler, _: int) -> None:
        fields = dict(parse_qsl(urlsplit(handler.path).query))
        start, count = int(fields.get("offset", 0)), int(fields["limit"])
        rows = b"".join(json.dumps({"rank": start + place}).encode() + b"\n" for place in range(count))
        handler.send(200, rows, {"Content-Type": "application/x-ndjson", "X-As-Of-Block": "9"})

    stub.script = script
    ledger = connect(stub)
    there = {"blockchain": "ethereum", "contract": "native"}
    for limit, offset, pages in [(100, 0, 1), (101, 0, 2), (250, 7, 3), (300, 0, 3)]:
        stub.asked.clear()
        frame = ledger.read_all("token/holders", there, limit=limit, offset=offset)
        assert frame["rank"].to_list() == list(range(offset, offset + limit))
        assert len(stub.asked) == pages


def test_warnings_of_a_whole_list_are_reported(stub: Stub, recwarn: pytest.WarningsRecorder) -> None:
    def script(handler: Handler, number: int) -> None:
        rows = lines_of(*range(100 - 50 * (number % 2)))
        warned = "checksum:gr%C3%B6%C3%9Fe, not_built:counterparty_label"
        said = {"X-As-Of-Block": str(number), "X-Warnings": warned}
        handler.send(200, rows, {"Content-Type": "application/x-ndjson", **said})

    stub.script = script
    with connect(stub) as ledger:
        ledger.read_all("token/holders", blockchain="ethereum", contract="native", größe=1)
    assert [str(each.message).partition(" while")[0] for each in recwarn] == [
        "token/holders: checksum: größe",
        "token/holders: the data changed",
    ]
    assert {(each.category, Path(each.filename).name) for each in recwarn} == {(UserWarning, Path(__file__).name)}
    recwarn.clear()
    examples.ledger().read_all("transactions", blockchain="ethereum", address="0xAa" + "aa" * 19)
    assert str(recwarn[0].message).startswith("transactions: address: the mixed case of 0xAaaa")
