"""Pictures of traces and paths: their forms, files, and what notebooks get."""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import headwater as hw
import pytest
from headwater import _widget
from headwater.examples import ALICE, BOB, SHOP, ledger

NOBODY = "0x" + "dd" * 20


@pytest.fixture(scope="module")
def town() -> hw.Ledger:
    return ledger()


@pytest.fixture(scope="module")
def picture(town: hw.Ledger) -> hw.Picture:
    return town.trace(ALICE).plot()


def texts(picture: hw.Picture) -> list[str]:
    return [text for text in ElementTree.fromstring(picture.svg).itertext() if text.strip()]


def data_of(picture: hw.Picture) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', picture.html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_picture_names_start_ends_and_amounts(picture: hw.Picture) -> None:
    shown = texts(picture)
    for expected in (
        "START",
        "Corner Shop",
        "merchant",
        "0xcccc…cccc",
        "1 eth ($2,000)",
        "2.5 usdt ($2.50)",
        "2020-09-13",
    ):
        assert expected in shown, (expected, shown)
    assert "further payments do not fit in time" in " ".join(shown), shown
    assert shown[-1] == "A trace is a hypothesis: coins in one account cannot be told apart."


def test_lines_are_as_wide_as_their_amounts(picture: hw.Picture) -> None:
    data = data_of(picture)
    names = {number: node["address"] for number, node in enumerate(data["nodes"])}
    weights = {(names[edge["from"]], names[edge["to"]]): edge["weight"] for edge in data["edges"]}
    assert weights[BOB, ALICE] == 1.0
    assert weights[ALICE, SHOP] == pytest.approx(2000 / 6000)


def test_path_has_the_same_picture(town: hw.Ledger) -> None:
    shown = texts(town.path(ALICE, BOB).plot())
    assert {"START", "TARGET", "2 hops after"} - set(shown) <= {"2 hops after"}
    assert "1 eth ($2,000)" in shown


def test_trace_without_payments_says_so(town: hw.Ledger) -> None:
    assert any("no payments were followed" in text for text in texts(town.trace(NOBODY).plot()))


def test_save_writes_the_format_of_the_ending(picture: hw.Picture, tmp_path: Path) -> None:
    assert picture.save(tmp_path / "a.html").read_text(encoding="utf-8") == picture.html
    assert picture.save(str(tmp_path / "a.SVG")).read_text(encoding="utf-8") == picture.svg
    assert picture.save(tmp_path / "a.png").read_bytes() == picture.png
    with pytest.raises(hw.InvalidInput, match=r"a\.gif does not end in \.html, \.svg or \.png"):
        picture.save(tmp_path / "a.gif")
    with pytest.raises(hw.StorageError, match="cannot write"):
        picture.save(tmp_path / "nowhere" / "a.svg")


def test_notebook_without_widgets_gets_a_frame(picture: hw.Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    _widget._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    bundle = picture._repr_mimebundle_()
    assert list(bundle) == ["text/html", "image/svg+xml", "text/plain"]
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" [^>]*></iframe>', bundle["text/html"])
    assert frame is not None
    assert unescape(frame[1]) == picture.html
    with pytest.raises(hw.Unsupported, match=r"headwater\[widget\]"):
        picture.widget()


def test_widget_has_the_data_and_the_selected_address(picture: hw.Picture) -> None:
    pytest.importorskip("anywidget")
    widget: Any = picture.widget()
    assert widget.graph == data_of(picture)
    assert widget.selected is None
    widget.selected = ALICE
    assert "export default" in str(widget._esm)
    data, _ = hw.Picture._repr_mimebundle_(picture)
    assert {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"} <= set(data)


def test_show_opens_the_browser(picture: hw.Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def opens(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opens)
    picture.show()
    file = Path(opened[0].removeprefix("file://"))
    assert file.read_text(encoding="utf-8") == picture.html
    file.unlink()


def test_hostile_names_stay_text() -> None:
    name = "</script><img src=x onerror=alert(1)>\u202e]]>"
    rows = [
        {
            "blockchain": "ethereum",
            "block_number": 1,
            "timestamp": 1_600_000_000,
            "tx_hash": f"0x{1:064x}",
            "from_address": ALICE,
            "to_address": BOB,
            "contract": None,
            "amount_raw": "7",
        }
    ]
    labels = [{"blockchain": "ethereum", "address": BOB, "code": "merchant", "entity": name, "level": "service_data"}]
    picture = hw.Ledger.from_frames(rows, labels).trace(ALICE).plot()
    assert "<img" not in picture.html.split("<script>")[0]
    assert "\u202e" not in picture.html + picture.svg
    shown = [node["title"] for node in data_of(picture)["nodes"]]
    assert any(title.startswith("</script><img src=x onerror=alert(1)>\ufffd]]>") for title in shown), shown
    assert any("</script>" in text for text in texts(picture))
