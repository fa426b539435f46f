"""A proxy before a node: counts what is asked for, and leaves out methods."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Server(ThreadingHTTPServer):
    """A server whose callers may be killed."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Keep quiet about callers that are gone; others see an error by the answer that they miss."""


class Proxy:
    """A proxy on a free port, for use in a `with` block."""

    def __init__(self, url: str, lacks: Iterable[str] = ()) -> None:
        self.asked: list[tuple[str, list[Any]]] = []
        self.lacks = frozenset(lacks)
        self._node = urlsplit(url).netloc
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Answers are sent at once: without it the kernel waits for more.
            wbufsize = -1
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                self.node = http.client.HTTPConnection(proxy._node)

            def finish(self) -> None:
                super().finish()
                self.node.close()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = proxy.answer(self.node, body)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, node: http.client.HTTPConnection, body: bytes) -> bytes:
        """Count the calls of a request, and pass it on."""
        asked = json.loads(body)
        calls = asked if isinstance(asked, list) else [asked]
        with self._lock:
            self.asked.extend((call["method"], call["params"]) for call in calls)
        if any(call["method"] in self.lacks for call in calls):
            error = {"code": -32601, "message": "the method does not exist/is not available"}
            answers = [{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls]
            return json.dumps(answers if isinstance(asked, list) else answers[0]).encode()
        node.request("POST", "/", body, {"Content-Type": "application/json"})
        return node.getresponse().read()

    def taken(self) -> list[tuple[str, list[Any]]]:
        """Return what was asked since the last look."""
        with self._lock:
            asked, self.asked = self.asked, []
        return asked


def of_method(asked: list[tuple[str, list[Any]]], method: str, *rest: Any) -> list[Any]:  # noqa: ANN401
    """Return the first parameters of the calls of a method that have the other parameters."""
    return [params[0] for name, params in asked if name == method and params[1:] == list(rest)]
