"""Check the page /explore in a browser: python scripts/explore_page.py PROGRAM FOLDER, with axe.js in the folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from browser import Browser
from explore import by_keyboard, by_mouse, calls, headers, hostile, looks, secrets
from explore.by_mouse import Theft
from explore.session import Explore, Program, Server, check, checks
from page_checks import MIN_FPS

_CREDITS = 100_000


def say(text: str) -> None:
    """Print a result at once."""
    print(f"explore: {text}", flush=True)


def check_by_keys(path: str, server: Server, theft: Theft, program: Program) -> None:
    """Check the theft by keys, and its credits."""
    key = program.key(_CREDITS)
    with Browser(path) as browser:
        page = by_keyboard.check_case(browser, server, theft, program, key["key"])
        used = calls.check_credits(page, program, key["id"], _CREDITS)
        say(f"the theft by keys alone to {len(page.nodes())} addresses for {used} credits, as in the state")


def check_calls(path: str, server: Server, theft: Theft, program: Program, folder: Path) -> None:
    """Check every kind of call, its credits and snippets, and where the key is."""
    key = program.key(_CREDITS)
    secret = key["key"]
    with Browser(path) as browser:
        page = Explore(browser, server.origin)
        calls.check_link(page, theft)
        secrets.give(page, secret, is_kept=True)
        calls.check_link(page, theft)
        calls.every_kind(page, theft)
        used = calls.check_credits(page, program, key["id"], _CREDITS)
        calls.check_repeated(page, theft)
        count, left_out = calls.check_snippets(page, secret)
        secrets.check_places(page, secret, folder / "saved", is_kept=True)
        secrets.check_forgotten(page, secret)
        page.quiet("every kind of call")
        for what in left_out:
            print(f"left out: {what}", flush=True)
        languages = "curl" if left_out else "curl and Python"
        say(f"{count} calls of every kind cost {used} credits, as in the state, and give the same in {languages}")
    with Browser(path) as browser:
        page = Explore(browser, server.origin)
        page.open()
        secrets.give(page, secret)
        calls.look_up(page, theft.thief)
        secrets.check_places(page, secret, folder / "saved", is_kept=False)
        check(secret not in page.text("body"), "the page shows the key")
        calls.check_refusals(page, theft, program)
    say("the key is in no file, address, storage or element")


def check_hostile(path: str, program: str, folder: Path) -> None:
    """Check texts of strangers in answers and in files."""
    odd = Program(program, folder / "hostile.store", folder / "hostile.state")
    hostile.load(odd, folder / "hostile")
    with odd.serve(folder / "hostile.log", "auth.required=false") as server, Browser(path) as browser:
        page = Explore(browser, server.origin)
        places = hostile.check_answers(page)
        files = hostile.check_files(page, folder / "hostile")
        hostile.check_opened(page, folder / "hostile")
        hostile.check_search(page)
    say(f"hostile texts stay texts in {places} places; {files} broken files are refused with the place")


def check_corpus(path: str, program: str, folder: Path) -> None:
    """Check the labels of odd files that people have."""
    corpus = Path(os.environ.get("HEADWATER_CORPUS", ""), "cases-2")
    if not corpus.is_dir():
        print("left out: odd lists that people have, because HEADWATER_CORPUS names no folder of them", flush=True)
        return
    odd = Program(program, folder / "odd.store", folder / "odd.state")
    addresses = hostile.load_corpus(odd, folder / "hostile", corpus)
    with odd.serve(folder / "odd.log", "auth.required=false") as server, Browser(path) as browser:
        hostile.check_labels(Explore(browser, server.origin), addresses)
    say(f"the labels of {len(addresses)} addresses from odd lists stay texts")


def check_looks(path: str, server: Server, theft: Theft, folder: Path) -> None:
    """Check rules for screen readers, small screens and motion on a server without keys."""
    rules = folder / "axe.js"
    if rules.exists():
        say(f"{looks.check_rules(path, server, theft, rules)} rules of axe-core hold, light and dark")
    say(f"{looks.check_small(path, server, theft, rules)} parts fit a screen of 390 pixels")
    # Pictures beyond 1,000 addresses are measured alone: what they need depends on what else the computer does.
    for addresses, min_fps in ((1000, MIN_FPS), (2000, 0)):
        found = looks.check_motion(path, server, theft, addresses, min_fps)
        near, far = found["near"], found["far"]
        say(
            f"{found['nodes']} addresses and {found['lines']} lines are drawn in {found['seconds']:.1f} s and move at "
            f"{near['fps']:.0f} frames per second near by, {far['fps']:.0f} as a whole; the longest frames take "
            f"{near['longest']:.0f} and {far['longest']:.0f} ms"
        )


def main() -> None:
    """Run all checks."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    path = checks.browser()
    demo = Program(program, folder / "store", folder / "demo.state")
    theft = Theft(demo.ask("demo", "--list")["highlights"])
    with Server([program, "demo", *demo.options], folder / "demo.log") as server:
        with Browser(path) as browser:
            count = by_mouse.check_case(browser, server, theft, folder / "saved")
            say(f"the theft by mouse, {count} addresses")
        check_looks(path, server, theft, folder)
    keyed = Program(program, folder / "store", folder / "keyed.state")
    with keyed.serve(folder / "keyed.log") as server:
        check_by_keys(path, server, theft, keyed)
        check_calls(path, server, theft, keyed, folder)
        say(f"{headers.check_files(server)} files with policy, nosniff, no-cache and ETag")
    check_hostile(path, program, folder)
    check_corpus(path, program, folder)


if __name__ == "__main__":
    main()
