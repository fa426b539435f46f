"""Make the core lists of labels from their sources.

    python3 scripts/core_lists.py            # write the packed lists
    python3 scripts/core_lists.py --check    # fail if they differ from their sources

The sources are in rust/ingest/src/labels/core_lists/sources, with their licences; SOURCES.md there names origin, date and known
errors of each. This script applies the corrections and filters of SOURCES.md, and writes one file per list, in a format that
`headwater labels import` reads. Packed bytes may differ between versions of zlib: `--check` compares the contents.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path

CORE = Path(__file__).parent.parent / "rust" / "ingest" / "src" / "labels" / "core_lists"
SOURCES = CORE / "sources"
CONTRACTS = SOURCES / "contracts"

# The EVM chains of Headwater by chain id, with their names in the constants of Uniswap.
CHAINS = {"1": "ethereum", "56": "bsc"}
UNISWAP_CHAINS = {"MAINNET": "ethereum", "BNB": "bsc"}
ANY_EVM = "evm"
ZERO = "0x" + "0" * 40

Row = dict[str, str]


def text(path: Path) -> str:
    """Return the content of a file, unpacked."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def table(columns: list[str], rows: list[Row]) -> str:
    """Return a CSV of the rows, in order and each once."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    ordered = sorted({tuple(row.get(column, "") for column in columns) for row in rows})
    writer.writerows(dict(zip(columns, row, strict=True)) for row in ordered)
    return out.getvalue()


OFAC_PARTY = "https://sanctionssearch.ofac.treas.gov/Details.aspx?id="
OFAC_COLUMNS = ["chain", "address", "code", "entity", "name", "source_url", "asserted_at", "date_basis"]
# The date is that of the entity, and only "not later than" is shown for the address.
UNCONFIRMED = "entity_entry_unconfirmed"
# An id of a payment or transaction, which the list files as an address of Monero.
HEX_ID = re.compile(r"[0-9a-f]{64}")


def ofac() -> str:
    """Return OFAC's addresses with their dates, and those that it delisted."""
    listed = list(csv.DictReader(io.StringIO(text(SOURCES / "ofac-dates.csv"))))
    known = {row["address"] for row in json.loads(text(SOURCES / "ofac" / "all_addresses.json.gz"))["addresses"]}
    if {row["address"] for row in listed} != known:
        raise SystemExit("ofac-dates.csv and all_addresses.json have other addresses")
    rows = [
        {
            "chain": row["chain"],
            "address": row["address"],
            "code": "sanction",
            "entity": row["entity"],
            "source_url": OFAC_PARTY + row["ofac_uid"],
            "asserted_at": row["listed_on"],
            "date_basis": "entity" if row["basis"] == UNCONFIRMED else "address",
        }
        for row in listed
        if not HEX_ID.fullmatch(row["address"])
    ]
    delisted = csv.DictReader(io.StringIO(text(SOURCES / "ofac-delisted.csv")))
    rows += [
        {
            "chain": {"ETH": "ethereum", "BNB": "bnb_beacon"}[row["ticker"]],
            "address": row["address"],
            "code": "sanction_delisted",
            "entity": row["entity"],
            "name": f"On OFAC's list from {row['listed_on']} to {row['delisted_on']}",
            "asserted_at": row["delisted_on"],
            "date_basis": "address",
        }
        for row in delisted
    ]
    return table(OFAC_COLUMNS, rows)


# The pack calls the address of a fund an exchange; its title says cold wallets.
FUND = ("BITB_etf.yaml", "category: exchange", "category: cold_wallet")
ACTOR_FIELDS = ("id", "label", "categories", "aliases")


def actors() -> str:
    """Return the pack of actors with the fields that are read: names, aliases and categories."""
    kept: list[str] = []
    is_kept = True
    for line in text(SOURCES / "graphsense" / "actors" / "graphsense.actorpack.yaml.gz").splitlines():
        if line.startswith("%"):
            continue
        if field := re.match(r"(?:- |  )([a-z_]+):", line):
            is_kept = field[1] in ACTOR_FIELDS
        elif not line.startswith(" "):
            is_kept = True
        if is_kept:
            kept.append(line)
    return "\n".join(kept) + "\n"


