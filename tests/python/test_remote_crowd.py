"""Many calls over one ledger to a server: batches, limits, threads, processes, and the connections between them."""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator

import headwater as hw
import pytest
from headwater import examples
from headwater.examples import ALICE, BOB, SHOP
from stub_server import Handler, Stub, connect, in_turn, stub_body


def test_retry_after_a_broken_connection_is_paid_once(stub: Stub) -> None:
    stub.script = in_turn("200", "nothing", "200")
    ledger = connect(stub, retries=0)
    ledger.wallet(ALICE)
    ledger.wallet(BOB)
    keys = [asked.repetition_key for asked in stub.asked]
    assert (len(keys), keys[1] == keys[2], keys[0] == keys[1], None in keys) == (3, True, False, False)


def test_a_limit_does_not_use_up_the_tries(stub: Stub) -> None:
    stub.script = in_turn("429 1", "429 1", "429 1", "200")
    report = connect(stub, retries=1).wallet(ALICE)
    assert isinstance(report, hw.Report)
    assert report.answer == 3
    # One that does not say for how long does.
    stub.asked.clear()
    stub.script = in_turn("429")
    with pytest.raises(hw.RateLimited):
        connect(stub, retries=1).wallet(ALICE)
    assert len(stub.asked) == 2


def test_limited_calls_come_back_one_after_the_other(stub: Stub) -> None:
    times: list[float] = []

    def limited(handler: Handler, number: int) -> None:
        if number < 12:
            handler.refuse(429, "too_many_requests", "rate_limited", Retry_After="1", RateLimit_Policy='"m";q=20;w=2')
        else:
            with stub.lock:
                times.append(time.monotonic())
            handler.success()

    stub.script = limited
    reports = connect(stub, parallel=12, retries=1).wallet([f"0x{number:040x}" for number in range(12)])
    assert isinstance(reports, hw.Reports)
    assert (len(times), len(stub.asked)) == (12, 24)
    # Ten a second, as the server says of its limit.
    assert max(times) - min(times) > 0.8


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
    assert stub.max_under_way == 3
    assert len({asked.client for asked in stub.asked}) == 3


def test_all_threads_keep_off_while_a_limit_is_used_up(stub: Stub) -> None:
    times: list[float] = []

    def limited(handler: Handler, number: int) -> None:
        with stub.lock:
            times.append(time.monotonic())
        # The server says so before it has to refuse.
        reported = {"RateLimit": '"medium";r=0;t=1'} if number == 0 else {}
        handler.success(**reported)

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


def test_a_batch_that_fails_has_the_answers_that_were_paid_for(stub: Stub) -> None:
    def script(handler: Handler, _: int) -> None:
        address = json.loads(stub_body(stub, handler))["address"]
        if address == SHOP:
            # So that the other one is under way when this one fails.
            handler.refuse(402, "insufficient_credit")
        else:
            time.sleep(0.3)
            handler.success({"address": address})

    stub.script = script
    addresses = [ALICE, BOB, f"0x{1:040x}", SHOP, *(f"0x{number:040x}" for number in range(2, 40))]
    with pytest.raises(hw.InsufficientCredit) as caught:
        connect(stub, parallel=2).wallet(addresses)
    answered = caught.value.answered
    assert {0, 1, 2} <= answered.keys()
    assert len(answered) == len(stub.asked) - 1
    assert {place: report.address for place, report in answered.items()} == {
        place: addresses[place] for place in answered
    }


def test_invalid_address_is_refused_before_sending(stub: Stub) -> None:
    for ledger in (connect(stub), examples.ledger()):
        with pytest.raises(hw.InvalidInput, match=r'^address\[1\]: "0x12" is not a valid Ethereum address: ') as caught:
            ledger.wallet([ALICE, "0x12", BOB])
        assert (caught.value.reason, caught.value.field) == ("invalid_address", "address[1]")
    assert stub.asked == []


def test_remaining_credits_are_the_minimum_reported(stub: Stub) -> None:
    def script(handler: Handler, number: int) -> None:
        # The one that was charged last is answered first.
        time.sleep(0.4 - 0.1 * (number % 4))
        handler.success(X_Credit_Cost="5", X_Credit_Remaining=str(100 - 5 * number))

    stub.script = script
    ledger = connect(stub, parallel=4)
    ledger.wallet([ALICE, BOB, SHOP, f"0x{1:040x}"])
    assert ledger.credits.remaining == 85
    stub.script = lambda handler, _: handler.success(X_Credit_Cost="5", X_Credit_Remaining="1000")
    ledger.wallet(ALICE)
    assert ledger.credits.remaining == 1000


def test_closing_ends_what_is_under_way_with_an_error_of_ours(stub: Stub) -> None:
    def script(handler: Handler, number: int) -> None:
        time.sleep(0.01 * (number % 3))
        handler.success()

    stub.script = script
    ledger = connect(stub, retries=0)
    other: list[str] = []
    end = time.monotonic() + 2.0

    def ask() -> None:
        while time.monotonic() < end:
            try:
                ledger.chains()
            except hw.Unavailable:
                pass
            except Exception:
                other.append(traceback.format_exc())
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        ledger.close()
        time.sleep(0.003)
    for thread in threads:
        thread.join()
    assert other == []
    assert ledger.chains()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="left out: this system does not fork")
def test_a_forked_process_that_closes_leaves_its_parent_alone(stub: Stub) -> None:
    ledger = connect(stub, retries=0)
    ledger.chains()
    child = os.fork()
    if child == 0:
        ledger.close()
        os._exit(0)
    os.waitpid(child, 0)
    ledger.chains()
    assert len({asked.client for asked in stub.asked}) == 1


def test_a_ledger_is_closed_by_a_with_and_never_copied(stub: Stub) -> None:
    for ledger in (connect(stub), examples.ledger()):
        with ledger as opened:
            assert opened is ledger
            assert opened.chains()
        ledger.close()
        copies: list[Callable[[hw.Ledger], object]] = [copy.copy, copy.deepcopy, pickle.dumps]
        for make in copies:
            with pytest.raises(hw.Unsupported, match="open or connect one in each"):
                make(ledger)


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
