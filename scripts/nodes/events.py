"""A server over a store, and a client of its stream that keeps the events."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from typing import Any

from nodes.session import Store, check, free_port, is_up, wait_for
from websockets.sync.client import connect


class Server:
    """A server, for use in a `with` block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.port = free_port()
        created = store.run("keys", "create", "--name", "events", "--credits", "1000000000")
        self.key: str = created["key"]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        listen = ["--listen", f"127.0.0.1:{self.port}", "--admin-listen", f"127.0.0.1:{free_port()}"]
        with self._store.folder.with_suffix(".serve.log").open("ab") as log:
            self._process = subprocess.Popen(self._store.command("serve", *listen), stdout=log, stderr=log)
        wait_for("the server is ready", lambda: is_up(f"http://127.0.0.1:{self.port}/readyz"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class EventStream:
    """A stream of the payments of some accounts, for use in a `with` block."""

    def __init__(self, server: Server, accounts: list[str]) -> None:
        self._events: list[dict[str, Any]] = []
        self._arrivals: dict[str, float] = {}
        self._arrived = threading.Condition()
        headers = {"X-API-Key": server.key}
        self._socket = connect(f"ws://127.0.0.1:{server.port}/v1/stream", additional_headers=headers)
        filters = {"blockchain": "ethereum", "addresses": accounts}
        subscribe = {"action": "subscribe", "id": "1", "event_type": "address_activity", "filters": filters}
        self._socket.send(json.dumps(subscribe))
        while (answer := json.loads(self._socket.recv(30)))["type"] != "subscribed":
            check(answer["type"] in ("welcome", "heartbeat"), f"the stream answers {answer}")

    def __enter__(self) -> EventStream:
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _read(self) -> None:
        for text in self._socket:
            now = time.monotonic()
            message = json.loads(text)
            if message["type"] != "event":
                check(message["type"] == "heartbeat", f"the stream says {message}")
                continue
            event = message["event"]
            with self._arrived:
                self._events.append(event)
                self._arrivals.setdefault(event["data"]["tx_hash"], now)
                self._arrived.notify_all()

    def arrival(self, transaction: str) -> float:
        """Wait for the first event of a transaction, and return when it came."""
        with self._arrived:
            check(
                self._arrived.wait_for(lambda: transaction in self._arrivals, 30),
                f"no event of transaction {transaction} within 30 s",
            )
            return self._arrivals[transaction]

    def settled(self) -> list[dict[str, Any]]:
        """Return all events, once no more come."""
        count = -1
        while count != len(self._events):
            count = len(self._events)
            time.sleep(1.5)
        return self._events
