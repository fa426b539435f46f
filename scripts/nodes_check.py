"""Check loads from real nodes: python scripts/nodes_check.py PROGRAM FOLDER PACKAGES CRYO [SEED].

CRYO is a Python that has cryo, or `none`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nodes import bitcoin, ethereum, following, pages, speed
from nodes.anvil import Anvil
from nodes.session import Tools

# Loads of each chain that are killed.
_KILLS = 24


def check_anvil(program: str, folder: Path, tools: Tools, cryo: str, seed: int) -> None:
    """Check loads from anvil."""
    with Anvil(tools, "--state", folder / "anvil-state.json") as node:
        of = ethereum.reference(tools, program, folder, node, seed)
        ethereum.check_repeated(of)
        blocks = ethereum.check_files(of)
        ethereum.check_methods(of)
        ethereum.check_balances(of, blocks)
        ethereum.check_kills(of, _KILLS, seed)
        speed.first_answer(of)
        if cryo != "none":
            speed.beside_cryo(of, Path(cryo))
        pages.check_commands(of.new_store, node.source)
        ethereum.check_outages(of)
        ethereum.check_forks(of)
        ethereum.check_lies(of, seed)


def check_bcoin(program: str, folder: Path, node: bitcoin.Bcoin, seed: int) -> None:
    """Check loads from bcoin."""
    of = bitcoin.reference(program, folder, node)
    bitcoin.check_files(of)
    bitcoin.check_balances(of)
    pages.check_commands(of.new_store, node.source)
    bitcoin.check_kills(of, _KILLS, seed)
    following.follow_bcoin(of, node.source, seed)


def main() -> None:
    """Run all checks."""
    program, folder, packages, cryo, *rest = sys.argv[1:]
    tools, seed = Tools(Path(packages)), int(rest[0]) if rest else 1
    folders = [Path(folder, name) for name in ("bcoin", "anvil")]
    for one in folders:
        one.mkdir()
    # bcoin makes its chain beside the checks of anvil.
    with bitcoin.Bcoin(tools, folders[0], seed) as node:
        check_anvil(program, folders[1], tools, cryo, seed)
        following.follow_anvil(tools, program, folders[1] / "following", seed)
        check_bcoin(program, folders[0], node, seed)


if __name__ == "__main__":
    main()
