"""Pictures, drawn without a screen: what is in them, and what has none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import headwater as hw
import matplotlib as mpl
import pytest
from headwater.examples import ALICE, BOB, USDT
from headwater.examples import ledger as example

START = 1_600_000_000


@pytest.fixture(scope="module")
def ledger() -> hw.Ledger:
    return example()


@pytest.fixture(autouse=True)
def axes() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()
    pyplot.close("all")


def report(answer: hw.Report[Any] | hw.Reports[Any]) -> hw.Report[Any]:
    assert isinstance(answer, hw.Report)
    return answer


def chart(answer: hw.Report[Any] | hw.Reports[Any]) -> hw.ChartReport[Any]:
    assert isinstance(answer, hw.ChartReport)
    return answer


def test_a_history_is_stacked_in_dollars(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    history = chart(ledger.balance_history(ALICE, start_time=START - 3 * 86_400, end_time=START + 2 * 86_400))
    drawn = history.plot(axes)
    assert drawn is axes
    assert axes.get_legend_handles_labels()[1] == ["eth"]
    assert axes.get_ylabel() == "US dollars"
    assert axes.collections[0].get_paths()[0].vertices[:, 1].max() == 4000.0


def test_a_history_of_one_asset_is_a_line_of_every_day(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    history = chart(ledger.balance_history(BOB, start_time=START - 2 * 86_400, end_time=START + 86_400))
    for asset in ("usdt", "USDT", USDT):
        history.plot(axes, asset=asset)
        assert list(axes.lines[-1].get_ydata()) == [0.0, 0.0, 2.5, 2.5]
    with pytest.raises(hw.InvalidInput, match="'doge' was never held: there are usdt"):
        history.plot(axes, asset="doge")
    nothing = chart(ledger.balance_history("0x" + "dd" * 20))
    with pytest.raises(hw.InvalidInput, match="nothing was held"):
        nothing.plot(axes)


def test_what_has_no_price_is_drawn_in_its_own_unit(axes: Any) -> None:  # noqa: ANN401
    token = "0x" + "ef" * 20
    row = {
        "blockchain": "ethereum",
        "block_number": 1,
        "timestamp": START,
        "tx_hash": "0x" + "01" * 32,
        "from_address": None,
        "to_address": ALICE,
        "contract": token,
        "amount_raw": "7",
    }
    ledger = hw.Ledger.from_frames([row])
    chart(ledger.balance_history(ALICE, contracts=[token])).plot(axes)
    assert list(axes.lines[0].get_ydata())[-2:] == [0.0, 7.0]
    assert "smallest unit" in axes.get_ylabel()


def test_holders_add_up_by_rank(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    ledger.holders("native").plot(axes)
    assert list(axes.lines[0].get_ydata()) == pytest.approx([100 * 2 / 2.75, 100.0])
    assert axes.get_title() == "eth: 2 holders"
    with pytest.raises(hw.InvalidInput, match="without an offset"):
        ledger.holders("native", offset=1).plot(axes)
    with pytest.raises(hw.InvalidInput, match="nobody"):
        ledger.holders("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48").plot(axes)


def test_concentration_is_a_curve_that_is_no_more_than_the_truth(axes: Any) -> None:  # noqa: ANN401
    amounts = [10_000 // number for number in range(1, 301)]
    rows = [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": START + number,
            "tx_hash": f"0x{number:064x}",
            "from_address": None,
            "to_address": f"0x{number + 1:040x}",
            "contract": USDT,
            "amount_raw": str(amount),
        }
        for number, amount in enumerate(amounts, 1)
    ]
    found = hw.Ledger.from_frames(rows).concentration(USDT)
    found.plot(axes)
    curve = dict(zip(*(line.tolist() for line in axes.lines[0].get_data()), strict=True))
    true = [100 * sum(amounts[:rank]) / sum(amounts) for rank in range(301)]
    assert all(value <= true[int(rank)] + 1e-9 for rank, value in curve.items())
    assert [curve[rank] for rank in (10, 100, 300)] == pytest.approx([true[10], true[100], 100.0])
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.texts] == [f"top 10: {true[10]:.1f} %", f"top 100: {true[100]:.1f} %"]
    nakamoto = hw.metrics.nakamoto(amounts)
    assert f"Nakamoto {nakamoto}" in axes.get_legend_handles_labels()[1]


def test_lorenz_curve_is_beside_the_line_of_equality(axes: Any) -> None:  # noqa: ANN401
    hw.metrics.plot_lorenz([3, 2, 1], axes)
    hw.metrics.plot_lorenz([1] * 5000, axes, label="same", points=50)
    assert axes.get_legend_handles_labels()[1] == ["equal", "Gini 0.2222", "same, Gini 0.0000"]
    assert [len(line.get_xdata()) for line in axes.lines] == [2, 4, 51]


def test_counterparties_are_bars_in_and_out(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    answer = ledger.counterparties(ALICE)
    assert isinstance(answer, hw.ChartReport)
    answer.plot(axes)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["0xbbbb…bbbb", "Corner Shop · 0xcccc…cccc"]
    received, sent = ([bar.get_width() for bar in bars] for bars in axes.containers)
    assert (received, sent) == ([-6000.0, 0.0], [2.5, 2000.0])


def test_flows_are_bars_in_units_of_the_token(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    ledger.flows([ALICE, BOB], USDT).plot(axes)
    received, sent = ({bar.get_width() for bar in bars} for bars in axes.containers)
    assert (received, sent) == ({0.0, -2.5}, {0.0, 2.5})
    assert axes.get_title() == "usdt of 2 addresses"


def test_price_history_is_a_line(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    ledger.price_history("eth", start=START, end=START + 2 * 86_400).plot(axes)
    assert 2000.0 in list(axes.lines[0].get_ydata())
    assert axes.get_ylabel() == "US dollars per eth"


def test_wallet_has_a_share_for_each_asset(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    wallet = ledger.wallet(ALICE)
    assert isinstance(wallet, hw.ChartReport)
    wallet.plot(axes)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["eth  100.0%"]
    nobody = ledger.wallet("0x" + "dd" * 20)
    assert isinstance(nobody, hw.ChartReport)
    with pytest.raises(hw.InvalidInput, match="no asset with a price"):
        nobody.plot(axes)


def test_other_answers_name_those_that_have_a_picture(ledger: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    with pytest.raises(AttributeError, match=r"'transactions'.*'balance-history', .*'trace'"):
        _ = report(ledger.transactions(ALICE)).plot
    with pytest.raises(hw.InvalidInput, match="only of a balance history"):
        ledger.holders("native").plot(axes, asset="eth")


def test_without_matplotlib_the_error_says_what_to_install(ledger: hw.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"headwater\[plot\]"):
        ledger.holders("native").plot()
