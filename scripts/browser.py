"""Drive a headless Chromium through its debugging pipe, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The options of a browser that reaches no other host.
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# The codes of keys without a character, and of those whose codes differ from their names.
_NUMBERS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Delete": 46,
}
_CODES = {" ": "Space", "/": "Slash"}
# Pages keep what their policy blocked; the listener is there before their scripts.
_WATCH = """
globalThis.blockedByPolicy = [];
addEventListener("securitypolicyviolation", (event) => {
  blockedByPolicy.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample} ${event.sourceFile}`);
});
"""


def find_browser() -> str | None:
    """Return the path of a Chromium, or nothing."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser with one page, which reaches no other host."""

    def __init__(self, path: str, size: tuple[int, int] = (1400, 900), *, dark: bool = False, scale: float = 1) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        arguments = [
            path,
            *OPTIONS,
            "--hide-scrollbars",
            f"--user-data-dir={self._profile.name}",
            "--remote-debugging-pipe",
            f"--force-device-scale-factor={scale}",
            "about:blank",
        ]

        def connect() -> None:
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        # The pipe of the browser is 3 and 4, which must not be closed or taken by ours.
        spare = [os.dup(commands) for _ in range(3)]
        self._process = subprocess.Popen(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=connect,  # noqa: PLW1509
        )
        for descriptor in (commands, answers, *spare):
            os.close(descriptor)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.resize(*size, scale=scale)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def resize(self, width: int, height: int, *, scale: float = 1) -> None:
        """Set the size of the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        """Send a command and return its result."""
        self._number += 1
        number = self._number
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        self._send(command)
        while True:
            message = self._next()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                result: dict[str, Any] = message["result"]
                return result

    def open(self, url: str) -> None:
        """Load a page, and wait until it is loaded."""
        # From another page, so that an address which differs in its fragment alone is loaded too.
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        # A page that asks before it is left goes later than the command returns.
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'", 60)

    def run(self, script: str) -> Any:  # noqa: ANN401
        """Evaluate an expression, or a promise, and return its value."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 20) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > until:
                raise RuntimeError(f"not true within {seconds} seconds: {condition}")
            time.sleep(0.05)

    def press(self, key: str, text: str = "", *, control: bool = False, shift: bool = False) -> None:
        """Press a key: a name such as Tab, or one character, which is written unless Ctrl is held."""
        is_character = len(key) == 1
        named: Mapping[str, Any] = {
            "key": key,
            "code": f"Key{key.upper()}" if is_character and key.isalpha() else _CODES.get(key, key),
            "windowsVirtualKeyCode": ord(key.upper()) if is_character else _NUMBERS.get(key, 0),
            "modifiers": 2 * control + 8 * shift,
        }
        # Buttons and forms act when Enter is written, not when it is held down.
        text = text or ("\r" if key == "Enter" else key if is_character and not control else "")
        written = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if written else "rawKeyDown", **named, **written)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def write(self, text: str) -> None:
        """Write text where the focus is."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **parameters: Any) -> None:  # noqa: ANN401
        """Move, press, release or turn the wheel of the mouse."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def click(self, x: float, y: float) -> None:
        """Click with the left button."""
        self.drag((x, y), (x, y))

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the left button at a place, and release it at another."""
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        steps = 0 if start == end else 5
        for step in range(1, steps + 1):
            at = [begin + (last - begin) * step / steps for begin, last in zip(start, end, strict=True)]
            self.mouse("mouseMoved", *at, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", buttons=0, clickCount=1)

    def choose_file(self, selector: str, file: str | Path) -> None:
        """Choose a file in a field for files."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        field = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=field, files=[str(file)])

    def save_files_in(self, folder: str | Path) -> None:
        """Save what pages offer as files in a folder."""
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def screenshot(self, file: str | Path) -> None:
        """Write what the page shows as PNG."""
        Path(file).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Return errors and warnings of the console, dialogs and violations of the policy since the page was opened."""
        found = list(self.run("blockedByPolicy"))
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(each.get("value", each.get("description"))) for each in parameters["args"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(" ".join([parameters["entry"]["text"], parameters["entry"].get("url", "")]).strip())
            elif event["method"] == "Page.javascriptDialogOpening" and parameters["type"] != "beforeunload":
                found.append(f"{parameters['type']}: {parameters['message']}")
        return found

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for since it was opened."""
        self.run("0")
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [str(parameters["request"]["url"]) for parameters in sent]

    def _send(self, command: dict[str, Any]) -> None:
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser ended")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":
                # A page waits for the answer; the reply of this command is passed over.
                accept = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
                self._send({**accept, "sessionId": self._session})
        return message
