"""Make calls of every kind with the client of openapi-python-client."""

from __future__ import annotations

import os
import uuid
from decimal import Decimal
from typing import TypeVar

from headwater_client import AuthenticatedClient
from headwater_client.api.assets_and_market_data import chains, rates
from headwater_client.api.events import list_webhooks
from headwater_client.api.on_chain_data import (
    counterparty_list,
    token_holders,
    transaction,
    transactions,
    wallet_overview,
)
from headwater_client.api.risk_and_intelligence import address_risk, labels
from headwater_client.api.system import usage
from headwater_client.models import (
    AddressRiskRequest,
    Chain,
    ChainOrEvm,
    Details,
    ErrorEnvelope,
    FilterCriteria,
    LabelledAddresses,
    LevelName,
    Sign,
    TransactionInclude,
    TransactionsRequest,
    TransferRow,
    WalletOverviewRequest,
)
from headwater_client.types import Unset

ADDRESS = "0x8595aa61151393bb3126d8a839e009d066b4b9d3"
OTHER = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221"
ETHEREUM = Chain.ETHEREUM

Envelope = TypeVar("Envelope")


def connected(key: str) -> AuthenticatedClient:
    """Return a client with this key."""
    return AuthenticatedClient(os.environ["URL"], token=key, prefix="", auth_header_name="X-API-Key")


def success(answer: Envelope | ErrorEnvelope | None) -> Envelope:
    """Return the answer of a call that succeeded."""
    assert answer is not None
    assert not isinstance(answer, ErrorEnvelope), answer
    return answer


client = connected(os.environ["KEY"])

# A success.
held = success(chains.sync(client=client))
assert any(one.chain == ETHEREUM and one.native_decimals == 18 for one in held.data.chains)
assert held.meta.credit_cost == 0

# A list of a POST, continued by its cursor; amounts are decimal text.
rows: list[TransferRow] = []
cursor: str | None = None
for _ in range(2):
    page = success(
        transactions.sync(client=client, body=TransactionsRequest(ETHEREUM, ADDRESS, limit=3, cursor=cursor))
    )
    rows += page.data.datas
    cursor = page.data.pagination.next_cursor
assert len({row.id for row in rows}) == 6
amount: str | None = rows[0].amount
assert amount is not None
assert Decimal(amount) >= 0

# A list of a GET, continued by its cursor.
first = success(counterparty_list.sync(client=client, address=ADDRESS, blockchain=ETHEREUM, limit=2))
assert first.data.next_cursor is not None
second = success(
    counterparty_list.sync(client=client, address=ADDRESS, blockchain=ETHEREUM, limit=2, cursor=first.data.next_cursor)
)
assert second.data.datas[0].address != first.data.datas[0].address

# Lists of parameters.
prices = success(rates.sync(client=client, symbols=["eth", "usdt"]))
assert [rate.symbol for rate in prices.data.rates] == ["eth", "usdt"]
labelled = success(labels.sync(client=client, blockchain=ETHEREUM, addresses=[ADDRESS, OTHER])).data
assert isinstance(labelled, LabelledAddresses)
assert [one.address for one in labelled.results] == [ADDRESS, OTHER]

# A part of the path, and a list of values that have names.
include = [TransactionInclude.LOGS, TransactionInclude.INPUT]
found = success(transaction.sync(rows[0].tx_hash, client=client, include=include))
assert found.data.tx_hash == rows[0].tx_hash

# An amount range in decimal text, and a value that the description names.
ranges = [FilterCriteria("usdt", min_value="100.5", sign=Sign.PLUS)]
success(transactions.sync(client=client, body=TransactionsRequest(ETHEREUM, ADDRESS, filter_criterias=ranges)))

# A call that is repeated under its key is paid once.
body = WalletOverviewRequest(ETHEREUM, ADDRESS)
key = str(uuid.uuid4())
paid = success(wallet_overview.sync(client=client, body=body, idempotency_key=key))
again = wallet_overview.sync_detailed(client=client, body=body, idempotency_key=key)
assert again.headers["Idempotent-Replayed"] == "true"
assert success(again.parsed).meta.request_id == paid.meta.request_id

# A judgement, whose level is one of three words.
risk = success(address_risk.sync(client=client, body=AddressRiskRequest(ChainOrEvm.EVM, ADDRESS)))
level: LevelName = risk.data.risk_level
assert level in LevelName

# Errors with their bodies.
refused = token_holders.sync_detailed(client=client, blockchain=ETHEREUM, contract="0x12")
assert refused.status_code == 400
assert isinstance(refused.parsed, ErrorEnvelope)
assert refused.parsed.error.code == "bad_request"
details = refused.parsed.error.details
assert isinstance(details, Details)
assert not isinstance(details.field, Unset)
assert details.field == "contract"
unknown = usage.sync(client=connected("hw_live_no"))
assert isinstance(unknown, ErrorEnvelope)
assert unknown.error.code == "unauthorized"

# A list of the gateway itself.
assert success(list_webhooks.sync(client=client, limit=5)).data == []

# A list as CSV and as Parquet: the client of httpx below takes any media type.
body_of_list = TransactionsRequest(ETHEREUM, ADDRESS, limit=3).to_dict()
http = client.get_httpx_client()
csv = http.post("/v1/transactions", json=body_of_list, headers={"Accept": "text/csv"})
assert len(csv.text.splitlines()) == 4
assert csv.headers["X-Next-Cursor"]
parquet = http.post("/v1/transactions", json=body_of_list, headers={"Accept": "application/vnd.apache.parquet"})
assert parquet.content[:4] == b"PAR1"

print("openapi-python-client: 16 calls")
