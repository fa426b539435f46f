"""The bitcoin addresses that are one person's, in the demo economy."""

from __future__ import annotations

import json
from pathlib import Path

import headwater as hw
import polars as pl
import pytest
from conftest import headwater

# The exchange northgate pays out of a wallet of many addresses; this is one of them.
ADDRESS = "bc1qq8jjy0mzwl6rdcacp2ng440jx339w28fulrc3m"


def test_pages_of_a_cluster_are_its_addresses_each_once(demo: Path) -> None:
    ledger = hw.open(demo)
    first = ledger.cluster(ADDRESS, limit=100)
    assert first.method == "multi_input"
    assert first.cluster_id == first.addresses[0]
    addresses, page = list(first.addresses), first
    while page.next_cursor:
        page = ledger.cluster(ADDRESS, limit=100, cursor=page.next_cursor)
        addresses += page.addresses
    assert len(addresses) == len(set(addresses)) == first.size
    assert ADDRESS in addresses
    frame = first.frame
    assert frame["first_block"].is_sorted()
    assert frame.filter(pl.col("joined_tx").is_null())["address"].to_list() == [first.cluster_id]


def test_members_give_the_same_cluster_and_strangers_another(demo: Path) -> None:
    ledger = hw.open(demo)
    members = ledger.cluster(ADDRESS).addresses[:5]
    reports = ledger.cluster(members, limit=1)
    assert {report.cluster_id for report in reports} == {members[0]}
    unseen = ledger.cluster("1BoatSLRHtKNngkdXEeobR76b53LETtpyT")
    assert (unseen.cluster_id, unseen.size, unseen.rows) == (None, 0, [])


def test_the_shell_gives_the_answer_of_python(demo: Path) -> None:
    report = hw.open(demo).cluster(ADDRESS, include_change=True, limit=3)
    printed = json.loads(
        headwater("cluster", ADDRESS, "--include-change", "--limit", "3", "--store", demo, "--json").stdout
    )
    assert {**printed["data"], "meta": None} == {**report.data, "meta": None}
    words = headwater("cluster", ADDRESS, "--limit", "2", "--store", demo).stdout
    assert f"is one of {report.size} addresses of the cluster {report.cluster_id}" in words


def test_an_address_of_another_chain_is_an_error(demo: Path) -> None:
    with pytest.raises(hw.InvalidInput, match="address"):
        hw.open(demo).cluster("0x8595aa61151393bb3126d8a839e009d066b4b9d3")
