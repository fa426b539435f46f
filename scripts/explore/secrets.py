"""The key: where it may be, and where not."""

from __future__ import annotations

import json
import time
from pathlib import Path

from explore.session import Explore, check, checks


def give(page: Explore, secret: str, *, is_kept: bool = False, is_right: bool = True) -> None:
    """Give a key to the page by mouse; it forgets one that is wrong."""
    page.click("#credits button", "Key")
    page.browser.write(secret)
    if is_kept:
        page.click("dialog input[type=checkbox]")
    page.click_button("Use", "dialog")
    if is_right:
        page.expect("document.querySelector('#credits').innerText.includes('Key ✓')", "the page takes no key")


def check_places(page: Explore, secret: str, folder: Path, *, is_kept: bool) -> None:
    """Check that the key is in the session storage if that was chosen, and nowhere else that outlives the page."""
    stored = page.run("JSON.stringify(Object.entries(sessionStorage))")
    check((secret in stored) == is_kept, f"the session storage has {'no key' if is_kept else 'the key'}: {is_kept=}")
    places = {
        "the address of the page": "location.href",
        "the history": "JSON.stringify(history.state)",
        "the local storage": "JSON.stringify(Object.entries(localStorage))",
        "the cookies": "document.cookie",
        "the markup": "document.documentElement.outerHTML",
        "the fields": "JSON.stringify([...document.querySelectorAll('input, textarea')].map((each) => each.value))",
        "the databases": "indexedDB.databases().then((all) => JSON.stringify(all))",
        "the caches": "caches.keys().then((all) => JSON.stringify(all))",
    }
    for place, script in places.items():
        check(secret not in str(page.run(script)), f"{place} has the key")
    check(
        json.loads(page.run("JSON.stringify(Object.entries(localStorage))")) == [], "the page fills the local storage"
    )
    cookies = page.browser.call("Network.getCookies")["cookies"]
    check(cookies == [], f"the page has cookies: {cookies}")
    check(secret.encode() not in saved(page, folder).read_bytes(), "the saved case has the key")
    asked = [url for url in page.browser.requests() if secret in url]
    check(asked == [], "the key is in the address of a request")


def saved(page: Explore, folder: Path, button: str = "Save", ending: str = ".json") -> Path:
    """Save the case or its picture, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    page.browser.save_files_in(folder)
    page.click_button(button, "#tools")
    for _ in range(100):
        files = [file for file in folder.iterdir() if file.suffix == ending]
        if files:
            return files[0]
        time.sleep(0.1)
    return checks.fail(f"{button} writes no file")


def check_forgotten(page: Explore, secret: str) -> None:
    """Check that a key which was kept is gone once it is forgotten."""
    page.click("#credits button", "Key")
    page.click_button("Forget the key", "dialog")
    check(secret not in page.run("JSON.stringify(Object.entries(sessionStorage))"), "a forgotten key is still stored")