def graphsense() -> str:
    """Return the TagPacks as documents of one file, the actors first."""
    packs = sorted((SOURCES / "graphsense" / "packs").rglob("*.yaml"))
    documents = []
    for pack in packs:
        content = text(pack)
        if pack.name == FUND[0]:
            if FUND[1] not in content:
                raise SystemExit(f"{pack}: {FUND[1]!r} is missing")
            content = content.replace(FUND[1], FUND[2])
        documents.append(content if content.startswith("---") else "---\n" + content)
    return actors() + "".join(content if content.endswith("\n") else content + "\n" for content in documents)


def words(name: str) -> str:
    """Return a name of code as words: `v3CoreFactoryAddress` is `v3 core factory`."""
    name = re.sub(r"^UNISWAP_|_?address(es)?$", "", name, flags=re.IGNORECASE)
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ")
    return re.sub(r"\s+", " ", spaced).strip().lower()


CONTRACT_COLUMNS = ["chain", "address", "code", "entity", "name"]

# Constants of others that Uniswap's interface uses.
NOT_UNISWAP = {"ENS_REGISTRAR_ADDRESSES", "ARGENT_WALLET_DETECTOR_ADDRESS", "UNI_ADDRESSES", "SOCKS_CONTROLLER_ADDRESSES"}


def uniswap() -> str:
    """Return Uniswap's contracts, and the wrapped coins that its interface names."""
    found: list[tuple[str, str, str]] = []
    core = text(CONTRACTS / "uniswap-sdk-core-addresses.ts")
    for part in re.split(r"\n(?=(?:export )?(?:const|function|type) )", core):
        declared = re.match(r"(?:export )?const (\w+)", part)
        if not declared or declared[1] in NOT_UNISWAP:
            continue
        constant = declared[1]
        of_chain = UNISWAP_CHAINS.get(constant.removesuffix("_ADDRESSES").replace("DEFAULT", "MAINNET"))
        if of_chain:
            found += [(of_chain, address, words(name)) for name, address in re.findall(r"(\w+): '(0x\w{40})'", part)]
        elif by_chain := re.findall(r"\[ChainId\.(\w+)\]: '(0x\w{40})'", part):
            found += [(UNISWAP_CHAINS[of], at, words(constant)) for of, at in by_chain if of in UNISWAP_CHAINS]
        elif single := re.search(r"(?:=|\(|\?\?)\s*'(0x\w{40})'", part):
            found.append(("ethereum", single[1], words(constant)))
    router = text(CONTRACTS / "uniswap-universal-router-constants.ts")
    proxy = re.search(r"SWAP_PROXY_DEPLOY_ADDRESS = '(0x\w{40})'", router)
    for chain_id, body in re.findall(r"\n  \[(\d+)\]: \{\n(.*?)\n  \},", router, re.DOTALL):
        if chain := CHAINS.get(chain_id):
            of_version = r"UniversalRouterVersion\.V(\w+)\]: \{\s*address: '(0x\w{40})'"
            found += [(chain, at, f"universal router {of.replace('_', '.')}") for of, at in re.findall(of_version, body)]
            if proxy and "swapProxy" in body:
                found.append((chain, proxy[1], "swap proxy"))
    rows = [
        {"chain": chain, "address": address, "code": "dex", "entity": "Uniswap", "name": f"Uniswap: {name}"}
        for chain, address, name in found
        if address != ZERO
    ]
    wrapped = re.findall(r"new Token\((\d+), '(0x\w{40})', 18, '\w+', '([^']+)'", text(CONTRACTS / "uniswap-weth9.ts"))
    rows += [
        {"chain": CHAINS[chain_id], "address": address, "name": name}
        for chain_id, address, name in wrapped
        if chain_id in CHAINS
    ]
    return table(CONTRACT_COLUMNS, rows)


# Contracts of Aave by the first word of their names; Chainlink and Misc are of others.
OF_AAVE = ("Aave", "Gho", "Governance", "Umbrella")
# Tokens of other issuers, and sources of prices of others.
NOT_AAVE = ("UNDERLYING", "ORACLE", "FEED")


