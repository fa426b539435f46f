"""Where a server is, and how it is reached."""

from __future__ import annotations

import base64
import http.client
import os
import socket
import ssl
import urllib.parse
import urllib.request
from dataclasses import dataclass

from headwater.errors import InvalidInput

_CONNECT_SECS = 10.0


@dataclass(frozen=True)
class Place:
    """A server, perhaps behind a proxy."""

    scheme: str
    host: str
    port: int
    # What stands before the paths of the API, for a server behind another one.
    prefix: str
    proxy: urllib.parse.SplitResult | None
    tls: ssl.SSLContext | None

    @property
    def origin(self) -> str:
        """Give scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def url(self) -> str:
        """Give the address for people; it holds no secret."""
        return self.origin + self.prefix

    def connect(self, timeout: float) -> tuple[http.client.HTTPConnection, socket.socket]:
        """Open a connection."""
        proxy = self.proxy
        at = (self.host, self.port) if proxy is None else (proxy.hostname or "", proxy.port or 80)
        connection: http.client.HTTPConnection
        if self.scheme == "http":
            connection = http.client.HTTPConnection(*at, timeout=min(timeout, _CONNECT_SECS))
        else:
            connection = http.client.HTTPSConnection(*at, timeout=min(timeout, _CONNECT_SECS), context=self.tls)
            if proxy is not None:
                connection.set_tunnel(self.host, self.port, _authorization(proxy))
        connection.connect()
        sock: socket.socket = connection.sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(timeout)
        return connection, sock

    def target(self, path: str) -> tuple[str, dict[str, str]]:
        """Give a path as a request names it, with headers that go with it."""
        if self.proxy is not None and self.scheme == "http":
            # A proxy of plain HTTP is told the whole address.
            return self.url + path, _authorization(self.proxy)
        return self.prefix + path, {}


def place_of(url: str, proxy: str | None, tls: ssl.SSLContext | str | os.PathLike[str] | None) -> Place:
    """Check where a server is said to be."""
    parts = _parsed(url, "url")
    if tls is not None and not isinstance(tls, (str, os.PathLike, ssl.SSLContext)):
        message = f"tls: expected an SSLContext or the path of a file of certificates, not {type(tls).__name__}"
        raise InvalidInput(message, reason="invalid_type", field="tls")
    if parts.query or parts.fragment:
        message = f"url: {url!r} has more than a host and a path"
        raise InvalidInput(message, reason="invalid_value", field="url")
    if parts.username is not None:
        message = "url: it holds a user or password, which has no meaning here: give the key as api_key"
        raise InvalidInput(message, reason="invalid_value", field="url")
    scheme, host = parts.scheme, parts.hostname or ""
    context = None
    if scheme == "https":
        context = tls if isinstance(tls, ssl.SSLContext) else _trusting(tls)
    if proxy == "environment":
        found = urllib.request.getproxies().get(scheme)
        proxy = None if found is None or urllib.request.proxy_bypass(host) else found
    through = None if proxy is None else _parsed(proxy, "proxy")
    return Place(scheme, host, parts.port or (443 if context else 80), parts.path.rstrip("/"), through, context)


def _trusting(authorities: str | os.PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authorities)
    except OSError as error:
        message = f"tls: {os.fspath(authorities or '')!r} is no file of certificates: {error}"
        raise InvalidInput(message, reason="invalid_value", field="tls") from error


def _parsed(url: object, name: str) -> urllib.parse.SplitResult:
    schemes = ("http",) if name == "proxy" else ("http", "https")
    try:
        parts = urllib.parse.urlsplit(url if isinstance(url, str) else "")
        plain = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
        if plain and parts.scheme in schemes and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    # A password may stand in it, so it is not repeated.
    message = f"{name}: expected an address such as {schemes[-1]}://headwater.example:8080"
    raise InvalidInput(message, reason="invalid_value", field=name)


def _authorization(proxy: urllib.parse.SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    who = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(who.encode()).decode()}"}
