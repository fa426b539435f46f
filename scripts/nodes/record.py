"""Records blocks of a node as files, without Headwater: the answers of the node as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.session import rpc


@dataclass(frozen=True)
class Block:
    """The answers of a node about a block."""

    block: dict[str, Any]
    receipts: list[dict[str, Any]]
    traces: list[dict[str, Any]]

    def addresses(self) -> Iterator[str | None]:
        """Return all accounts that the block names; none for the receiver of a creation."""
        yield self.block["miner"]
        for transaction in self.block["transactions"]:
            yield from (transaction["from"], transaction["to"])
        yield from (log["address"] for receipt in self.receipts for log in receipt["logs"])
        for trace in self.traces:
            yield from (trace["action"].get(key) for key in ("from", "to", "address", "refundAddress"))
            yield (trace.get("result") or {}).get("address")

    def tips(self) -> int:
        """Return the part of the fees that the producer of the block gets."""
        base = int(self.block["baseFeePerGas"], 16)
        each = ((int(receipt["gasUsed"], 16), int(receipt["effectiveGasPrice"], 16)) for receipt in self.receipts)
        return sum(gas * (price - base) for gas, price in each)


def record(url: str, last: int) -> list[Block]:
    """Ask for the blocks from the first to the last one."""
    return [
        Block(
            rpc(url, "eth_getBlockByNumber", hex(number), True),
            rpc(url, "eth_getBlockReceipts", hex(number)),
            rpc(url, "trace_block", hex(number)) or [],
        )
        for number in range(last + 1)
    ]


def write(blocks: list[Block], file: Path) -> None:
    """Write one answer a line."""
    with file.open("w") as out:
        for recorded in blocks:
            for answer in (recorded.block, recorded.receipts, recorded.traces):
                # An empty list is not an answer of a known kind.
                if answer:
                    print(json.dumps(answer, separators=(",", ":")), file=out)


def write_genesis(accounts: list[str], amount: int, file: Path) -> None:
    """Write the coins that accounts begin with, as ethereum-etl does."""
    columns = (
        "transaction_hash,block_number,transaction_index,from_address,to_address,value,input,output,trace_type,call_type,"
        "reward_type,gas,gas_used,subtraces,trace_address,error,status,trace_id"
    )
    rows = (f",0,,,{account.lower()},{amount},,,genesis,,,,,0,,,1,genesis_{account.lower()}" for account in accounts)
    file.write_text("\n".join([columns, *rows, ""]))
