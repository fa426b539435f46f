"""A ledger over a server that refuses, is silent, breaks off or is something else."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
import traceback
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import headwater as hw
import numpy as np
import pytest
from conftest import free_port
from headwater import _place, examples
from headwater.examples import ALICE, BOB
from stub_server import Handler, Stub, connect, in_turn, lines_of


def test_a_limit_is_waited_for_as_long_as_the_server_says(stub: Stub) -> None:
    stub.script = in_turn("429 1", "429 1", "200")
    start = time.monotonic()
    report = connect(stub).wallet(ALICE)
    assert isinstance(report, hw.Report)
    assert report.answer == 2
    assert time.monotonic() - start >= 2.0
    keys = {asked.repetition_key for asked in stub.asked}
    assert len(stub.asked) == 3
    assert len(keys) == 1
    assert None not in keys


@pytest.mark.parametrize("lost", ["502 0", "503 0", "504 0", "nothing", "half", "page"])
def test_a_lost_answer_is_asked_for_again_under_the_same_key(stub: Stub, lost: str) -> None:
    stub.script = in_turn(lost, lost, "200")
    ledger = connect(stub)
    report = ledger.wallet(ALICE)
    assert isinstance(report, hw.Report)
    assert report.answer == 2
    assert len({(asked.repetition_key, asked.body) for asked in stub.asked}) == 1
    assert stub.asked[0].repetition_key
    # An answer that never arrived whole is not counted.
    assert ledger.credits == hw.Credits(5, 5, 7)
    stub.script = in_turn("200")
    ledger.wallet(ALICE)
    assert stub.asked[-1].repetition_key != stub.asked[0].repetition_key


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, hw.InvalidInput),
        (401, hw.Unauthorized),
        (402, hw.InsufficientCredit),
        (403, hw.Forbidden),
        (404, hw.NotFound),
        (405, hw.ServerError),
        (406, hw.InvalidInput),
        (409, hw.Conflict),
        (413, hw.InvalidInput),
        (415, hw.InvalidInput),
        (500, hw.InternalError),
    ],
)
def test_what_no_repetition_changes_is_said_at_once(stub: Stub, status: int, kind: type[hw.HeadwaterError]) -> None:
    stub.script = in_turn(f"{status} 1")
    with pytest.raises(hw.HeadwaterError) as caught:
        connect(stub).wallet(ALICE)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason, caught.value.field) == (status, "some_reason", "address")
    assert len(stub.asked) == 1


def test_tries_and_patience_are_bounded(stub: Stub) -> None:
    stub.script = in_turn("502 0")
    with pytest.raises(hw.Unavailable):
        connect(stub, retries=3).wallet(ALICE)
    assert len(stub.asked) == 4
    stub.asked.clear()
    stub.script = in_turn("429 3600")
    start = time.monotonic()
    with pytest.raises(hw.RateLimited) as caught:
        connect(stub).wallet(ALICE)
    assert (len(stub.asked), caught.value.retry_after, caught.value.reason) == (1, 3600.0, "some_reason")
    assert time.monotonic() - start < 5
    stub.asked.clear()
    with pytest.raises(hw.RateLimited):
        connect(stub, retries=0).wallet(ALICE)
    # What is tried once may still be sent twice, over a kept connection that had ended.
    assert [asked.repetition_key is not None for asked in stub.asked] == [True]


def test_free_calls_are_tried_again_without_a_key(stub: Stub) -> None:
    stub.script = in_turn("nothing", "502 0", "200")
    assert connect(stub).chains().answer == 2
    assert [asked.repetition_key for asked in stub.asked] == [None] * 3
    stub.asked.clear()
    stub.script = in_turn("nothing", "200")
    connect(stub).price_history("eth")
    assert len({asked.repetition_key for asked in stub.asked} - {None}) == 1


def test_silence_ends_after_the_timeout(stub: Stub) -> None:
    stub.script = in_turn("silence")
    start = time.monotonic()
    with pytest.raises(hw.TimedOut) as caught:
        connect(stub, timeout=0.5, retries=1).wallet(ALICE)
    assert isinstance(caught.value, TimeoutError)
    assert (len(stub.asked), caught.value.status) == (2, None)
    assert time.monotonic() - start < 2.9
    # Patience ends a try, too.
    start = time.monotonic()
    with pytest.raises(hw.TimedOut):
        connect(stub, timeout=30.0, patience=0.5).wallet(ALICE)
    assert time.monotonic() - start < 2.0


def test_connect_timeout_names_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_place, "_CONNECT_SECS", 0.3)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # Nobody accepts them, so that there is no room for another.
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        time.sleep(0.1)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with pytest.raises(hw.TimedOut, match=f"^no connection to {url} within 0.3 s$") as caught:
            hw.connect(url, "k", retries=0, timeout=75).wallet(ALICE)
        assert caught.value.reason == "timeout"
        for each in waiting:
            each.close()


def test_an_answer_that_trickles_ends_after_the_timeout(stub: Stub) -> None:
    def trickle(handler: Handler, _: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(60):
            try:
                handler.wfile.write(b" ")
            except OSError:
                break
            time.sleep(0.1)
        handler.hang_up()

    stub.script = trickle
    start = time.monotonic()
    with pytest.raises(hw.TimedOut):
        connect(stub, timeout=1.0, retries=0).wallet(ALICE)
    assert time.monotonic() - start < 5


def test_what_is_not_headwater_is_named(stub: Stub) -> None:
    stub.script = lambda handler, _: handler.send(200, b"<h1>Log in</h1>", {"Content-Type": "text/html"})
    with pytest.raises(hw.ServerError, match="Log in"):
        connect(stub).wallet(ALICE)
    stub.script = lambda handler, _: handler.send(302, b"", {"Location": "http://elsewhere.example/"})
    with pytest.raises(hw.ServerError, match=r"elsewhere\.example") as caught:
        connect(stub).wallet(ALICE)
    assert (caught.value.status, caught.value.reason) == (302, "redirect")
    assert len(stub.asked) == 2
    there = {"Location": "https://elsewhere.example/at/v1/wallet-overview"}
    stub.script = lambda handler, _: handler.send(308, b"", there)
    with pytest.raises(hw.ServerError, match=r"connect to 'https://elsewhere\.example/at'$"):
        connect(stub).wallet(ALICE)
    with pytest.raises(hw.Unavailable, match="cannot be reached"):
        hw.connect(f"http://127.0.0.1:{free_port()}", "k", retries=1).chains()
    with pytest.raises(hw.Unavailable) as unknown:
        hw.connect("http://no-such-host.invalid", "k").chains()
    assert unknown.value.reason in {"unknown_host", "connection"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"x":1}',
        b'{"data":{"chains":[',
        b'{"\xff":1}',
        b"[1]",
        b"",
        b'{"data":[],"meta":{}}',
        b'{"data":{}}',
        b'{"data":' + b"[" * 100_000,
    ],
)
def test_foreign_json_is_a_server_error(stub: Stub, body: bytes) -> None:
    stub.script = lambda handler, _: handler.send(200, body, {"Content-Type": "application/json"})
    asks: list[Callable[[hw.RemoteLedger], object]] = [
        lambda ledger: ledger.chains(),
        lambda ledger: ledger.wallet([ALICE, BOB]),
        # A list asks for lines.
        lambda ledger: ledger.read_all("registry"),
    ]
    for ask in asks:
        with pytest.raises(hw.ServerError, match="is not Headwater") as caught:
            ask(connect(stub))
        assert (caught.value.status, caught.value.reason) == (200, "foreign_answer")


def test_a_refusal_with_details_of_another_kind_is_still_one(stub: Stub) -> None:
    body = json.dumps({"error": {"code": "bad_request", "message": "no", "details": ["x"]}}).encode()
    stub.script = lambda handler, _: handler.send(400, body, {"Content-Type": "application/json"})
    with pytest.raises(hw.InvalidInput, match="no"):
        connect(stub).chains()


@pytest.mark.parametrize("status", [400, 500])
def test_a_refusal_nested_without_end_is_a_server_error(stub: Stub, status: int) -> None:
    body = b'{"error":' * 100_000
    stub.script = lambda handler, _: handler.send(status, body, {"Content-Type": "application/json"})
    with pytest.raises(hw.ServerError, match="is not Headwater"):
        connect(stub).chains()


def test_headers_whose_numbers_cannot_be_meant_are_passed_over(stub: Stub) -> None:
    endless = "9" * 5000
    stub.script = lambda handler, _: handler.success(X_Credit_Cost=endless, X_Credit_Remaining=endless)
    ledger = connect(stub)
    assert ledger.query("chains").data == {}
    assert ledger.credits == hw.Credits(None, 0, None)
    head = {"Content-Type": "application/x-ndjson", "X-Total-Count": endless, "X-As-Of-Block": endless}
    stub.script = lambda handler, _: handler.send(200, lines_of(1), head)
    assert ledger.read_all("registry").height == 1


def test_key_is_absent_from_variables_of_an_error_report(stub: Stub) -> None:
    stub.script = in_turn("nothing")
    proxy = f"http://user:secret_pass@127.0.0.1:{free_port()}"
    for options in ({}, {"proxy": proxy}):
        with pytest.raises(hw.Unavailable) as caught:
            connect(stub, retries=0, **options).chains()
        reported = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        # This test holds both: what counts are the frames below it.
        frames = [
            each for each in "".join(reported.format()).split('  File "') if Path(__file__).name not in each[:200]
        ]
        assert any("_http.py" in each for each in frames)
        assert [each for each in frames if "hw_test_key" in each or "secret_pass" in each] == []


def test_parameters_of_a_get_keep_their_type(stub: Stub) -> None:
    ledger = connect(stub)
    ledger.query("rates", symbols=["eth", "usdt"], at=5, detail=True)
    ledger.query("transaction", hash="0x1", include=[])
    assert [asked.path for asked in stub.asked] == [
        "/v1/rates?symbols=eth%2Cusdt&at=5&detail=true",
        "/v1/transaction/0x1",
    ]
    refused: list[tuple[str, dict[str, Any], str, str]] = [
        ("rates", {"symbols": []}, "empty_list", "symbols"),
        ("rates", {"symbols": 5}, "invalid_type", "symbols"),
        ("rates", {"symbols": {"a": 1}}, "invalid_type", "symbols"),
        ("rates", {"symbols": ["eth", None]}, "invalid_type", "symbols[1]"),
        ("rates", {"symbols": ["eth", 5]}, "invalid_type", "symbols[1]"),
        ("rates", {"symbols": ["eth,usdt"]}, "invalid_value", "symbols[0]"),
        ("rates", {"symbols": "eth", "at": [5]}, "invalid_type", "at"),
        ("rates/history", {"symbol": ["eth"]}, "invalid_type", "symbol"),
        ("token/holders", {"contract": [None]}, "invalid_type", "contract"),
        ("assets", {"chain": {"a": 1}}, "invalid_type", "chain"),
    ]
    near = examples.ledger()
    for endpoint, fields, reason, field in refused:
        with pytest.raises(hw.InvalidInput) as caught:
            ledger.query(endpoint, fields)
        assert (caught.value.reason, caught.value.field) == (reason, field)
        if reason != "invalid_value":
            with pytest.raises(hw.InvalidInput) as store:
                near.query(endpoint, fields)
            assert (store.value.reason, store.value.field) == (reason, field)
    assert len(stub.asked) == 2


def test_a_server_behind_a_path_is_asked_there(stub: Stub) -> None:
    ledger = hw.connect(f"{stub.url}/chain/data/", "k")
    ledger.transaction("0x/../1", blockchain="ethereum")
    ledger.autocomplete("0xé &", chain="bsc")
    assert [asked.path for asked in stub.asked] == [
        "/chain/data/v1/transaction/0x%2F..%2F1?blockchain=ethereum",
        "/chain/data/v1/addresses/autocomplete?q=0x%C3%A9+%26&chain=bsc",
    ]


def test_invalid_addresses_keys_and_numbers_are_refused() -> None:
    for url in (
        "headwater.example",
        "ftp://x",
        "http://",
        "http://x:99999",
        "http://x:0",
        "http://user:secret@x",
        "http://x/?a=1",
        "http://x#a",
        "http://x y",
        "http://a..b",
        "http://.example",
        f"http://{'a' * 70}.example",
    ):
        with pytest.raises(hw.InvalidInput) as caught:
            hw.connect(url, "k")
        assert caught.value.field == "url"
        assert "secret" not in str(caught.value)
    for url in ("http://x/v1", "http://x/at/v2/"):
        with pytest.raises(hw.InvalidInput, match=r"connect to http://x(/at)?$") as caught:
            hw.connect(url, "k")
        assert caught.value.field == "url"
    for key in ("", " k", "k\r\nX: y", "k\n", "ké"):
        with pytest.raises(hw.InvalidInput) as caught:
            hw.connect("http://x", key)
        assert caught.value.field == "api_key"
    for name, value in (
        *(("timeout", value) for value in (0, -1, float("inf"), float("nan"), 1e9, "x", None, True)),
        *(("patience", value) for value in (0, float("inf"), None)),
        *(("retries", value) for value in (-1, 1.5, "1", None)),
        *(("parallel", value) for value in (0, 65, 2.0, None)),
    ):
        with pytest.raises(hw.InvalidInput, match=rf"^{name}: .*expected (seconds|a number)") as caught:
            hw.connect("http://x", "k", **{name: value})  # type: ignore[arg-type]
        assert caught.value.field == name
    asks: dict[str, Callable[[], object]] = {
        "url": lambda: hw.connect(None, "k"),  # type: ignore[arg-type]
        "api_key": lambda: hw.connect("http://x", 5),  # type: ignore[arg-type]
        "proxy": lambda: hw.connect("http://x", "k", proxy=5),  # type: ignore[arg-type]
        "tls": lambda: hw.connect("https://x", "k", tls=5),  # type: ignore[arg-type]
    }
    for field, ask in asks.items():
        with pytest.raises(hw.InvalidInput, match=f"^{field}: expected") as caught:
            ask()
        assert caught.value.field == field
    assert hw.connect("http://x", "k", timeout=np.float32(1), retries=np.int64(0))
    with pytest.raises(hw.InvalidInput, match="certificates"):
        hw.connect("https://x", "k", tls="/no/such/file")


def test_proxies_are_used_when_asked_for_only(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", stub.url.replace("http://", "http://user:pass@"))
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(hw.Unavailable):
        hw.connect("http://no-such-host.invalid", "k", retries=0).chains()
    assert stub.asked == []
    for proxy in ("environment", stub.url):
        hw.connect("http://no-such-host.invalid:81/at", "k", proxy=proxy).chains()
        assert stub.asked[-1].path == "http://no-such-host.invalid:81/at/v1/chains"
        assert stub.asked[-1].headers["host"] == "no-such-host.invalid:81"
    assert [asked.headers.get("proxy-authorization") for asked in stub.asked] == ["Basic dXNlcjpwYXNz", None]


def test_the_environment_names_proxies_as_for_other_programs(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    url = "http://no-such-host.invalid:81"
    for name, value in (("http_proxy", stub.url.removeprefix("http://")), ("all_proxy", stub.url)):
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            hw.connect(url, "k", proxy="environment").chains()
            assert stub.asked.pop().path == f"{url}/v1/chains"
            for excepted in ("no-such-host.invalid", "no-such-host.invalid:81", ".invalid"):
                environment.setenv("no_proxy", excepted)
                with pytest.raises(hw.Unavailable):
                    hw.connect(url, "k", proxy="environment", retries=0).chains()
    assert stub.asked == []


def test_a_server_without_tls_is_not_asked_again(stub: Stub) -> None:
    start = time.monotonic()
    with pytest.raises(hw.Unavailable, match="does not speak TLS") as caught:
        hw.connect(stub.url.replace("http:", "https:"), "k").chains()
    assert (caught.value.reason, time.monotonic() - start < 3) == ("tls", True)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 that nobody else vouches for, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("left out: there is no openssl to make a certificate with")
    path = tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(tmp_path / "key.pem"), "-out", str(path)]
    subprocess.run(made, check=True, capture_output=True)
    return path


def test_certificates_are_checked(certificate: Path) -> None:
    stub = Stub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("StubHandler", (Handler,), {"stub": stub}))
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    port = server.server_address[1]
    try:
        start = time.monotonic()
        with pytest.raises(hw.Unavailable) as caught:
            hw.connect(f"https://127.0.0.1:{port}", "k").chains()
        # No later try would find another certificate.
        assert (caught.value.reason, time.monotonic() - start < 5) == ("certificate", True)
        assert stub.asked == []
        for trusted in (certificate, ssl.create_default_context(cafile=certificate)):
            hw.connect(f"https://127.0.0.1:{port}", "k", tls=trusted).chains()
        assert len(stub.asked) == 2
        with pytest.raises(hw.Unavailable):
            hw.connect(f"https://localhost:{port}", "k", tls=certificate).chains()
    finally:
        server.shutdown()
        server.server_close()


def test_refused_connection_is_retried_until_the_server_is_back(stub: Stub) -> None:
    # A port that is bound and listens to nobody yet, as that of a server that starts anew.
    with socket.socket() as waiting:
        waiting.bind(("127.0.0.1", 0))
        port = waiting.getsockname()[1]
        ledger = hw.connect(f"http://127.0.0.1:{port}", "k", timeout=5, patience=20)

        def answer() -> None:
            time.sleep(0.6)
            waiting.listen()
            connection, _ = waiting.accept()
            connection.recv(65536)
            body = b'{"data":{"chains":[]},"meta":{}}'
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        assert ledger.chains().rows == []
        thread.join()