def aave() -> str:
    """Return Aave's contracts. An address that also is a token or oracle of others is left out."""
    book = list(csv.DictReader(io.StringIO(text(CONTRACTS / "aave-address-book-safe.csv.gz"))))

    def is_of_aave(row: Row) -> bool:
        return row["name"].startswith(OF_AAVE) and not row["name"].endswith(NOT_AAVE)

    others = {(row["chainId"], row["address"].lower()) for row in book if not is_of_aave(row)}
    rows = [
        {
            "chain": CHAINS[row["chainId"]],
            "address": row["address"],
            "code": "defi",
            "entity": "Aave",
            "name": row["name"].replace("_", " "),
        }
        for row in book
        if row["chainId"] in CHAINS and is_of_aave(row) and (row["chainId"], row["address"].lower()) not in others
    ]
    return table(CONTRACT_COLUMNS, once(rows))


def once(rows: list[Row]) -> list[Row]:
    """Return one row per address and chain, the first by name."""
    first: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row["name"]):
        first.setdefault((row["chain"], row["address"].lower()), row)
    return list(first.values())


# Tokens, of which the first is of others.
TOKENS_OF_0X = ("etherToken", "zrxToken")


def zero_ex() -> str:
    """Return the contracts of 0x."""
    rows = []
    for chain_id, contracts in json.loads(text(CONTRACTS / "0x-contract-addresses.json")).items():
        named = {**contracts, **contracts.get("transformers", {})}
        rows += [
            {"chain": CHAINS[chain_id], "address": address, "code": "dex", "entity": "0x", "name": f"0x: {words(name)}"}
            for name, address in named.items()
            if chain_id in CHAINS and isinstance(address, str) and address != ZERO and name not in TOKENS_OF_0X
        ]
    return table(CONTRACT_COLUMNS, once(rows))


def safe() -> str:
    """Return the contracts of Safe that are on the chains of Headwater. They have no code: they belong to nobody's business."""
    rows = []
    for path in sorted((CONTRACTS / "safe").glob("*.json")):
        contract = json.loads(text(path))
        name = f"Safe: {contract['contractName']} {contract['version']}"
        for chain_id, chain in CHAINS.items():
            used = contract["networkAddresses"].get(chain_id, [])
            for deployment in [used] if isinstance(used, str) else used:
                address = contract["deployments"][deployment]["address"]
                rows.append({"chain": chain, "address": address, "entity": "Safe", "name": name})
    return table(CONTRACT_COLUMNS, rows)


def multicall3() -> str:
    """Return Multicall3, which has one address on all chains."""
    deployed = json.loads(text(CONTRACTS / "multicall3-deployments.json"))
    addresses = {row["url"].split("/address/")[1][:42] for row in deployed if str(row["chainId"]) in CHAINS}
    if len(addresses) != 1:
        raise SystemExit(f"Multicall3 has several addresses: {sorted(addresses)}")
    rows = [{"chain": ANY_EVM, "address": address, "entity": "Multicall3", "name": "Multicall3"} for address in addresses]
    return table(CONTRACT_COLUMNS, rows)


def entry_points() -> str:
    """Return the entry points of ERC-4337, which have one address on all chains."""
    points = re.findall(r"entryPoint(\d)(\d)Address =\s*'(0x\w{40})'", text(CONTRACTS / "viem-entrypoints.ts"))
    rows = [
        {"chain": ANY_EVM, "address": address, "entity": "ERC-4337", "name": f"EntryPoint {major}.{minor}"}
        for major, minor, address in points
    ]
    return table(CONTRACT_COLUMNS, rows)


LISTS = {
    "ofac.csv.gz": ofac,
    "mining_pools.json.gz": lambda: text(SOURCES / "mempool" / "pools-v2.json"),
    "graphsense.yaml.gz": graphsense,
    "uniswap.csv.gz": uniswap,
    "aave.csv.gz": aave,
    "zero_ex.csv.gz": zero_ex,
    "safe.csv.gz": safe,
    "multicall3.csv.gz": multicall3,
    "entry_points.csv.gz": entry_points,
}


def main() -> None:
    """Write the lists whose contents have changed, or fail where one has."""
    changed = []
    for name, make in LISTS.items():
        path, content = CORE / name, make()
        if path.exists() and text(path) == content:
            continue
        changed.append(name)
        if "--check" not in sys.argv[1:]:
            path.write_bytes(gzip.compress(content.encode(), 9, mtime=0))
            print(f"{path}: {path.stat().st_size} bytes")
    if changed and "--check" in sys.argv[1:]:
        raise SystemExit(f"not as their sources: {', '.join(changed)}; run python3 scripts/core_lists.py")


if __name__ == "__main__":
    main()
