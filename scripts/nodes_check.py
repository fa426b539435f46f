"""Check loads from real nodes: python scripts/nodes_check.py PROGRAM FOLDER PACKAGES [SEED]."""

from __future__ import annotations

import sys
from pathlib import Path

from nodes import ethereum
from nodes.anvil import Anvil
from nodes.session import Tools

_KILLS = 24


def check_anvil(program: str, folder: Path, tools: Tools, seed: int) -> None:
    """Check loads from anvil."""
    folder.mkdir()
    with Anvil(tools, "--state", folder / "anvil-state.json") as node:
        of = ethereum.reference(tools, program, folder, node, seed)
        ethereum.check_repeated(of)
        blocks = ethereum.check_files(of)
        ethereum.check_methods(of)
        ethereum.check_balances(of, blocks)
        ethereum.check_kills(of, _KILLS, seed)
        ethereum.check_outages(of)
        ethereum.check_forks(of)
        ethereum.check_lies(of, seed)


def main() -> None:
    """Run all checks."""
    program, folder, packages, *rest = sys.argv[1:]
    tools, seed = Tools(Path(packages)), int(rest[0]) if rest else 1
    check_anvil(program, Path(folder, "anvil"), tools, seed)


if __name__ == "__main__":
    main()
