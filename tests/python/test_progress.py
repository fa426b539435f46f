"""The line on standard error that shows how far a long call is."""

from __future__ import annotations

import json
import time

import headwater as hw
import pytest
from headwater import _progress
from headwater._progress import Bar
from headwater.examples import ALICE, BOB, SHOP, ledger
from stub_server import Handler, stub_server


def test_progress_bar_shows_done_and_total(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_DRAW_SECS", 0.0)
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Bar("wallet-overview", "addresses", 4) as bar:
        now[0] += 2.0
        bar.reach(1)
        now[0] += 2.0
        bar.reach(4)
    # One in two seconds: six for the other three. Then four in four.
    reported = capsys.readouterr().err.replace("\n", "\r").split("\r")
    assert [line.strip() for line in reported if line][:2] == [
        "wallet-overview [#####...............] 1 of 4 addresses, 0.5/s, 6 s left",
        "wallet-overview [####################] 4 of 4 addresses, 1.0/s, 4 s",
    ]


def test_nothing_is_shown_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    made = ledger()
    made.wallet([ALICE, BOB])
    made.read_all("registry")
    made.wallet(ALICE, progress=True)
    assert capsys.readouterr() == ("", "")
    made.wallet([ALICE, BOB], progress=True)
    assert "wallet-overview [####################] 2 of 2 addresses" in capsys.readouterr().err
    made.read_all("registry", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert f"registry: {made.registry().frame.height} rows" in err


def test_pages_and_answers_of_a_server_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "_DRAW_SECS", 0.0)
    page = {"Content-Type": "application/x-ndjson"}

    def script(handler: Handler, number: int) -> None:
        if not handler.path.endswith("registry") and "transactions" not in handler.path:
            handler.success({"balances": []})
            return
        lines = b"".join(json.dumps({"symbol": f"s{row}"}).encode() + b"\n" for row in range(2))
        handler.send(200, lines, {**page, "X-Next-Cursor": "there"} if number == 0 else page)

    with stub_server() as stub:
        stub.script = script
        remote = hw.connect(stub.url, "k")
        fields = {"blockchain": "ethereum", "address": ALICE}
        assert remote.read_all("transactions", fields, progress=True).height == 4
        reported = capsys.readouterr().err
        assert "transactions: 2 rows" in reported
        assert "transactions: 4 rows" in reported
        remote.wallet([ALICE, BOB, SHOP], progress=True)
        assert "3 of 3 addresses" in capsys.readouterr().err
