"""A server that does what a test asks of it: answers, refuses, is silent, breaks off."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import headwater as hw


@dataclass
class ReceivedRequest:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    # Which connection it came over.
    client: tuple[str, int]

    @property
    def repetition_key(self) -> str | None:
        """The key under which a repetition is known."""
        return self.headers.get("idempotency-key")


# Where a ledger asks which chains are held, and what it is answered.
_CHAINS = "/v1/chains?include=none"
_HELD = [{"chain": "ethereum", "family": "evm", "endpoints": {"transactions": "full"}}]

# Answers a request, the number of which (from 0) it is reported.
Script = Callable[["Handler", int], None]


@dataclass
class Stub:
    """The server and what it was asked."""

    url: str = ""
    script: Script = lambda handler, _: handler.success()
    asked: list[ReceivedRequest] = field(default_factory=list)
    # Requests under way at the same time: now, and at most.
    under_way: int = 0
    max_under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the script of the stub."""

    protocol_version = "HTTP/1.1"
    stub: Stub

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == _CHAINS:
            # Neither recorded nor scripted: tests are about the calls that follow.
            self.success({"chains": _HELD})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        stub = self.stub
        with stub.lock:
            number = len(stub.asked)
            stub.asked.append(ReceivedRequest(self.command, self.path, headers, body, self.client_address))
            stub.under_way += 1
            stub.max_under_way = max(stub.max_under_way, stub.under_way)
        try:
            stub.script(self, number)
        finally:
            with stub.lock:
                stub.under_way -= 1

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def send(self, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
        """Send an answer; one that says a greater length than it has breaks off."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        if length is not None:
            self.hang_up()

    def success(self, data: Any = None, **headers: str) -> None:  # noqa: ANN401
        """Answer as the gateway does."""
        body = json.dumps({"data": {} if data is None else data, "meta": {"credit_cost": 5}}).encode()
        reported = {name.replace("_", "-"): value for name, value in headers.items()}
        self.send(200, body, {"Content-Type": "application/json", **reported})

    def refuse(self, status: int, code: str, reason: str | None = None, **headers: str) -> None:
        """Refuse as the gateway does."""
        error: dict[str, Any] = {"code": code, "message": f"refused with {status}"}
        if reason is not None:
            error["details"] = {"reason": reason, "field": "address"}
        reported = {name.replace("_", "-"): value for name, value in headers.items()}
        self.send(status, json.dumps({"error": error}).encode(), {"Content-Type": "application/json", **reported})

    def hang_up(self) -> None:
        """Close the connection."""
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def stub_server() -> Iterator[Stub]:
    """Serve until the end of the block."""
    stub = Stub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("StubHandler", (Handler,), {"stub": stub}))
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def whole_request(client: socket.socket) -> bytes:
    """Read a request, whose head and body may come apart; nothing where the client is gone."""
    request = b""
    while piece := client.recv(1 << 20):
        request += piece
        head, ended, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if ended and len(body) >= (int(length[1]) if length else 0):
            return request
    return b""


@contextmanager
def losing(upstream: str, lost: int) -> Iterator[str]:
    """Sit between a client and a server, and lose the answers on the first connections."""
    host, port = upstream.removeprefix("http://").split(":")
    listener = socket.create_server(("127.0.0.1", 0))
    left = [lost]

    def carry(client: socket.socket) -> None:
        with client, socket.create_connection((host, int(port))) as server:
            while request := whole_request(client):
                server.sendall(request)
                answer = server.recv(1 << 20)
                if left[0] > 0:
                    left[0] -= 1
                    return
                client.sendall(answer)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=carry, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def connect(stub: Stub, **options: Any) -> hw.RemoteLedger:  # noqa: ANN401
    """Connect as most tests do."""
    return hw.connect(stub.url, "hw_test_key", **{"timeout": 5.0, "patience": 20.0, **options})


def in_turn(*answers: str) -> Any:  # noqa: ANN401
    """Answer one request after the other; the last answer stands for all that follow."""

    def script(handler: Handler, number: int) -> None:
        answer = answers[min(number, len(answers) - 1)]
        status, _, after = answer.partition(" ")
        headers = {"Retry_After": after} if after else {}
        match status:
            case "200":
                handler.success({"answer": number}, X_Credit_Cost="5", X_Credit_Remaining="7")
            case "silence":
                time.sleep(3)
                handler.hang_up()
            case "nothing":
                handler.hang_up()
            case "half":
                handler.send(200, b'{"data": {"half', {"Content-Type": "application/json"}, length=1000)
            case "page":
                handler.send(502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"})
            case _:
                handler.refuse(int(status), "some_code", "some_reason", **headers)

    return script


def stub_body(stub: Stub, handler: Handler) -> bytes:
    """The body of the request that a handler answers."""
    with stub.lock:
        return next(asked.body for asked in reversed(stub.asked) if asked.client == handler.client_address)


def lines_of(*numbers: int) -> bytes:
    """Rows of a registry."""
    return b"".join(json.dumps({"chain": "ethereum", "symbol": f"s{number}"}).encode() + b"\n" for number in numbers)
