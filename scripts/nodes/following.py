"""Follows anvil and bcoin through reorganisations and kills: the store ends as a load of the last chain."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nodes import ethereum
from nodes.anvil import Anvil
from nodes.events import EventStream, Server
from nodes.session import LoadedChain, Source, Store, Tools, check, rpc, say, wait_for

# Blocks that are filled with transactions before following begins.
_BEGIN = 40
# Changes of the chain, each of some blocks.
_CHANGES = 60
# Kills of the follower.
_KILLS = 24
# Blocks whose time until their events is measured.
_TIMED = 200
# Blocks of anvil, and of Bitcoin, that are not final.
_NOT_FINAL = {"ethereum": 64, "bitcoin": 6}
_TRANSFER = "0xa9059cbb"


class Follower:
    """A follower process, which is killed and started again."""

    def __init__(self, store: Store, source: Source, *options: str) -> None:
        options = ("--poll", "0.05", *options)
        self._command = store.command("follow", "--chain", source.chain, "--rpc", source.url, *options)
        self._log = store.folder.with_suffix(".follow.log")
        self._process: subprocess.Popen[bytes] | None = None
        self.kills = 0

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def end(self, number: int) -> None:
        """End it with a signal."""
        if self._process is not None:
            check(self._process.poll() is None, f"the follower ended: {self._log.read_text()}")
            self._process.send_signal(number)
            self._process.wait()
            self.kills += number == signal.SIGKILL

    def kill_often(self, kills: int, seed: int, is_over: Callable[[], bool]) -> None:
        """Kill it at random times so many times, and as often as something is not over."""
        choice = random.Random(f"kills {seed}")
        while self.kills < kills or not is_over():
            self.start()
            time.sleep(choice.uniform(0.02, 1.2))
            self.end(signal.SIGKILL)


def _head(store: Store, chain: str) -> int:
    """Return the last block that a store holds."""
    ranges = store.coverage(chain).get("blocks", [])
    return ranges[-1][1] if ranges else -1


def _change_anvil(node: Anvil, tokens: list[str], choice: random.Random) -> int:
    """Change the chain once: more blocks, or others in place of the last. Return how many were replaced."""
    accounts = node.rpc("eth_accounts")

    def grow(blocks: int) -> None:
        for _ in range(blocks):
            for _ in range(choice.randint(0, 4)):
                sender, receiver = choice.sample(accounts, 2)
                value = choice.randint(1, 1000)
                data = _TRANSFER + receiver[2:].rjust(64, "0") + hex(value)[2:].rjust(64, "0")
                coins = {"from": sender, "to": receiver, "value": hex(value * 10**9), "gas": "0x186a0"}
                moved = {"from": sender, "to": choice.choice(tokens), "data": data, "gas": "0x493e0"}
                node.rpc("eth_sendTransaction", choice.choice([coins, moved]))
            node.rpc("evm_mine")

    way = choice.random()
    if way < 0.6:
        grow(choice.randint(1, 4))
        return 0
    depth = choice.choice([1, 1, 2, 3, 5, 12])
    if way < 0.8:
        node.rpc("anvil_reorg", depth, [])
        return depth
    before = node.head()
    snapshot = node.rpc("evm_snapshot")
    grow(depth)
    time.sleep(choice.uniform(0, 0.4))
    node.rpc("evm_revert", snapshot)
    check(node.head() == before, "evm_revert")
    # Other transactions, so that the new blocks differ.
    node.rpc("anvil_setBlockTimestampInterval", choice.randint(3, 60))
    grow(depth + choice.randint(0, 2))
    return depth


def _compare(of: LoadedChain, store: Store, source: Source, last: int, finish: Callable[[int], None]) -> None:
    """Compare a store and its balances with a load of the chain, which `finish` makes final."""
    _compare_content(of, store, source, last, finish)
    compared = store.run("verify", "--chain", source.chain, "--rpc", source.url, "--accounts", "1000")
    check(compared["different"] == 0 and compared["equal"] > 0, f"verify --rpc: {compared}")


def _compare_content(of: LoadedChain, store: Store, source: Source, last: int, finish: Callable[[int], None]) -> None:
    """Compare the content of a store with that of a load of the chain."""
    check(_head(store, source.chain) == last, f"the store ends with block {_head(store, source.chain)}, not {last}")
    finish(_NOT_FINAL[source.chain])
    straight = of.new_store(f"straight-{source.chain}")
    straight.load(source, "--to", str(last))
    check(straight.digest() == store.digest(), f"{source.chain}: the followed store differs from a straight load")


def follow_anvil(tools: Tools, program: str, folder: Path, seed: int) -> None:
    """Follow anvil through reorganisations and kills, with a server whose events are counted."""
    folder.mkdir(exist_ok=True)
    with Anvil(tools) as node:
        filled = ethereum.fill(tools, node, folder, _BEGIN, seed)
        node.rpc("evm_setAutomine", False)
        store = Store(program, folder / "followed.store")
        # The socket announces blocks sooner than the next look.
        announced = Source("ethereum", f"{node.url},{node.url.replace('http', 'ws')}")
        follower = Follower(store, announced, "--from-block", "0")
        # The first look makes the tail, whose events are counted from there on.
        follower.start()
        wait_for("the follower is in step", lambda: _head(store, "ethereum") == node.head())
        accounts = node.rpc("eth_accounts")
        with Server(store) as server, EventStream(server, accounts) as stream:
            replaced = _change_under_kills(node, filled["tokens"], follower, seed)
            follower.start()
            last = node.head()
            wait_for("the follower is in step", lambda: _head(store, "ethereum") == last)
            begin = last
            times = _time_events(node, stream, accounts)
            last = node.head()
            wait_for("the follower is in step", lambda: _head(store, "ethereum") == last)
            events = stream.settled()
        follower.end(signal.SIGINT)
        counts = _check_events(node, events, last)
        reference = LoadedChain(program=program, folder=folder, last=last, store=store, digest="", seconds=0)
        _compare(reference, store, node.source, last, lambda blocks: node.mine(blocks))
    say(
        f"anvil: followed to block {last} over {_CHANGES} changes that replaced {replaced} blocks, and {follower.kills} "
        f"kills: the store equals a straight load, balances equal the node's"
    )
    say(f"anvil: {counts}; from the call that mines a block to its event {_quantiles(times)} (blocks {begin} on)")


def _change_under_kills(node: Anvil, tokens: list[str], follower: Follower, seed: int) -> int:
    """Change the chain while the follower is killed again and again. Return how many blocks were replaced."""
    choice = random.Random(f"chain {seed}")
    follower.end(signal.SIGKILL)
    over = threading.Event()
    killer = threading.Thread(target=follower.kill_often, args=(_KILLS, seed, over.is_set))
    killer.start()
    replaced = highest = 0
    for _ in range(_CHANGES):
        replaced += _change_anvil(node, tokens, choice)
        highest = max(highest, node.head() + 12)
        time.sleep(choice.uniform(0, 0.4))
    # The last chain is longer than all before.
    node.mine(highest - node.head() + 1)
    over.set()
    killer.join()
    return replaced


def _time_events(node: Anvil, stream: EventStream, accounts: list[str]) -> list[float]:
    """Mine blocks of one payment, and return the seconds until the event of each."""
    times = []
    for number in range(_TIMED):
        payment = {"from": accounts[0], "to": accounts[1], "value": hex(10**15 + number), "gas": "0x5208"}
        hashed = node.rpc("eth_sendTransaction", payment)
        began = time.monotonic()
        node.rpc("evm_mine")
        times.append(stream.arrival(hashed) - began)
    return times


def _check_events(node: Anvil, events: list[dict[str, Any]], last: int) -> str:
    """Check that each event came once, and that those of replaced blocks were taken back."""
    names = [event["id"] for event in events]
    check(len(names) == len(set(names)), "an event came twice")
    held: dict[str, dict[str, Any]] = {}
    retracted = 0
    for event in events:
        data = event["data"]
        if data["removed"]:
            check(data["replaces"] in held, f"a retraction without its event: {event}")
            del held[data["replaces"]]
            retracted += 1
        else:
            held[event["id"]] = event
    check(retracted > 0, "no event was taken back")
    # What is left is what the last chain has, from the first event on.
    found = sorted((event["data"]["tx_hash"], event["data"]["matched_address"]) for event in held.values())
    check(len(found) == len(set(found)), "an event of the last chain came under two ids")
    first = min(event["data"]["block_number"] for event in events)
    expected = set()
    for number in range(first, last + 1):
        for payment in node.rpc("eth_getBlockByNumber", hex(number), True)["transactions"]:
            if int(payment["value"], 16) and payment["input"] == "0x":
                expected |= {(payment["hash"], address) for address in (payment["from"], payment["to"])}
    coins = {pair for pair, event in zip(found, held.values(), strict=True)} & expected
    missing = {pair for pair in expected if pair not in set(found)}
    check(not missing, f"events are missing: {sorted(missing)[:5]} of {len(expected)}, found {len(coins)}")
    return f"{len(events)} events, each once, {retracted} of them retractions"


def follow_bcoin(of: LoadedChain, source: Source, seed: int) -> None:
    """Follow bcoin through blocks that are invalidated, and kills."""
    choice = random.Random(f"bitcoin {seed}")
    node = BitcoinCalls(source.url)
    store = of.new_store("followed")
    follower = Follower(store, source, "--from-block", "0")
    over = threading.Event()
    killer = threading.Thread(target=follower.kill_often, args=(_KILLS // 2, seed, over.is_set))
    killer.start()
    replaced = highest = 0
    for _ in range(_CHANGES // 2):
        if choice.random() < 0.4:
            depth = choice.choice([1, 1, 2, 4])
            node.invalidate(depth)
            node.mine(depth + choice.randint(0, 2), choice)
            replaced += depth
        else:
            node.mine(choice.randint(1, 3), choice)
        highest = max(highest, node.head())
        time.sleep(choice.uniform(0, 0.3))
    node.mine(highest - node.head() + 1, choice)
    over.set()
    killer.join()
    follower.start()
    last = node.head()
    wait_for("the follower is in step", lambda: _head(store, "bitcoin") == last)
    follower.end(signal.SIGINT)
    _compare(of, store, source, last, lambda blocks: node.mine(blocks, choice))
    say(
        f"bcoin: followed to block {last}; {replaced} blocks were invalidated and replaced, {follower.kills} kills: the "
        f"store equals a straight load, balances equal the node's"
    )


class BitcoinCalls:
    """Changes of the chain of a Bitcoin node, by its calls."""

    def __init__(self, url: str) -> None:
        self.url = url

    def _call(self, method: str, *parameters: Any) -> Any:  # noqa: ANN401
        return rpc(self.url, method, *parameters)

    def head(self) -> int:
        """Return the number of the newest block."""
        head: int = self._call("getblockcount")
        return head

    def mine(self, blocks: int, choice: random.Random) -> None:
        """Mine blocks, each to a new address."""
        for _ in range(blocks):
            # Keys that nobody needs: hashes of 20 random bytes in the form of the network.
            self._call("generatetoaddress", 1, address_of(choice.randbytes(20)))

    def invalidate(self, depth: int) -> None:
        """Take the last blocks out of the chain."""
        self._call("invalidateblock", self._call("getblockhash", self.head() - depth + 1))


def address_of(key: bytes) -> str:
    """Return the address of a hash of a key (P2PKH) on a test network, in Base58 with its checksum."""
    digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    body = b"\x6f" + key
    whole = int.from_bytes(body + hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4])
    text = ""
    while whole:
        whole, digit = divmod(whole, 58)
        text = digits[digit] + text
    return text


def _quantiles(seconds: list[float]) -> str:
    """Describe times by their median and the time that 99 of 100 took at most."""
    millis = sorted(1000 * second for second in seconds)
    return f"p50 {millis[len(millis) // 2]:.0f} ms, p99 {millis[len(millis) * 99 // 100]:.0f} ms of {len(millis)}"


def soak(tools: Tools, program: str, folder: Path, seconds: float) -> None:
    """Follow anvil for a time, a block each half second and now and then a reorganisation, and watch the memory."""
    folder.mkdir(exist_ok=True)
    with Anvil(tools) as node:
        filled = ethereum.fill(tools, node, folder, _BEGIN, 1)
        node.rpc("evm_setAutomine", False)
        store = Store(program, folder / "soak.store")
        command = store.command("follow", "--chain", "ethereum", "--rpc", node.source.url, "--from-block", "0")
        choice, end = random.Random("soak"), time.monotonic() + seconds
        log = (folder / "soak.log").open("wb")
        with subprocess.Popen(command, stdout=log, stderr=log) as process:
            memory, replaced, changes = [], 0, 0
            while time.monotonic() < end:
                replaced += _change_anvil(node, filled["tokens"], choice)
                changes += 1
                time.sleep(0.5)
                check(process.poll() is None, "the follower ended")
                memory.append(_resident(process.pid))
                if changes % 200 == 0:
                    say(f"soak: {changes} changes, block {node.head()}, {memory[-1] / 2**20:.1f} MiB")
            node.mine(20)
            last = node.head()
            wait_for("the follower is in step", lambda: _head(store, "ethereum") == last)
            process.send_signal(signal.SIGINT)
        reference = LoadedChain(program=program, folder=folder, last=last, store=store, digest="", seconds=0)
        # Without balances: anvil forgets its first states.
        _compare_content(reference, store, node.source, last, lambda blocks: node.mine(blocks))
        early, late = (sum(part) / len(part) / 2**20 for part in (memory[len(memory) // 10 :][:50], memory[-50:]))
        say(
            f"soak: {seconds:.0f} s, {changes} changes, {last} blocks, {replaced} replaced: the store equals a straight "
            f"load; anonymous memory {early:.1f} MiB after a tenth of the time, {late:.1f} MiB at the end"
        )


def _resident(process: int) -> int:
    """Return the anonymous memory of a process in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    _program, _packages, _seconds = sys.argv[1:]
    with tempfile.TemporaryDirectory() as _folder:
        soak(Tools(Path(_packages)), _program, Path(_folder, "soak"), float(_seconds))
