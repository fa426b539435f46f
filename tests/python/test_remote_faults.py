"""What a ledger over a server does when the server refuses, is silent, breaks off or is something else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import headwater as hw
import numpy as np
import polars as pl
import pytest
from conftest import free_port
from headwater.examples import ALICE, BOB, SHOP
from stub_server import Handler, Stub, stub_server


@pytest.fixture
def stub() -> Iterator[Stub]:
    with stub_server() as stub:
        yield stub


def connect(stub: Stub, **options: Any) -> hw.RemoteLedger:  # noqa: ANN401
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
    # What is asked once needs no key.
    assert [asked.repetition_key for asked in stub.asked] == [None]


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
    assert caught.value.status == 302
    assert len(stub.asked) == 2
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
def test_an_answer_in_json_that_is_not_headwaters_is_a_server_error(stub: Stub, body: bytes) -> None:
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


@pytest.mark.parametrize("body", [b"<h1>Log in</h1>\n", b'{"symbol": \n', b"\xff\n"])
def test_lines_that_are_no_rows_are_a_server_error_and_leave_no_file(stub: Stub, body: bytes, tmp_path: Path) -> None:
    stub.script = lambda handler, _: handler.send(200, body, {"Content-Type": "application/x-ndjson"})
    with pytest.raises(hw.ServerError, match="is not Headwater"):
        connect(stub).write("registry", tmp_path / "rows.csv")
    assert list(tmp_path.iterdir()) == []


def test_connections_are_kept_and_a_stale_one_is_replaced(stub: Stub) -> None:
    ledger = connect(stub, retries=0)
    for _ in range(20):
        ledger.wallet(ALICE)
    assert len({asked.client for asked in stub.asked}) == 1

    def close_after(handler: Handler, _: int) -> None:
        # As a server does whose keep-alive time ends: without a word in the answer before.
        handler.success()
        handler.hang_up()

    stub.script = close_after
    for _ in range(5):
        ledger.wallet(ALICE)
        time.sleep(0.05)
    with ledger:
        ledger.wallet(ALICE)
    # A closed ledger opens a new connection.
    ledger.wallet(ALICE)


def test_many_addresses_are_asked_about_at_once_within_a_bound(stub: Stub) -> None:
    def slow(handler: Handler, _: int) -> None:
        time.sleep(0.1)
        handler.success({"address": json.loads(stub_body(stub, handler))["address"]})

    stub.script = slow
    addresses = [f"0x{number:040x}" for number in range(24)]
    reports = connect(stub, parallel=3).wallet(addresses)
    assert isinstance(reports, hw.Reports)
    assert [report.address for report in reports] == addresses
    assert stub.most_under_way == 3
    assert len({asked.client for asked in stub.asked}) == 3


def stub_body(stub: Stub, handler: Handler) -> bytes:
    """The body of the request that a handler answers."""
    with stub.lock:
        return next(asked.body for asked in reversed(stub.asked) if asked.client == handler.client_address)


def test_all_threads_keep_off_while_a_limit_is_used_up(stub: Stub) -> None:
    times: list[float] = []

    def limited(handler: Handler, number: int) -> None:
        with stub.lock:
            times.append(time.monotonic())
        # The server says so before it has to refuse.
        told = {"RateLimit": '"medium";r=0;t=1'} if number == 0 else {}
        handler.success(**told)

    stub.script = limited
    ledger = connect(stub, parallel=4)
    ledger.wallet(ALICE)
    ledger.wallet([ALICE, BOB, SHOP])
    assert min(times[1:]) - times[0] >= 0.95


def test_the_first_failure_ends_the_others(stub: Stub) -> None:
    def script(handler: Handler, number: int) -> None:
        if number == 2:
            handler.refuse(402, "insufficient_credit")
        elif number < 2:
            handler.success()
        else:
            handler.refuse(429, "too_many_requests", "rate_limited", Retry_After="5")

    stub.script = script
    start = time.monotonic()
    with pytest.raises(hw.InsufficientCredit):
        connect(stub, parallel=2).wallet([f"0x{number:040x}" for number in range(50)])
    assert time.monotonic() - start < 4
    time.sleep(0.2)
    assert len(stub.asked) < 8


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let interrupts through: a shell that starts the tests in its background has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_what_is_under_way(stub: Stub) -> None:
    stub.script = in_turn("silence")
    ledger = connect(stub, timeout=30.0, patience=60.0, parallel=2)
    for asked in (ALICE, [ALICE, BOB, SHOP]):
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), 2))
        timer.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            ledger.wallet(asked)
        assert time.monotonic() - start < 2.5
    stub.script = in_turn("200")
    assert ledger.wallet(ALICE)


def lines_of(*numbers: int) -> bytes:
    """Rows of a registry."""
    return b"".join(json.dumps({"chain": "ethereum", "symbol": f"s{number}"}).encode() + b"\n" for number in numbers)


def test_a_list_that_breaks_off_is_read_anew_and_each_row_stands_once(stub: Stub, tmp_path: Path) -> None:
    page = {"Content-Type": "application/x-ndjson", "X-Credit-Cost": "5", "X-As-Of-Block": "9"}

    def script(handler: Handler, number: int) -> None:
        match number:
            case 0:
                handler.send(200, lines_of(1, 2), {**page, "X-Next-Cursor": "there"})
            case 1:
                handler.send(200, lines_of(3), page, length=1000)
            case _:
                handler.send(200, lines_of(3, 4), {**page, "X-Warnings": "unknown_field:colour"})

    stub.script = script
    ledger, path = connect(stub), tmp_path / "rows.csv"
    written = ledger.write("transactions", path, blockchain="ethereum", address=ALICE)
    assert written["rows"] == 4
    assert pl.read_csv(path)["symbol"].to_list() == ["s1", "s2", "s3", "s4"]
    assert ledger.credits.spent == 10
    keys = [asked.repetition_key for asked in stub.asked]
    assert (keys[1] == keys[2], keys[0] == keys[1]) == (True, False)
    assert [json.loads(asked.body).get("cursor") for asked in stub.asked] == [None, "there", "there"]
    assert {asked.headers["accept"] for asked in stub.asked} == {"application/x-ndjson"}


def test_a_list_that_never_comes_whole_leaves_the_older_file(stub: Stub, tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_text("an older file")
    stub.script = lambda handler, _: handler.send(200, lines_of(1), {"Content-Type": "application/x-ndjson"}, 1000)
    with pytest.raises(hw.Unavailable):
        connect(stub, retries=1).write("registry", path)
    assert path.read_text() == "an older file"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.ndjson"]


def test_pages_of_holders_tell_when_the_data_changed_between_them(stub: Stub, tmp_path: Path) -> None:
    def script(handler: Handler, number: int) -> None:
        rows = b"".join(
            json.dumps({"rank": 100 * number + place}).encode() + b"\n" for place in range(100 - 99 * number)
        )
        handler.send(200, rows, {"Content-Type": "application/x-ndjson", "X-As-Of-Block": str(9 + number)})

    stub.script = script
    path = tmp_path / "holders.csv"
    written = connect(stub).write("token/holders", path, blockchain="ethereum", contract="native")
    assert (written["rows"], [warning["code"] for warning in written["warnings"]]) == (101, ["data_changed"])
    assert pl.read_csv(path)["rank"].to_list() == list(range(101))
    assert [asked.path.split("&limit=")[-1] for asked in stub.asked] == ["100", "100&offset=100"]


def test_a_server_behind_a_path_is_asked_there(stub: Stub) -> None:
    ledger = hw.connect(f"{stub.url}/chain/data/", "k")
    ledger.transaction("0x/../1", blockchain="ethereum")
    ledger.autocomplete("0xé &", chain="bsc")
    assert [asked.path for asked in stub.asked] == [
        "/chain/data/v1/transaction/0x%2F..%2F1?blockchain=ethereum",
        "/chain/data/v1/addresses/autocomplete?q=0x%C3%A9+%26&chain=bsc",
    ]


def test_addresses_keys_and_numbers_that_cannot_be_meant_are_refused() -> None:
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
    ):
        with pytest.raises(hw.InvalidInput) as caught:
            hw.connect(url, "k")
        assert caught.value.field == "url"
        assert "secret" not in str(caught.value)
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


def test_a_connection_that_is_refused_is_tried_until_the_server_is_back(stub: Stub) -> None:
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
