"""The gateway as a client of the demo economy meets it, started from the installed wheel."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import headwater as hw
import pytest
from conftest import Served, headwater, serve, stop


@pytest.fixture(scope="module")
def gateway(demo: Path) -> Iterator[Served]:
    served = serve(demo, credits=12)
    yield served
    stop(served)


def test_credits_are_charged_on_success_only_and_never_overdrawn(gateway: Served, demo: Path) -> None:
    status, body, headers = gateway.call("GET", "/v1/chains")
    assert (status, headers["X-Credit-Cost"], headers["X-Credit-Remaining"]) == (200, "0", "12")
    assert [chain["chain"] for chain in body["data"]["chains"]] == ["bitcoin", "bsc", "ethereum", "tron"]

    prefix = hw.open(demo).query("addresses/autocomplete", q="0x000", chain="ethereum").data
    address = (prefix["candidates"] or ["0x" + "11" * 20])[0]
    request = {"blockchain": "ethereum", "address": address}
    status, body, headers = gateway.call("POST", "/v1/transactions", {**request, "limit": 5000})
    assert (status, body["error"]["code"], body["error"]["details"]["reason"]) == (
        400,
        "bad_request",
        "limit_out_of_range",
    )
    assert (headers["X-Credit-Cost"], headers["X-Credit-Remaining"]) == ("0", "12")

    for remaining in ("7", "2"):
        status, body, headers = gateway.call("POST", "/v1/transactions", request)
        assert (status, headers["X-Credit-Cost"], headers["X-Credit-Remaining"]) == (200, "5", remaining)
        assert body["meta"]["credit_remaining"] == int(remaining)
        assert body["meta"]["request_id"] == headers["X-Request-Id"]
    status, body, headers = gateway.call("POST", "/v1/transactions", request)
    assert (status, body["error"]["code"], headers["X-Credit-Remaining"]) == (402, "insufficient_credit", "2")


def test_a_key_is_needed_and_a_revoked_one_is_refused(gateway: Served, demo: Path) -> None:
    assert gateway.call("GET", "/v1/chains", key="")[0] == 401
    assert gateway.call("GET", "/v1/chains", key="hw_live_00000000_nonsense")[0] == 401
    made = json.loads(headwater("keys", "create", "--store", demo, "--name", "x", "--credits", "1", "--json").stdout)
    # The gateway looks for keys made or revoked beside it about once a second.
    assert eventually(gateway, made["key"], 200), "a key made beside the running gateway was not seen"
    headwater("keys", "revoke", "--store", demo, made["id"])
    assert eventually(gateway, made["key"], 401), "a revoked key still works"


def eventually(gateway: Served, key: str, status: int) -> bool:
    """Return whether the gateway answers so within ten seconds."""
    for _ in range(100):
        if gateway.call("GET", "/v1/chains", key=key)[0] == status:
            return True
        time.sleep(0.1)
    return False


def test_errors_are_json_with_an_id_whatever_is_asked(gateway: Served) -> None:
    for method, path, status, code in [
        ("GET", "/nowhere", 404, "not_found"),
        ("DELETE", "/v1/chains", 405, "method_not_allowed"),
        ("POST", "/v1/resolve", 415, "unsupported_media_type"),
    ]:
        got, body, headers = gateway.call(method, path)
        assert (got, body["error"]["code"]) == (status, code)
        assert headers["X-Request-Id"]


def test_the_description_names_every_endpoint(gateway: Served) -> None:
    status, document, _ = gateway.call("GET", "/api-docs/openapi.json")
    assert status == 200
    assert document["openapi"].startswith("3.1")
    for path in ("/v1/transactions", "/v1/transaction/{hash}", "/v1/counterparty", "/v1/addresses/resolve", "/healthz"):
        assert path in document["paths"]


def test_verify_finds_nothing_wrong_and_stats_count(demo: Path) -> None:
    headwater("verify", "--store", demo)
    stats = json.loads(headwater("stats", "--store", demo, "--json").stdout)
    assert stats
    assert headwater("query", "nonsense", "--store", demo, check=False).returncode == 2
    assert headwater("stats", "--store", demo / "absent", check=False).returncode == 1
