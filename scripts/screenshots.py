"""Make the screenshots of the docs from the demo economy.

Usage: python scripts/screenshots.py PROGRAM docs/images (with Chromium and nbconvert installed)
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path

from browser import Browser, find_browser
from explore.by_mouse import Theft, address_of_look
from explore.session import Explore, Program, Server

# The width of the terminal in characters.
_COLUMNS = 110
_NOTEBOOK = "notebooks/follow_the_money.ipynb"


def printed(command: list[str], store: Path) -> str:
    """Run a command in a terminal, and return what it prints there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
    environment = {**os.environ, "HEADWATER_STORE": str(store)}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        text = b""
        # The end of a terminal is an error of the reader.
        try:
            while chunk := os.read(ours, 1 << 16):
                text += chunk
        except OSError:
            pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def terminal(program: str, store: Path, questions: list[str]) -> str:
    """Return a page that shows a session in a terminal."""
    session = [f"$ headwater {question}\n{printed([program, *question.split()], store)}" for question in questions]
    style = "margin: 0; padding: 18px; background: #1e1f24; color: #e6e6e6; font: 14px/1.4 'DejaVu Sans Mono', monospace"
    style += f"; white-space: pre-wrap; width: {_COLUMNS}ch"
    return f'<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0"><pre style="{style}">{escape(chr(10).join(session))}</pre>'


def notebook() -> str:
    """Return a page of a notebook with its outputs."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--stdout", _NOTEBOOK]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def explore(program: str, path: str, store: Path, folder: Path) -> None:
    """Write explore.png and explore-dark.png: the theft with the reasons of its risk."""
    demo = Program(program, store, store.parent / "demo.state")
    theft = Theft(demo.ask("demo", "--list")["highlights"])
    with Server([program, "demo", *demo.options], store.parent / "demo.log") as server:
        for name, dark in (("explore", False), ("explore-dark", True)):
            with Browser(path, (1700, 900), dark=dark, scale=1.5) as browser:
                page = Explore(browser, server.origin)
                page.open("#" + address_of_look(server).split("#")[1])
                page.panel_shows(theft.thief, "the theft is not laid out")
                page.click("#panel [role=tab]", "Risk")
                page.panel_shows("Why this score", "the risk is not shown")
                page.click_button("Fit", "#tools")
                browser.run("document.activeElement.blur()")
                time.sleep(1)
                browser.screenshot(folder / f"{name}.png")


def main() -> None:
    """Write trace.png, terminal.png, notebook.png, explore.png and explore-dark.png."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    path = find_browser()
    if path is None:
        sys.exit("screenshots: there is no chromium: apt-get install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        store, page = Path(temporary, "demo.hw"), Path(temporary, "page.html")
        made = subprocess.run(
            [program, "simulate", "--store", str(store), "--preset", "demo", "--json"], check=True, capture_output=True
        )
        highlights = json.loads(made.stdout)["highlights"]
        of = {each["title"]: each["address"] for each in highlights if each["blockchain"] == "ethereum"}
        trace = ["trace", of["scammer"], "--chain", "ethereum", "--outward", "4", "--inward", "0"]
        written = [program, *trace, "--store", str(store), "--out", str(page)]
        subprocess.run(written, check=True, capture_output=True)
        with Browser(path, (1500, 760), scale=1.5) as browser:
            browser.open(page.as_uri())
            browser.wait_for("document.querySelector('.hw-graph canvas') !== null")
            time.sleep(1)
            browser.screenshot(folder / "trace.png")
            questions = [f"wallet {of['busy person']}", f"counterparties {of['busy person']} --limit 5"]
            page.write_text(terminal(program, store, questions), encoding="utf-8")
            browser.open(page.as_uri())
            browser.resize(980, browser.run("document.querySelector('pre').offsetHeight"), scale=1.5)
            browser.screenshot(folder / "terminal.png")
            page.write_text(notebook(), encoding="utf-8")
            browser.resize(1100, 1000, scale=1.5)
            browser.open(page.as_uri())
            browser.run("document.querySelector('#The-trace').scrollIntoView()")
            time.sleep(1)
            browser.screenshot(folder / "notebook.png")
        explore(program, path, Path(temporary, "explore.hw"), folder)
    print(f"{folder}: trace.png, terminal.png, notebook.png, explore.png, explore-dark.png")


if __name__ == "__main__":
    main()
