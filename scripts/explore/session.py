"""A server, and its page /explore as a person uses it: by mouse at places of the screen, or by keys."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browser import Browser
from page_checks import Checks

checks = Checks("explore")
check = checks.check

_GRAPH = "document.querySelector('.canvas')._cyreg.cy"
# Finds the place of an element on the screen, and which turn of the wheel brings it into view. What is inside a closed
# <details> is not visible; the text of a label is at its beginning.
_LOOK = """
(selector, text) => {
  const isWanted = (one) => one.checkVisibility() && one.textContent.trim().startsWith(text);
  const one = [...document.querySelectorAll(selector)].find(isWanted);
  if (!one) {
    return null;
  }
  const [box] = one.getClientRects();
  const [x, y] = [box.x + Math.min(box.width / 2, one.matches("label") ? 5 : 60), box.y + box.height / 2];
  const hit = document.elementFromPoint(x, y);
  const around = (one.closest("#panel, #table") ?? document.documentElement).getBoundingClientRect();
  const { left, right } = around;
  const [top, bottom] = [Math.max(around.top, 0), Math.min(around.bottom, innerHeight)];
  const middle = (left + right) / 2;
  // Over the picture the wheel zooms.
  const isGround = (at) => !document.elementFromPoint(middle, at)?.closest(".canvas");
  const over = [(top + bottom) / 2, bottom - 8, top + 8].find(isGround) ?? top + 8;
  const isBeside = y > top && y < bottom && (x < left || x > right - 16);
  return {
    x, y, middle, isHit: one === hit || one.contains(hit),
    over: isBeside ? y : over,
    right: isBeside ? 60 * Math.sign(x - middle) : 0,
    down: isBeside ? 0 : 60 * Math.sign(y - (top + bottom) / 2),
  };
}
"""
# Turns of the wheel after which something that is still out of view is taken to be missing.
_MAX_TURNS = 60
# Presses of a key after which something that is not reached is taken to be out of reach.
_MAX_PRESSES = 80


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Server:
    """A server on a free port of this computer."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.origin = f"http://127.0.0.1:{free_port()}"
        self.log = log
        address = self.origin.removeprefix("http://")
        with log.open("wb") as out:
            self._process = subprocess.Popen([*command, "--listen", address], stdout=out, stderr=subprocess.STDOUT)

    def __enter__(self) -> Server:
        for _ in range(600):
            if self._process.poll() is not None:
                checks.fail(f"the server ended: {self.printed()}")
            try:
                if self.ask("/readyz")[0] == 200:
                    return self
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.1)
        return checks.fail("the server did not become ready within a minute")

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def printed(self) -> str:
        """Return what the server has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def ask(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        """Ask for a path; return status, headers and body."""
        request = urllib.request.Request(self.origin + path, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, {name.lower(): value for name, value in refused.headers.items()}, refused.read()


class Program:
    """The program with one store and one state."""

    def __init__(self, path: str, store: Path, state: Path) -> None:
        self.path = path
        self.options = ["--store", str(store), "--state", str(state)]

    def run(self, *arguments: str) -> str:
        """Run a command, and return what it prints."""
        done = self.attempt(*arguments)
        check(done.returncode == 0, f"headwater {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def attempt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command that may fail."""
        command = [self.path, *arguments, *self.options]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    def ask(self, *arguments: str) -> Any:  # noqa: ANN401
        """Run a command, and return its JSON."""
        return json.loads(self.run(*arguments, "--json"))

    def key(self, balance: int) -> dict[str, str]:
        """Create a key; return its id and its secret."""
        made: dict[str, str] = self.ask("keys", "create", "--name", "explore", "--credits", str(balance))
        return made

    def serve(self, log: Path, *settings: str) -> Server:
        """Start a server that wants a key unless a setting says otherwise."""
        options = [part for setting in settings for part in ("--set", setting)]
        return Server([self.path, "serve", *self.options, "--admin-listen", "none", *options], log)


