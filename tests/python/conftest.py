"""What the tests share: the corpus, the command line of the wheel, and one store of real account exports."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real chain data; tests that need it are left out, by name, where there is none."""
    folder = os.environ.get("HEADWATER_CORPUS")
    if not folder or not Path(folder).is_dir():
        pytest.skip("left out: HEADWATER_CORPUS names no folder of real chain data")
    return Path(folder)


def headwater(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the console script of the installed wheel."""
    script = Path(sys.executable).with_name("headwater")
    done = subprocess.run([script, *map(str, arguments)], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        pytest.fail(
            f"headwater {' '.join(map(str, arguments))} exited {done.returncode}:\n{done.stdout}\n{done.stderr}"
        )
    return done


@dataclass
class Served:
    """A running gateway and a key for it."""

    url: str
    key: str
    process: subprocess.Popen[bytes]

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any, Any]:  # noqa: ANN401
        """Give status, JSON body and headers."""
        headers = {"X-API-Key": key if key is not None else self.key}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.load(error), error.headers


def free_port() -> int:
    """Find a port nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def serve(store: Path, credits: int = 1_000_000) -> Served:  # noqa: A002
    """Start the gateway over a store, with a key."""
    made = json.loads(
        headwater("keys", "create", "--store", store, "--name", "t", "--credits", str(credits), "--json").stdout
    )
    url = f"http://127.0.0.1:{free_port()}"
    script = Path(sys.executable).with_name("headwater")
    arguments = [str(script), "serve", "--store", str(store), "--listen", url.removeprefix("http://")]
    # Tests ask faster than callers may.
    arguments += ["--set", "limits.enabled=false"]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    served = Served(url, made["key"], process)
    for _ in range(200):
        try:
            if served.call("GET", "/readyz")[0] == 200:
                return served
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.05)
    process.kill()
    pytest.fail("the gateway did not become ready within ten seconds")


@pytest.fixture(scope="session")
def exports(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the real account exports, with token registries and prices."""
    store = tmp_path_factory.mktemp("exports") / "store"
    headwater(
        "ingest",
        "--store",
        store,
        corpus / "classifier/eth_transactions.parquet",
        corpus / "classifier/eth_token_transfers.parquet",
    )
    registries = corpus / "registries"
    headwater("tokens", "import", "--store", store, registries / "metamask_contract-map.json.gz")
    headwater("prices", "import", "--store", store, corpus / "prices/ETH-USD-1d.csv", corpus / "prices/USDT-USD-1d.csv")
    return store


@pytest.fixture(scope="session")
def served(exports: Path) -> Iterator[Served]:
    """The gateway over the real account exports."""
    gateway = serve(exports)
    yield gateway
    gateway.process.terminate()
    gateway.process.wait(10)
