"""Fixtures that the tests share: the corpus, the command line of the wheel, and one store of real account exports."""

from __future__ import annotations

import json
import os
import shutil
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
from headwater import examples
from stub_server import Stub, stub_server


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


def serve(
    store: Path,
    credits: int = 1_000_000,  # noqa: A002
    *settings: str,
    state: Path | None = None,
) -> Served:
    """Start the gateway over a store, with a key; a setting is ``section.name=value``.

    Two gateways over one store at a time need states of their own.
    """
    place = ["--store", str(store), *(["--state", str(state)] if state is not None else [])]
    made = json.loads(headwater("keys", "create", *place, "--name", "t", "--credits", str(credits), "--json").stdout)
    url = f"http://127.0.0.1:{free_port()}"
    script = Path(sys.executable).with_name("headwater")
    arguments = [str(script), "serve", *place, "--listen", url.removeprefix("http://")]
    # Tests ask faster than callers may.
    settings = ("limits.enabled=false", *settings)
    # Many gateways run beside one another here; one port of theirs is enough.
    settings = ("server.admin_listen=none", *settings)
    arguments += [part for setting in settings for part in ("--set", setting)]
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


def stop(gateway: Served) -> None:
    """End a gateway as an operator does."""
    gateway.process.terminate()
    gateway.process.wait(10)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the demo economy."""
    store = tmp_path_factory.mktemp("demo") / "store"
    headwater("simulate", "--store", store, "--preset", "demo")
    return store


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the four transfers of ``headwater.examples``, from files of ethereum-etl."""
    folder = tmp_path_factory.mktemp("example")
    start, ether, usdt = 1_600_000_000, 10**18, examples.USDT
    moved = [
        (1, examples.BOB, examples.ALICE, 3 * ether),
        (2, examples.ALICE, examples.SHOP, ether),
        (3, examples.ALICE, usdt, 0),
        (4, examples.SHOP, examples.BOB, ether // 4),
    ]
    (folder / "transactions.csv").write_text(
        "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,"
        "block_timestamp,receipt_status,receipt_gas_used\n"
        + "".join(
            f"0x{n:064x},{n},,{n},0,{sender},{receiver},{value},21000,0,0x,{start + 12 * n},1,21000\n"
            for n, sender, receiver, value in moved
        )
    )
    (folder / "token_transfers.csv").write_text(
        "token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n"
        f"{usdt},{examples.ALICE},{examples.BOB},2500000,0x{3:064x},0,3\n"
    )
    (folder / "prices.csv").write_text(f"symbol,ts,price_usd\neth,{start},2000\nusdt,{start},1\n")
    token = {"address": usdt, "symbol": "USDT", "name": "Tether USD", "decimals": 6}
    (folder / "tokens.json").write_text(json.dumps([token]))
    store = folder / "store"
    headwater("ingest", "--store", store, folder / "transactions.csv", folder / "token_transfers.csv")
    headwater("tokens", "import", "--store", store, "--chain", "ethereum", folder / "tokens.json")
    headwater("prices", "import", "--store", store, folder / "prices.csv")
    return store


@pytest.fixture(scope="session")
def served_example(example: Path) -> Iterator[Served]:
    """The gateway over the four transfers."""
    gateway = serve(example)
    yield gateway
    stop(gateway)


@pytest.fixture(scope="session")
def labelled_example(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the four transfers and the label of the shop."""
    folder = tmp_path_factory.mktemp("labelled")
    store = folder / "store"
    shutil.copytree(example, store)
    (folder / "labels.csv").write_text(
        f"address,blockchain,code,entity\n{examples.SHOP},ethereum,merchant,Corner Shop\n"
    )
    headwater("labels", "import", "--store", store, folder / "labels.csv")
    return store


@pytest.fixture(autouse=True)
def _places_of_doctests(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Doctests about servers find the address and a key of one, and those about stores find one of their own."""
    if request.node.name.startswith(("headwater.ledger.open", "headwater._disputes.")):
        store = request.getfixturevalue("tmp_path") / "store"
        shutil.copytree(request.getfixturevalue("labelled_example"), store)
        doctest_namespace.update(store=store)
    if request.node.name.startswith("headwater.remote."):
        served: Served = request.getfixturevalue("served_example")
        doctest_namespace.update(url=served.url, key=served.key)


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that does what the test asks of it."""
    with stub_server() as stub:
        yield stub


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
    stop(gateway)
