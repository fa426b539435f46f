"""Ledgers at one generation of a store, and copies of one."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headwater as hw
import pytest
from conftest import headwater
from headwater import _headwater
from headwater.examples import ALICE


@pytest.fixture
def store(example: Path, tmp_path: Path) -> Path:
    """A store of the four transfers, for one test alone."""
    place = tmp_path / "store"
    shutil.copytree(example, place)
    return place


def newest(store: Path) -> int:
    number: int = json.loads(headwater("stats", "--store", store, "--json").stdout)["generation"]
    return number


def import_price(store: Path, usd: int) -> None:
    """Commit a new generation in another process."""
    prices = store.parent / f"{usd}.csv"
    prices.write_text(f"symbol,ts,price_usd\neth,1600000000,{usd}\n")
    headwater("prices", "import", "--store", store, prices)


def first_amount_usd(ledger: hw.Ledger) -> Any:  # noqa: ANN401
    return ledger.transactions(ALICE, symbols="eth", limit=1).rows[0]["amount_usd"]


def test_pinned_ledger_keeps_its_answers_during_commits(store: Path) -> None:
    generation = newest(store)
    pinned, current = hw.open(store, generation=generation), hw.open(store)
    before = first_amount_usd(pinned)
    import_price(store, 3000)
    assert newest(store) == generation + 1
    assert first_amount_usd(pinned) == before
    assert first_amount_usd(current) != before
    assert first_amount_usd(hw.open(store, generation=generation)) == before
    assert repr(pinned) == f"<Ledger {store}, generation {generation}>"
    body = json.dumps({"address": ALICE, "blockchain": "ethereum", "symbols": ["eth"], "limit": 1})
    query = ("query", "transactions", "--store", store, "--body", body)
    asked = json.loads(headwater(*query, "--generation", str(generation)).stdout)
    assert asked["data"]["datas"][0]["amount_usd"] == before


def test_pinned_ledger_holds_its_generation_until_dropped(store: Path) -> None:
    ledger = hw.open(store, generation=newest(store))
    assert len(list((store / "holds").iterdir())) == 1
    del ledger
    gc.collect()
    assert list((store / "holds").iterdir()) == []


def refused(call: Callable[..., object], message: str, *arguments: object) -> None:
    with pytest.raises(hw.InvalidInput) as error:
        call(*arguments)
    assert str(error.value).startswith(message)
    assert error.value.field == "generation"


def test_open_at_an_unknown_generation_names_those_there(store: Path) -> None:
    kept = sorted(int(file.stem.removeprefix("manifest-")) for file in store.glob("manifest-*.json"))
    message = f"generation: {store} does not have generation 99, it has {kept[0]} to {kept[-1]}; name one"
    refused(hw.open, message, store, None, 99)
    refused(_headwater.generation_files, message, store, 99)
    for wrong in (-1, "4", 2.0, True, 2**64):
        refused(hw.open, "generation: expected an integer from 0", store, None, wrong)
    done = headwater("query", "chains", "--store", store, "--generation", "99", check=False)
    assert done.returncode == 2
    assert "--generation: " in done.stderr


def test_pinned_ledger_of_a_read_only_store_warns(store: Path) -> None:
    # Nobody can make a file in the folder of the kernel.
    (store / "holds").rmdir()
    (store / "holds").symlink_to("/sys")
    generation = newest(store)
    warning = f"holds cannot be written to, so generation {generation} is not held: .* `install -d -m 1777 "
    with pytest.warns(UserWarning, match=warning) as reported:
        ledger = hw.open(store, generation=generation)
    assert reported[0].filename == __file__
    assert len(ledger.transactions(ALICE)) == 3


def test_copied_generation_gives_the_same_answers(store: Path, tmp_path: Path) -> None:
    generation, files = _headwater.generation_files(store)
    assert generation == newest(store)
    import_price(store, 3000)
    assert _headwater.generation_files(store, generation) == (generation, files)
    assert _headwater.generation_files(store)[0] == generation + 1
    copy = tmp_path / "copy"
    for name, length, digest in files:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store / name, copy / name)
        assert (copy / name).stat().st_size == length
        assert len(digest) == 32
    assert files[-1][0] == f"manifest-{generation:010}.json"
    assert _headwater.generation_files(copy) == (generation, files)
    pinned = hw.open(store, generation=generation)
    assert hw.open(copy).transactions(ALICE).to_dict() == pinned.transactions(ALICE).to_dict()
    digests = [
        json.loads(headwater("verify", "--digest", "--json", "--store", place).stdout) for place in (store, copy)
    ]
    assert digests[0]["digest"] != digests[1]["digest"]
    assert digests[1]["generation"] == generation


def test_copy_without_other_manifests_is_the_pinned_generation(store: Path, tmp_path: Path) -> None:
    generation = newest(store)
    pinned = hw.open(store, generation=generation)
    before = first_amount_usd(pinned)
    import_price(store, 3000)
    manifest = f"manifest-{generation:010}.json"

    def left_out(_: str, names: list[str]) -> list[str]:
        others = [name for name in names if name.startswith("manifest-") and name != manifest]
        return [*others, "holds", "writer.lock", "writer.queue"]

    copy = tmp_path / "copy"
    shutil.copytree(store, copy, ignore=left_out)
    del pinned
    assert newest(copy) == generation
    assert first_amount_usd(hw.open(copy)) == before
    headwater("verify", "--store", copy)
    import_price(copy, 4000)
    assert newest(copy) == generation + 1