class Explore:
    """The page in a browser."""

    def __init__(self, browser: Browser, origin: str) -> None:
        self.browser = browser
        self.origin = origin

    def open(self, fragment: str = "") -> None:
        """Open the page, and wait until it has asked what it asks by itself."""
        self.browser.open(f"{self.origin}/explore{fragment}")
        self.browser.wait_for(
            f"document.querySelector('.canvas') && {_GRAPH} && document.querySelector('#welcome h2') !== null"
        )
        self.settle()

    def settle(self) -> None:
        """Wait until no call is under way and nothing moves."""
        self.browser.wait_for("!document.querySelector('#tools [role=status]').textContent.startsWith('Asking')", 60)
        self.browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
        self.browser.wait_for("!document.querySelector('#tools [role=status]').textContent.startsWith('Asking')", 60)

    # What the page shows.

    def run(self, script: str) -> Any:  # noqa: ANN401
        """Evaluate an expression in the page."""
        return self.browser.run(script)

    def graph(self, script: str) -> Any:  # noqa: ANN401
        """Evaluate an expression about the graph `cy`."""
        return self.run(f"((cy) => {script})({_GRAPH})")

    def text(self, selector: str) -> str:
        """Return the text of an element, or nothing."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def panel(self) -> str:
        """Return the text of the panel, or nothing where it is closed."""
        return self.text("#panel:not([hidden])")

    def notice(self) -> str:
        """Return the message above the picture, or nothing."""
        return self.text("#notice:not([hidden])")

    def spoken(self) -> str:
        """Return what was said last to people who use a screen reader."""
        return str(self.run("document.querySelector('#spoken').textContent"))

    def nodes(self) -> list[str]:
        """Return the keys of the addresses in the picture."""
        found: list[str] = self.graph("cy.nodes().map((node) => node.id())")
        return found

    def lines(self) -> list[str]:
        """Return the ids of the lines in the picture."""
        found: list[str] = self.graph("cy.edges().map((edge) => edge.id())")
        return found

    def place(self, key: str) -> dict[str, float]:
        """Return the place of an address in the picture."""
        found: dict[str, float] = self.graph(f"cy.getElementById({json.dumps(key)}).position()")
        return found

    def expect(self, condition: str, message: str) -> None:
        """Wait until an expression is true, and end the run with a message if it does not become so."""
        try:
            self.browser.wait_for(condition, 30)
        except RuntimeError as error:
            said = f"the page says {self.notice()!r} and {self.spoken()!r}, and complains: {self.browser.complaints()}"
            checks.fail(f"{message}; {said} ({error})")

    def panel_shows(self, text: str, message: str) -> None:
        """Wait until the panel has a text."""
        self.expect(f"document.querySelector('#panel:not([hidden])')?.innerText.includes({json.dumps(text)})", message)

    def quiet(self, place: str) -> None:
        """Check that nothing complained and that no other host was asked since the page was opened."""
        complaints = self.browser.complaints()
        check(complaints == [], f"{place} makes complaints: {complaints}")
        own = (f"{self.origin}/", "blob:", "about:", "data:")
        others = [url for url in self.browser.requests() if not url.startswith(own)]
        check(others == [], f"{place} asks other hosts: {others}")

    # By mouse, at places of the screen.

    def node_point(self, key: str) -> tuple[float, float]:
        """Return where an address is on the screen."""
        return self._point(f"cy.getElementById({json.dumps(key)}).renderedPosition()")

    def line_point(self, line: str) -> tuple[float, float]:
        """Return where the middle of a line is on the screen."""
        return self._point(f"cy.getElementById({json.dumps(line)}).renderedMidpoint()")

    def _point(self, script: str) -> tuple[float, float]:
        place = self.run(
            "(() => { const box = document.querySelector('.canvas').getBoundingClientRect();"
            f"const at = ((cy) => {script})({_GRAPH}); return [box.x + at.x, box.y + at.y]; }})()"
        )
        return place[0], place[1]

    def click_node(self, key: str) -> None:
        """Click an address of the picture."""
        self._click_picture(self.node_point(key))

    def click_line(self, line: str) -> None:
        """Click a line of the picture."""
        self._click_picture(self.line_point(line))

    def _click_picture(self, at: tuple[float, float]) -> None:
        hit = self.run(f"document.elementFromPoint({at[0]}, {at[1]})?.closest('.canvas') !== null")
        check(hit is True, f"the place {at} is covered or out of view")
        self.browser.click(*at)
        self.settle()

    def drag_node(self, key: str, right: float, down: float) -> None:
        """Drag an address."""
        x, y = self.node_point(key)
        self.browser.drag((x, y), (x + right, y + down))
        self.settle()

    def click(self, what: str, text: str = "") -> None:
        """Click the first element of a selector whose text begins so, after turning the wheel until it is in view."""
        look = f"({_LOOK})({json.dumps(what)}, {json.dumps(text)})"
        self.expect(f"{look} !== null", f"there is no {what} that begins with {text!r}")
        for _ in range(_MAX_TURNS):
            at = self.run(look)
            if at is None or at["isHit"]:
                break
            self.browser.mouse("mouseWheel", at["middle"], at["over"], deltaX=at["right"], deltaY=at["down"])
            time.sleep(0.03)
        check(bool(at and at["isHit"]), f"{what} that begins with {text!r} cannot be brought into view")
        self.browser.click(at["x"], at["y"])
        self.settle()

    def click_button(self, text: str, within: str = "") -> None:
        """Click a button by the beginning of its text."""
        self.click(f"{within} button", text)

    def fill(self, label: str, text: str, within: str = "body") -> None:
        """Click a field by its label, replace its text, and leave it with Tab."""
        self.click(f"{within} label", label)
        self.browser.press("a", control=True)
        self.browser.press("Delete")
        # Keys, as fields for dates take nothing else.
        for character in text:
            self.browser.press(character)
        self.browser.press("Tab")
        self.settle()

    # By keys alone.

    def focused(self) -> str:
        """Return the text of what has the focus, or its label."""
        name = "({ ariaLabel, innerText, labels }) => ariaLabel || innerText || labels?.[0]?.innerText || ''"
        return str(self.run(f"({name})(document.activeElement)"))

    def tab_to(self, text: str, *, back: bool = False) -> None:
        """Press Tab until the focus is on what begins with a text."""
        self.press_until("Tab", lambda: self.focused().startswith(text), f"Tab does not reach {text!r}", shift=back)

    def press_until(
        self, key: str, is_there: Callable[[], bool], message: str, *, shift: bool = False, limit: int = _MAX_PRESSES
    ) -> None:
        """Press a key until something holds."""
        for _ in range(limit):
            if is_there():
                return
            self.browser.press(key, shift=shift)
        check(is_there(), f"{message}; the focus is on {self.focused()!r}, and the page says {self.notice()!r}")

    def press(self, key: str, *, control: bool = False, shift: bool = False) -> None:
        """Press a key, and wait for what it asked."""
        self.browser.press(key, control=control, shift=shift)
        self.settle()

    def walk_to(self, key: str) -> None:
        """Move from address to address with the arrow keys, from the one at hand to another."""
        for _ in range(_MAX_PRESSES):
            at = self.graph("cy.nodes('.at').map((node) => node.id())[0] ?? null")
            if at == key:
                return
            arrow = self._arrow(at, key)
            if arrow is None:
                break
            self.browser.press(arrow)
        checks.fail(f"the arrow keys do not reach {key}: they end at {at}")

    # Chooses the arrow on the shortest way, by the rule of the page that arrows go to the nearest in a direction.
    def _arrow(self, start: str | None, goal: str) -> str | None:
        if start is None:
            return "Home"
        places: dict[str, list[float]] = self.graph(
            "Object.fromEntries(cy.nodes().map((node) => [node.id(), [node.position('x'), node.position('y')]]))"
        )
        steps = {"ArrowLeft": (-1, 0), "ArrowRight": (1, 0), "ArrowUp": (0, -1), "ArrowDown": (0, 1)}
        ways: dict[str, str] = {start: ""}
        queue = [start]
        for here in queue:
            for arrow, (dx, dy) in steps.items():
                there = _nearest(places, here, dx, dy)
                if there not in ways:
                    ways[there] = ways[here] or arrow
                    queue.append(there)
        return ways.get(goal)


def _nearest(places: dict[str, list[float]], here: str, dx: int, dy: int) -> str:
    best = (float("inf"), here)
    for key, (x, y) in places.items():
        right, down = x - places[here][0], y - places[here][1]
        along = right * dx + down * dy
        far = along + 2.5 * abs(right * dy + down * dx)
        if along > 1 and far < best[0]:
            best = (far, key)
    return best[1]


def environment(key: str) -> dict[str, str]:
    """Return the environment of a snippet."""
    return {**os.environ, "KEY": key}
