"""Train the classifiers that are part of the program, and write what they are worth into EVALUATION.md.

    make models

Needs the corpus (HEADWATER_CORPUS); stores are made once in the folder WORK and used again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import headwater as hw
import polars as pl
import truth
from headwater import train
from section import write_section

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "rust/intel/models"
VERSION = "2026-11-26"
SEEDS = range(1, 7)
CLASSES = {
    "ethereum": ["Exchange", "Deposit", "Defi", "Mixer", "MiningPool", "Scam", "Unknown"],
    "tron": ["Exchange", "Deposit", "Defi", "Scam", "Unknown"],
}
# An address of the economy counts little beside a real one: the economy is simpler than the world.
SIMULATED_WEIGHT = 0.05


def headwater(*arguments: str) -> None:
    """Run the command line of the installed wheel."""
    subprocess.run([sys.executable, "-m", "headwater", *arguments], check=True, stdout=subprocess.DEVNULL)


def stores(work: Path, corpus: Path) -> None:
    """Make the stores that are missing."""
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "real").exists():
        files = [corpus / "classifier" / name for name in ("eth_transactions.parquet", "eth_token_transfers.parquet")]
        headwater("ingest", "--store", str(work / "real"), "--chain", "ethereum", *map(str, files))
    for seed in SEEDS:
        store = work / f"s{seed}"
        if not store.exists():
            headwater(
                "simulate", "--preset", "s", "--seed", str(seed), "--store", str(store), "--truth", f"{store}-truth"
            )


def simulated(work: Path, chain: str, *, evaluated: bool, weight: float) -> pl.DataFrame:
    """Give the examples of all economies on a chain."""
    parts = []
    for seed in SEEDS:
        labels = truth.simulated_labels(work / f"s{seed}-truth", chain, seed).with_columns(weight=pl.lit(weight))
        ledger = hw.open(work / f"s{seed}")
        parts.append(train.examples(ledger, labels, blockchain=chain, observed=(), source="simulated"))
    return pl.concat(parts).with_columns(evaluated=pl.lit(evaluated))


def main() -> None:
    """Train, save, evaluate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of the stores")
    arguments = parser.parse_args()
    corpus = Path(os.environ["HEADWATER_CORPUS"])
    stores(arguments.work, corpus)
    labels = truth.real_labels(corpus)
    real = train.examples(hw.open(arguments.work / "real"), labels)
    examples = pl.concat([real, simulated(arguments.work, "ethereum", evaluated=False, weight=SIMULATED_WEIGHT)])
    economy = simulated(arguments.work, "tron", evaluated=True, weight=1.0)
    MODELS.mkdir(exist_ok=True)
    models = {}
    for chain, data in (("ethereum", examples), ("tron", economy)):
        print(f"{chain}: {data.filter('evaluated').height:,} addresses", flush=True)
        card = {
            "about": "Classifies addresses by their transfers alone: no labels, prices, absolute times or gas prices.",
            "limits": "See docs/classification.md and EVALUATION.md. A class is no proof of what an address is.",
            "data": "real: Etherscan account exports, labels of Etherscan, TagPacks, Hop and a Kaggle table, 2015 to 2022; "
            "simulated: `headwater simulate --preset s`, seeds 1 to 6",
        }
        models[chain] = train.fit(
            data,
            chain=chain,
            version=VERSION,
            classes=CLASSES[chain],
            card=card,
            progress=lambda what: print(" ", what, flush=True),
        )
        print(models[chain].save(MODELS / f"{chain}.json.gz"), flush=True)
    write_section(ROOT, examples, labels, models)


if __name__ == "__main__":
    main()
