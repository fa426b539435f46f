"""Where a server is, and how it is reached."""

from __future__ import annotations

import base64
import functools
import http.client
import os
import socket
import ssl
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from headwater._bounds import BoundedResponse, Bounds
from headwater.errors import InvalidInput, TimedOut

_CONNECT_SECS = 10.0
_VERSIONS = frozenset({"v1", "v2"})


@dataclass(frozen=True)
class Place:
    """A server, perhaps behind a proxy."""

    scheme: str
    host: str
    port: int
    # What stands before the paths of the API, for a server behind another one.
    prefix: str
    # A password may stand in it.
    proxy: urllib.parse.SplitResult | None = field(repr=False)
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

    def connect(self, bounds: Bounds) -> tuple[http.client.HTTPConnection, socket.socket]:
        """Open a connection whose answers keep to the bounds."""
        within = min(bounds.left(), _CONNECT_SECS)
        at = (self.host, self.port) if self.proxy is None else (self.proxy.hostname or "", self.proxy.port or 80)
        connection: http.client.HTTPConnection
        if self.scheme == "http":
            connection = http.client.HTTPConnection(*at, timeout=within)
        else:
            connection = http.client.HTTPSConnection(*at, timeout=within, context=self.tls)
            if self.proxy is not None:
                connection.set_tunnel(self.host, self.port, _authorization(self.proxy))
        answers: Any = functools.partial(BoundedResponse, bounds=bounds)
        connection.response_class = answers
        try:
            connection.connect()
        except TimeoutError:
            message = (
                f"no connection to {self.url}{'' if self.proxy is None else ' by its proxy'} within {within:.3g} s"
            )
            raise TimedOut(message, reason="timeout") from None
        except OSError as error:
            # Without the frames below, whose variables hold the password of a proxy.
            raise error.with_traceback(None) from None
        sock: socket.socket = connection.sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, sock

    def target(self, path: str) -> str:
        """Give a path as a request names it: a proxy of plain HTTP is told the whole address."""
        return (self.url if self._is_told_all else self.prefix) + path

    def headers(self) -> dict[str, str]:
        """Give the headers that go with a request."""
        return _authorization(self.proxy) if self.proxy is not None and self._is_told_all else {}

    @property
    def _is_told_all(self) -> bool:
        return self.proxy is not None and self.scheme == "http"


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
    base, _, version = parts.path.rstrip("/").rpartition("/")
    if version in _VERSIONS:
        message = f"url: it ends in /{version}, which every call has in its path: connect to {parts.scheme}://{parts.netloc}{base}"
        raise InvalidInput(message, reason="invalid_value", field="url")
    scheme, host = parts.scheme, parts.hostname or ""
    context = None
    if scheme == "https":
        context = tls if isinstance(tls, ssl.SSLContext) else _trusting(tls)
    port = parts.port or (443 if context else 80)
    if proxy == "environment":
        proxy = _proxy_of_environment(scheme, host, port)
    through = None if proxy is None else _parsed(proxy, "proxy")
    return Place(scheme, host, port, parts.path.rstrip("/"), through, context)


def _proxy_of_environment(scheme: str, host: str, port: int) -> str | None:
    """Give the proxy that the environment names for a place, as other programs understand it."""
    if any(map(urllib.request.proxy_bypass, (host, f"{host}:{port}"))):
        return None
    named = urllib.request.getproxies()
    found = named.get(scheme) or named.get("all")
    return f"http://{found}" if found and "://" not in found else found


def _trusting(authorities: str | os.PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authorities and os.path.expanduser(authorities))
    except OSError as error:
        message = f"tls: {os.fspath(authorities or '')!r} is no file of certificates: {error}"
        raise InvalidInput(message, reason="invalid_value", field="tls") from error


def _parsed(url: object, name: str) -> urllib.parse.SplitResult:
    schemes = ("http",) if name == "proxy" else ("http", "https")
    try:
        parts = urllib.parse.urlsplit(url if isinstance(url, str) else "")
        plain = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
        if plain and parts.scheme in schemes and parts.hostname and parts.port != 0:
            # As it is when it is looked up: what cannot be a name is said here and not by the look-up.
            parts.hostname.encode("idna")
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
