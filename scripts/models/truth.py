"""What the training data says of addresses: classes, entities and times."""

from __future__ import annotations

from pathlib import Path

import polars as pl

# Classes of the real labels. Bridges are protocols; an address with two classes is left out.
REAL = {
    "Unlabelled": "Unknown",
    "Scam": "Scam",
    "Exchange": "Exchange",
    "Deposit": "Deposit",
    "Defi": "Defi",
    "Bridge": "Defi",
    "Bridge|Defi": "Defi",
    "Mixer": "Mixer",
    "MiningPool": "MiningPool",
}
# Classes of the roles of the economy. Roles that are neither ordinary nor one of the classes are left out: payment
# services, launderers, relayers, gas wallets of exchanges.
SIMULATED = {
    "person": "Unknown",
    "merchant": "Unknown",
    "business": "Unknown",
    "token": "Unknown",
    "validator": "Unknown",
    "liquidity_provider": "Unknown",
    "mev_bot": "Unknown",
    "exchange_hot": "Exchange",
    "exchange_cold": "Exchange",
    "exchange_deposit": "Deposit",
    "dex_pool": "Defi",
    "dex_router": "Defi",
    "bridge_vault": "Defi",
    "mixer_pool": "Mixer",
    "scam_operator": "Scam",
    "scam_collector": "Scam",
    "scam_contract": "Scam",
    "scam_layer": "Scam",
}
# On bitcoin cold wallets are a class of their own. Markets of forbidden goods and their vendors are left out: they are
# neither. Services that pay to a new address each time have no address with enough transfers.
SIMULATED_BITCOIN = {
    "person": "Unknown",
    "merchant": "Unknown",
    "miner": "Unknown",
    "exchange_hot": "Exchange",
    "exchange_cold": "ColdWallet",
    "exchange_deposit": "Deposit",
    "bridge_vault": "Defi",
    "mining_pool": "MiningPool",
    "scam_operator": "Scam",
    "scam_collector": "Scam",
    "scam_layer": "Scam",
}
# Of very frequent roles so many addresses per economy are enough.
MOST_OF_CLASS = {"Unknown": 400, "Deposit": 150}


def real_labels(corpus: Path) -> pl.DataFrame:
    """Give address, class, group, first and last time and the artefacts of collection, of the real addresses."""
    folder = corpus / "classifier"
    labels = pl.read_csv(folder / "eth_address_labels.csv").with_columns(
        pl.col("class").replace_strict(REAL, default=None)
    )
    labels = labels.filter(pl.col("class").is_not_null()).sort("address")
    transactions = pl.read_parquet(folder / "eth_transactions.parquet", columns=["from", "to", "timeStamp"])
    tokens = pl.read_parquet(folder / "eth_token_transfers.parquet", columns=["from", "to", "timeStamp"])
    rows = pl.concat([transactions, tokens])
    ends = pl.concat([rows.select(pl.col(end).alias("address"), "timeStamp") for end in ("from", "to")])
    # Daily prices of ether begin here.
    priced = pl.col("timeStamp") >= 1_510_185_600
    times = ends.group_by("address").agg(
        pl.col("timeStamp").min().alias("first"),
        pl.col("timeStamp").max().alias("last"),
        priced.mean().alias("priced_ratio"),
    )
    return labels.join(times, on="address", how="left").with_columns(group=_groups(labels, transactions))


def _groups(labels: pl.DataFrame, transactions: pl.DataFrame) -> pl.Series:
    """Put addresses of one entity together: those under one name, and scams that paid one another."""
    classes = dict(zip(labels["address"], labels["class"], strict=True))
    parent = {address: address for address in classes}

    def find(address: str) -> str:
        while parent[address] != address:
            parent[address] = parent[parent[address]]
            address = parent[address]
        return address

    scams = labels.filter(pl.col("class") == "Scam")["address"]
    among = transactions.filter(pl.col("from").is_in(scams.implode()) & pl.col("to").is_in(scams.implode()))
    for sender, receiver in among.select("from", "to").unique().sort("from", "to").iter_rows():
        parent[find(sender)] = find(receiver)
    name = pl.col("name").fill_null("").str.replace_all(r"[\d:].*", "").str.strip_chars().str.to_lowercase()
    first: dict[str, str] = {}
    for address, kind, entity in labels.select("address", "class", name.alias("entity")).iter_rows():
        if kind not in ("Scam", "Unknown") and entity:
            parent[find(address)] = find(first.setdefault(entity, address))
    return pl.Series("group", [find(address) for address in labels["address"]])


def simulated_labels(truth: Path, chain: str, seed: int, preset: str = "s") -> pl.DataFrame:
    """Give address, class and group of the addresses of an economy."""
    table = pl.read_parquet(truth / "addresses.parquet").filter(pl.col("blockchain") == chain)
    economy = f"{seed}" if preset == "s" else f"{preset} {seed}"
    classes = SIMULATED_BITCOIN if chain == "bitcoin" else SIMULATED
    table = table.with_columns(pl.col("role").replace_strict(classes, default=None).alias("class"))
    table = table.filter(pl.col("class").is_not_null()).sort("address")
    if chain == "bitcoin":
        # Nearly all of them have fewer than five transfers, and no class: all are taken, and the rest is chosen later.
        return _labelled(table, economy)
    kept = [
        part if (most := MOST_OF_CLASS.get(name)) is None or part.height <= most else part.sample(most, seed=seed)
        for (name,), part in table.group_by("class", maintain_order=True)
    ]
    return _labelled(pl.concat(kept), economy)


def _labelled(table: pl.DataFrame, economy: str) -> pl.DataFrame:
    """Give address, class and group: the addresses of one owner of one economy are an entity."""
    group = pl.concat_str(pl.lit(f"economy {economy}, "), pl.col("owner").cast(pl.String))
    return table.select("address", "class", group.alias("group")).sort("address")
