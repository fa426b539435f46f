"""The files of the page as the server sends them."""

from __future__ import annotations

import json
import re

from explore.session import Server, check

_KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
# What the policy must say; a page that may run texts needs only one hole.
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


def check_files(server: Server) -> int:
    """Check the page and every file that it loads; return their number."""
    status, _, page = server.ask("/explore")
    check(status == 200, f"/explore answers {status}")
    names = set(re.findall(r'(?:src|href)="/explore/([^"]+)"', page.decode()))
    while True:
        found = {name for file in names if file.endswith(".js") for name in imported(server, file)}
        if found <= names:
            break
        names |= found
    check("facts.js" in names and len(names) > 15, f"the page loads {sorted(names)}")
    check_file(server, "/explore", "text/html; charset=utf-8")
    for name in sorted(names):
        check_file(server, f"/explore/{name}", _KINDS[name.rsplit(".", 1)[1]])
    check_unknown(server)
    return len(names) + 1


def imported(server: Server, file: str) -> list[str]:
    """Return the modules that a script imports."""
    text = server.ask(f"/explore/{file}")[2].decode()
    return re.findall(r'^(?:import|export) [^"\n]*from "\./([a-z]+\.js)";$', text, re.MULTILINE)


def check_file(server: Server, path: str, kind: str) -> None:
    """Check the headers of a file, and that one which is known is not sent again."""
    status, headers, body = server.ask(path)
    check(status == 200 and len(body) > 0, f"{path} answers {status} with {len(body)} bytes")
    policy = dict(
        part.strip().split(" ", 1) for part in headers.get("content-security-policy", "").split(";") if part.strip()
    )
    check(policy == _POLICY, f"{path} has the policy {policy}")
    expected = {
        "content-type": kind,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
        "x-credit-cost": "0",
    }
    for name, value in expected.items():
        check(headers.get(name) == value, f"{path}: {name} is {headers.get(name)!r}, not {value!r}")
    check("set-cookie" not in headers, f"{path} sets a cookie")
    tag = headers.get("etag", "")
    check(re.fullmatch(r'"[0-9A-Za-z_-]{10,}"', tag) is not None, f"{path} has the ETag {tag!r}")
    status, headers, body = server.ask(path, {"If-None-Match": tag})
    check((status, body) == (304, b""), f"{path} answers {status} with {len(body)} bytes to its own ETag")
    check(headers.get("etag") == tag, f"{path} answers 304 with the ETag {headers.get('etag')!r}")
    check(server.ask(path, {"If-None-Match": '"other"'})[0] == 200, f"{path} takes another ETag for its own")


def check_unknown(server: Server) -> None:
    """Check that files which the page does not have are problems of the API."""
    for path in ("/explore/other.js", "/explore/..%2f..%2fCargo.toml", "/explore/%00", "/explore/index.html/x"):
        status, headers, body = server.ask(path)
        check(status == 404, f"{path} answers {status}")
        check(headers["content-type"].startswith("application/"), f"{path} answers with {headers['content-type']}")
        error = json.loads(body)["error"]
        check(bool(error["code"] and error["message"]), f"{path} answers {error}")
