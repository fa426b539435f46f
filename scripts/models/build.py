"""Train the classifiers that are part of the program, and write what they are worth into EVALUATION.md.

    make models

Needs the corpus (HEADWATER_CORPUS), but for ``--only bitcoin``; stores are made once in the folder WORK and used again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import headwater as hw
import polars as pl
import truth
from headwater import train
from section import write_bitcoin_section, write_section

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "rust/intel/models"
VERSION = "2026-11-26"
SEEDS = range(1, 7)
# On bitcoin an economy has six exchanges and pools, and most addresses are used once: more economies are needed, and
# those of another size, with blocks two hours apart and few customers of each service.
BITCOIN_SEEDS = {"s": range(1, 7), "demo": range(21, 33)}
HELD_OUT_SEEDS = {"s": range(10, 12), "demo": range(33, 45)}
# Trees per class; the addresses of an economy are easy to tell apart.
ROUNDS, BITCOIN_ROUNDS = 180, 100
CLASSES = {
    "ethereum": ["Exchange", "Deposit", "Defi", "Mixer", "MiningPool", "Scam", "Unknown"],
    "tron": ["Exchange", "Deposit", "Defi", "Scam", "Unknown"],
    "bitcoin": ["Exchange", "Deposit", "Defi", "ColdWallet", "MiningPool", "Scam", "Unknown"],
}
# An address of the economy counts little beside a real one: the economy is simpler than the world.
SIMULATED_WEIGHT = 0.05
# Entities whose hash has a second byte below this, a fifth of them, are held out of the model of ``--held-out``. By the
# first byte the corpus itself leaves addresses out.
HELD_OUT_BELOW = 51


def headwater(*arguments: str) -> None:
    """Run the command line of the installed wheel."""
    subprocess.run([sys.executable, "-m", "headwater", *arguments], check=True, stdout=subprocess.DEVNULL)


def real_store(work: Path, corpus: Path) -> hw.Ledger:
    """Open the store of real transactions, which is made when it is missing."""
    if not (work / "real").exists():
        files = [corpus / "classifier" / name for name in ("eth_transactions.parquet", "eth_token_transfers.parquet")]
        headwater("ingest", "--store", str(work / "real"), "--chain", "ethereum", *map(str, files))
    return hw.open(work / "real")


def economy(work: Path, seed: int, preset: str = "s") -> Path:
    """Give the store of an economy, which is made when it is missing; its truth stands beside it."""
    store = work / f"{preset}{seed}"
    if not store.exists():
        headwater(
            "simulate", "--preset", preset, "--seed", str(seed), "--store", str(store), "--truth", f"{store}-truth"
        )
    return store


def simulated(
    work: Path, chain: str, seeds: range = SEEDS, *, preset: str = "s", evaluated: bool = True, weight: float = 1.0
) -> pl.DataFrame:
    """Give the examples of economies on a chain."""
    parts = []
    for seed in seeds:
        store = economy(work, seed, preset)
        labels = truth.simulated_labels(Path(f"{store}-truth"), chain, seed, preset)
        labels = labels.with_columns(weight=pl.lit(weight))
        parts.append(train.examples(hw.open(store), labels, blockchain=chain, observed=(), source="simulated"))
    found = pl.concat(parts).with_columns(evaluated=pl.lit(evaluated))
    # Deposit addresses are most of those of bitcoin that are used often.
    number = pl.int_range(pl.len()).over(pl.col("group").str.split(", ").list.first(), "class")
    return found.filter((pl.col("class") != "Deposit") | (number < truth.MOST_OF_CLASS["Deposit"]))


def fit(chain: str, examples: pl.DataFrame, data: str, rounds: int = ROUNDS) -> train.Model:
    """Train a model and save it."""
    print(f"{chain}: {examples.filter('evaluated').height:,} addresses", flush=True)
    card = {
        "about": "Classifies addresses by their transfers alone: no labels, prices, absolute times or gas prices.",
        "limits": "See docs/classification.md and EVALUATION.md. A class is no proof of what an address is.",
        "data": data,
    }
    model = train.fit(
        examples,
        chain=chain,
        version=VERSION,
        classes=CLASSES[chain],
        card=card,
        rounds=rounds,
        progress=lambda what: print(" ", what, flush=True),
    )
    MODELS.mkdir(exist_ok=True)
    print(model.save(MODELS / f"{chain}.json.gz"), flush=True)
    return model


def ethereum_examples(work: Path, corpus: Path, labels: pl.DataFrame) -> pl.DataFrame:
    """Give the real examples of ethereum, and those of economies at little weight."""
    real = train.examples(real_store(work, corpus), labels)
    return pl.concat([real, simulated(work, "ethereum", evaluated=False, weight=SIMULATED_WEIGHT)])


def held_out(work: Path, corpus: Path, folder: Path) -> None:
    """Train a model of ethereum without a fifth of the entities, and write it beside a table of their addresses.

    ``evaluate --classified`` scores these addresses with this model: the one of the program has seen all of them.
    """
    labels = truth.real_labels(corpus)

    def is_out(group: str) -> bool:
        return hashlib.sha256(group.encode()).digest()[1] < HELD_OUT_BELOW

    out = labels.filter(pl.col("group").map_elements(is_out, return_dtype=pl.Boolean))
    examples = ethereum_examples(work, corpus, labels)
    kept = examples.filter(~pl.col("group").is_in(out["group"].unique().implode()))
    model = train.fit(
        kept,
        chain="ethereum",
        version=f"{VERSION} held out",
        classes=CLASSES["ethereum"],
        rounds=ROUNDS,
        progress=lambda what: print(" ", what, flush=True),
    )
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "ethereum.json.gz")
    table = pl.read_csv(corpus / "classifier/eth_address_labels.csv")
    table.filter(pl.col("address").is_in(out["address"].implode())).write_csv(folder / "addresses.csv")
    print(f"{out.height:,} addresses held out, {kept['address'].n_unique():,} trained on", flush=True)


def accounts(work: Path, corpus: Path) -> None:
    """Train and judge the models of ethereum and tron."""
    labels = truth.real_labels(corpus)
    examples = ethereum_examples(work, corpus, labels)
    data = (
        "real: Etherscan account exports, labels of Etherscan, TagPacks, Hop and a Kaggle table, 2015 to 2022; "
        "simulated: `headwater simulate --preset s`, seeds 1 to 6"
    )
    models = {"ethereum": fit("ethereum", examples, data), "tron": fit("tron", simulated(work, "tron"), data)}
    write_section(ROOT, examples, labels, models)


def bitcoin(work: Path) -> None:
    """Train the model of bitcoin, and judge it on economies that it has not seen."""
    large, small = (simulated(work, "bitcoin", seeds, preset=preset) for preset, seeds in BITCOIN_SEEDS.items())
    examples = pl.concat([large, small])
    data = "simulated: `headwater simulate`, preset s with seeds 1 to 6, preset demo with seeds 21 to 32"
    model = fit("bitcoin", examples, data, BITCOIN_ROUNDS)
    others = {preset: simulated(work, "bitcoin", seeds, preset=preset) for preset, seeds in HELD_OUT_SEEDS.items()}
    write_bitcoin_section(ROOT, examples, others, (model, BITCOIN_ROUNDS))


def main() -> None:
    """Train, save, evaluate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of the stores")
    parser.add_argument("--only", choices=("accounts", "bitcoin"), help="train the models of one kind of chain")
    parser.add_argument(
        "--held-out", type=Path, metavar="DIR", help="train a model without a fifth of the entities instead"
    )
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if arguments.held_out is not None:
        held_out(arguments.work, Path(os.environ["HEADWATER_CORPUS"]), arguments.held_out)
        return
    if arguments.only != "bitcoin":
        accounts(arguments.work, Path(os.environ["HEADWATER_CORPUS"]))
    if arguments.only != "accounts":
        bitcoin(arguments.work)


if __name__ == "__main__":
    main()
