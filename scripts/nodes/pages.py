"""Runs the commands of the pages about nodes against the nodes of the tests."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from nodes.session import Source, Store, check, say

_PAGES = Path(__file__).parents[2] / "docs/nodes"
# Addresses of nodes on this computer, as the pages write them. Blocks with other addresses are of nodes elsewhere.
_LOCAL = re.compile(r"http://127\.0\.0\.1:\d+")


def commands(chain: str) -> Iterator[tuple[Path, list[str]]]:
    """Give the commands of the blocks that load a chain from a node on this computer, with the page."""
    for page in sorted(_PAGES.glob("*.md")):
        for block in re.findall(r"^```text\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            lines = [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]
            if f"--chain {chain} --rpc http://127.0.0.1" in block:
                yield from ((page, words[1:]) for words in lines if words[:1] == ["headwater"])


def check_commands(make: Callable[[str], Store], source: Source) -> None:
    """Check that the loads of the pages succeed, in their order."""
    stores: dict[Path, Store] = {}
    count = 0
    for page, words in commands(source.chain):
        store = stores.setdefault(page, make(f"page-{page.stem}"))
        arguments = [_LOCAL.sub(source.url, word) for word in words]
        place = arguments.index("--store") + 1
        arguments[place] = str(store.folder)
        done = subprocess.run([store.program, *arguments], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{page.name}: {shlex.join(words)}\n{done.stdout}{done.stderr}")
        count += 1
    check(count > 0, f"no page has a load of {source.chain}")
    say(f"{source.chain}: {count} commands of the pages about nodes run")
