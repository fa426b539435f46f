"""Checks of pages that the tests in a browser share: errors, requests, rules of axe-core, frames per second."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

from browser import Browser, find_browser

# Frames per second below which motion is not fluid, on a computer without a graphics card that does other work too.
MIN_FPS = 20
# Pans and zooms as people do, and counts the frames that the browser shows.
_FRAMES = """
new Promise((resolve) => {
  const canvas = document.querySelector("SELECTOR");
  const box = canvas.getBoundingClientRect();
  const at = (type, x, y, buttons) => {
    const target = type === "mousedown" ? canvas.querySelector("canvas:last-of-type") : window;
    target.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y, buttons, button: 0, bubbles: true }));
  };
  const [left, top] = [box.left + 15, box.top + 15];
  const begin = performance.now();
  let [frames, longest, last] = [0, 0, begin];
  at("mousedown", left, top, 1);
  const step = (now) => {
    frames += 1;
    longest = Math.max(longest, now - last);
    last = now;
    const past = now - begin;
    if (past < 2000) {
      at("mousemove", left + past / 10, top + past / 20, 1);
    } else if (past < 4000) {
      if (past - 2000 < 40) {
        at("mouseup", left, top, 0);
      }
      const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
      const wheel = { ...middle, bubbles: true, cancelable: true, deltaY: past < 3000 ? -30 : 30 };
      canvas.querySelector("canvas:last-of-type").dispatchEvent(new WheelEvent("wheel", wheel));
    } else {
      resolve({ fps: (1000 * frames) / past, longest });
      return;
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


class Checks:
    """Checks of one page, which end the run with the name of the page and a message."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, message: str) -> NoReturn:
        """End the run with a message."""
        sys.exit(f"{self.name}: {message}")

    def check(self, is_right: bool, message: str) -> None:
        """End the run with a message unless something holds."""
        if not is_right:
            self.fail(message)

    def browser(self) -> str:
        """Return the path of a Chromium."""
        return find_browser() or self.fail("there is no chromium: apt-get install chromium")

    def rules(self, browser: Browser, rules: Path, place: str) -> int:
        """Ask axe-core for serious findings; return the number of rules that hold."""
        # The policy of a page lets no other script in: it is run as from the tools of the browser.
        browser.run(rules.read_text(encoding="utf-8") + "; 0")
        browser.run("axe.run(document).then((found) => { globalThis.found = found; })")
        bad = browser.run(
            "found.violations.filter((each) => ['serious', 'critical'].includes(each.impact))"
            ".map((each) => each.id + ': ' + each.nodes.map((node) => node.target.join(' ')).join(', '))"
        )
        self.check(bad == [], f"axe-core finds in {place}: {bad}")
        return int(browser.run("found.passes.length"))

    def motion(self, browser: Browser, canvas: str, place: str, min_fps: int = MIN_FPS) -> dict[str, Any]:
        """Pan and zoom; return frames per second and the milliseconds of the longest."""
        motion: dict[str, Any] = browser.run(_FRAMES.replace("SELECTOR", canvas))
        self.check(motion["fps"] >= min_fps, f"{motion['fps']:.0f} frames per second with {place}")
        return motion
