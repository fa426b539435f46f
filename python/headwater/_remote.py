"""Calls answered by a server: what a remote ledger stands on, as another ledger stands on the engine."""

from __future__ import annotations

import contextlib
import http.client
import json
import tempfile
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from headwater import _batches, _headwater, _refusals
from headwater._batches import Batch
from headwater._calls import route
from headwater._fields import LISTS
from headwater._http import Call, Connections, chunks
from headwater.errors import (
    InsufficientCredit,
    InternalError,
    InvalidInput,
    NotFound,
    StorageError,
    TimedOut,
    Unsupported,
)

if TYPE_CHECKING:
    from headwater._headwater import _ArrowStream, _Progress, _TableProgress, _Wanted

# Rows that one call of a list gives, where it is paged by cursor and where by offset.
_MOST_ROWS = {"cursor": 100_000, "offset": 100}
# Rows that a list may be asked for with a limit.
_MOST_ASKED = 100_000
# Rows that one JSON answer gives.
_PAGE_ROWS = {"cursor": 1_000, "offset": 100}
# Lists that grow with the rows of an answer.
_BESIDE_ROWS = {"btc/cluster": ("addresses", "evidence_tx")}
_IN_MEMORY = 8 << 20
_TOGETHER = 1 << 20
_LOOK_SECS = 0.2
# After a failure, for what is under way and paid for.
_LAST_SECS = 2.0
_CREDITS = ("Cost", "Remaining")

# Is told how many answers, or rows, there are.
Reach = Callable[[int], None]


def _unseen(_: int) -> None:
    """Show nothing of how far a call is."""


@dataclass
class Spent:
    """What calls have cost."""

    last: int | None = None
    total: int = 0
    remaining: int | None = None


@dataclass
class _CallGroup:
    """Calls that are made together."""

    stop: threading.Event = field(default_factory=threading.Event)
    # The least that an answer told: they come in another order than they were charged in.
    remaining: int | None = None


@dataclass
class _BatchWork:
    """The answers of a batch that have come so far, by the positions of their requests."""

    batch: Batch
    answers: dict[int, _headwater.Answer] = field(default_factory=dict)


class Remote:
    """Answers of a server."""

    def __init__(self, connections: Connections, parallel: int) -> None:
        self._connections = connections
        self._parallel = parallel
        self._lock = threading.Lock()
        self.spent = Spent()

    @property
    def source(self) -> str:
        """Name the server."""
        return self._connections.place.url

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def answer(self, name: str, request: dict[str, Any]) -> _headwater.Answer:
        """Answer one call."""
        return self._answer(name, request, None)

    def answers(
        self, name: str, requests: Sequence[dict[str, Any]], answered: dict[int, _headwater.Answer], reach: Reach
    ) -> None:
        """Answer many calls, some of them at the same time, by calls about many where there are such.

        The first that fails ends all. The answers come by their positions, those that are there after a failure too.
        """
        group = _CallGroup()
        works = [_BatchWork(batch) for batch in _batches.planned(name, requests)]
        pool = ThreadPoolExecutor(max(1, min(self._parallel, len(works))), "headwater")
        futures: list[Future[None]] = []
        try:
            futures += [pool.submit(self._answer_batch, name, requests, work, group) for work in works]
            _wait_for(futures, lambda: reach(sum(len(work.answers) for work in works)))
        except BaseException as error:
            group.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                # Nobody waits for what is still under way.
                self._connections.close()
            else:
                wait([each for each in futures if not each.cancelled()], _LAST_SECS)
            raise
        finally:
            pool.shutdown(wait=False)
            for work in works:
                # A copy: calls that were given up may still be answered.
                answered.update(dict(work.answers))

    def _answer_batch(self, name: str, requests: Sequence[dict[str, Any]], work: _BatchWork, group: _CallGroup) -> None:
        """Answer the requests of a batch; those that fail in it are asked by themselves, so that errors are theirs."""
        if work.batch.form is None:
            work.answers[work.batch.places[0]] = self._answer(work.batch.name, work.batch.request, group)
            return
        queue = [work.batch]
        while queue:
            batch = queue.pop(0)
            try:
                answer = self._answer(batch.name, batch.request, group, is_divisible=len(batch.places) > 1)
            except (TimedOut, InsufficientCredit) as error:
                if error.status is None or len(batch.places) == 1:
                    raise
                # A part may be answered in time, and be covered by the balance.
                queue = [*batch.halves(), *queue]
                continue
            split = batch.split(answer.data, answer.meta, name)
            work.answers.update(split)
            for place in (place for place in batch.places if place not in split):
                work.answers[place] = self._answer(name, requests[place], group)

    def _answer(
        self, name: str, request: dict[str, Any], group: _CallGroup | None, *, is_divisible: bool = False
    ) -> _headwater.Answer:
        """Answer one call; of a list in pages give as many as its limit asks for: one by default, all for ``None``."""
        pages = route(name).pages
        size = _PAGE_ROWS.get(pages or "", 0)
        wanted = request.get("limit", size)
        if pages is None or not (wanted is None or (isinstance(wanted, int) and wanted >= size)):
            return _headwater.Answer(name, *self._envelope(name, request, group, is_divisible=is_divisible))
        data, meta = self._envelope(name, {**request, "limit": size}, group)
        rows = data[str(route(name).rows)]
        while (wanted is None or len(rows) < wanted) and (place := _following(name, data, meta)) is not None:
            limit = size if wanted is None else min(size, wanted - len(rows))
            _append(name, (data, meta), self._envelope(name, {**request, "limit": limit, **place}, group))
        return _headwater.Answer(name, data, meta)

    def _envelope(
        self, name: str, request: dict[str, Any], group: _CallGroup | None, *, is_divisible: bool = False
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        call = replace(call_of(name, request), is_divisible=is_divisible)

        def receive(response: http.client.HTTPResponse) -> dict[str, Any]:
            envelope = self._connections.envelope(response)
            self._count(name, response, group, _batches.items_paid(name, envelope["data"]))
            return envelope

        try:
            envelope = self._connections.call(call, receive, None if group is None else group.stop)
            return envelope["data"], envelope["meta"]
        except NotFound as error:
            # Of what is named in the path, the answer does not say the field.
            error.field = error.field or next(iter(route(name).parts), None)
            raise

    def write_table(
        self, name: str, request: dict[str, Any], path: str | PathLike[str], reach: Reach = _unseen
    ) -> dict[str, Any]:
        """Write the rows of a list to a file."""
        table = _headwater.Lines(name, path)
        written = self._fill(name, dict(request), table, reach)
        with _of_a_server():
            table.finish()
        return written

    def read_table(self, name: str, request: dict[str, Any], reach: Reach = _unseen) -> _ArrowStream:
        """Give the rows of a list as a table."""
        return self.read_warned(name, request, reach)[0]

    def read_warned(
        self, name: str, request: dict[str, Any], reach: Reach
    ) -> tuple[_ArrowStream, list[dict[str, Any]]]:
        """Give the rows of a list as a table, and the warnings."""
        table = _headwater.Lines(name)
        written = self._fill(name, dict(request), table, reach)
        with _of_a_server():
            made = table.finish()
        if made is None:
            message = "a table without a file is in memory"
            raise InternalError(message)
        return made, written["warnings"]

    def export(
        self, out: str | PathLike[str], tables: Sequence[str], chains: Sequence[str], progress: _TableProgress | None
    ) -> list[dict[str, Any]]:
        """Refuse: no server gives everything it holds."""
        message = "export needs the store itself: open it with headwater.open, or run `headwater export` beside it"
        raise Unsupported(message)

    def score_table(
        self, addresses: _ArrowStream | None, wanted: _Wanted, progress: _Progress | None
    ) -> tuple[_ArrowStream, list[dict[str, Any]]]:
        """Refuse: a server is asked about one address or a hundred."""
        raise _needs_store()

    def score_file(
        self,
        addresses: _ArrowStream | None,
        wanted: _Wanted,
        output: str | PathLike[str],
        progress: _Progress | None,
    ) -> dict[str, Any]:
        """Refuse: a server is asked about one address or a hundred."""
        raise _needs_store()

    def store_folder(self) -> str:
        """Refuse: a server is loaded by who runs it."""
        message = (
            "imports need the store itself: open it with headwater.open where it lies, or run `headwater labels "
            "import`, `headwater prices import` or `headwater tokens import` beside the server, which sees it at once"
        )
        raise Unsupported(message)

    def record_dispute(
        self, action: str, address: str, reason: str, only: tuple[str | None, str | None, str | None]
    ) -> list[dict[str, Any]]:
        """Refuse: keys of the public listener change nothing."""
        raise _needs_back_office()

    def list_disputes(self, address: str | None) -> list[dict[str, Any]]:
        """Refuse: the history names who runs the service."""
        raise _needs_back_office()

    def _fill(self, name: str, request: dict[str, Any], table: _headwater.Lines, reach: Reach) -> dict[str, Any]:
        """Put all pages of a list into a table, page after page of one state of the data."""
        pages, most = _paged(name, request)
        if pages is not None:
            request["limit"] = _MOST_ROWS[pages]
        rows, skipped, first, changed = 0, _number(request, "offset"), None, False
        try:
            while True:
                with tempfile.SpooledTemporaryFile(_IN_MEMORY) as page:
                    head = self._page(name, request, page)
                    if first is None:
                        first = head
                        cursor = None if pages is not None else head.next_cursor
                        table.begin(head.total, head.as_of_block, head.amount_unit, cursor, head.pegged)
                    counted = 0
                    for lines in _blocks(page):
                        counted += lines.count(b"\n")
                        with _of_a_server():
                            table.add(lines)
                        reach(rows + counted)
                rows += counted
                changed = changed or head.as_of_block != first.as_of_block
                place = _next_place(pages, head, counted, skipped + rows) if most is None or rows < most else None
                if place is None:
                    break
                request.update(place)
                if most is not None:
                    request["limit"] = min(request["limit"], most - rows)
        except BaseException:
            table.give_up()
            raise
        warnings = list(first.warnings)
        if pages == "offset" and changed:
            message = "the data changed while its pages were read: rows near their edges may be missing or there twice"
            warnings.append({"code": "data_changed", "field": None, "message": message})
        return {"rows": rows, "next_cursor": head.next_cursor, "warnings": warnings}

    def _page(self, name: str, request: Mapping[str, Any], page: IO[bytes]) -> Head:
        call = call_of(name, request, accept="application/x-ndjson")

        def receive(response: http.client.HTTPResponse) -> Head:
            if response.headers.get_content_type() != call.accept:
                raise _refusals.foreign(response.status, self._connections.body(response))
            _write(page, b"", begin=True)
            for piece in chunks(response):
                _write(page, piece)
            self._count(name, response)
            return Head.of(response.headers)

        return self._connections.call(call, receive)

    def _count(
        self, name: str, response: http.client.HTTPResponse, group: _CallGroup | None = None, items: int = 1
    ) -> None:
        cost, remaining = (_refusals.number_of(response.headers.get(f"X-Credit-{what}")) for what in _CREDITS)
        if response.headers.get("Idempotent-Replayed"):
            # Given again for nothing, because a try whose answer was lost had paid.
            cost = route(name).cost * items
        with self._lock:
            if cost is not None:
                self.spent.last = cost
                self.spent.total += cost
            if remaining is not None and group is not None:
                remaining = group.remaining = min(remaining, remaining if group.remaining is None else group.remaining)
            if remaining is not None:
                self.spent.remaining = remaining


@dataclass
class Head:
    """What the headers of a list say besides its rows."""

    next_cursor: str | None = None
    total: int | None = None
    as_of_block: int | None = None
    amount_unit: str | None = None
    pegged: Sequence[str] = ()
    warnings: Sequence[dict[str, Any]] = ()

    @classmethod
    def of(cls, headers: http.client.HTTPMessage) -> Head:
        """Read them."""
        # Names of fields may be any text, so they come percent-encoded.
        codes = [code.strip().partition(":") for code in headers.get("X-Warnings", "").split(",") if code.strip()]
        warnings = [
            {"code": code, "field": urllib.parse.unquote(field) or None, "message": ""} for code, _, field in codes
        ]
        return cls(
            headers.get("X-Next-Cursor"),
            _refusals.number_of(headers.get("X-Total-Count")),
            _refusals.number_of(headers.get("X-As-Of-Block")),
            headers.get("X-Amount-Unit"),
            [symbol.strip() for symbol in headers.get("X-Pegged", "").split(",") if symbol.strip()],
            warnings,
        )


def call_of(name: str, request: Mapping[str, Any], accept: str = "application/json") -> Call:
    """Give a call as it is sent: parameters of a GET in the address, of a POST in the body."""
    called = route(name)
    method, path, fields = called.method, called.path, dict(request)
    for part in called.parts:
        value = _part(part, fields.pop(part, None))
        path = path.replace(f"{{{part}}}", urllib.parse.quote(value, safe=""))
    if name == "token/addresses_flow":
        # Both ways are given, and a hundred addresses are long for a line.
        method = "POST"
    if method == "POST":
        return Call(name, method, path, json.dumps(fields).encode(), accept, called.cost > 0)
    lists = LISTS.get(name, {})
    shown = {field: _shown(field, value, field in lists) for field, value in fields.items() if value is not None}
    query = urllib.parse.urlencode({field: text for field, text in shown.items() if text is not None})
    return Call(name, method, f"{path}?{query}" if query else path, None, accept, called.cost > 0)


def _part(name: str, value: Any) -> str:  # noqa: ANN401
    """Check what is to stand in a path, which a server would not see to be missing, as the engine checks it."""
    if isinstance(value, str) and value:
        return value
    if value is None:
        reason, message = "missing_field", f"{name} is required"
    elif value == "":
        reason, message = "invalid_value", f"{name}: expected a value: leave the parameter out where there is none"
    else:
        expected = "one value" if isinstance(value, list) else "text"
        reason, message = "invalid_type", f"{name}: expected {expected}, got {_json(value)}"
    raise InvalidInput(message, reason=reason, field=name)


def _shown(name: str, value: Any, is_list: bool) -> str | None:  # noqa: ANN401
    """Give a value as a query has it, or refuse what would arrive there as something else."""
    if isinstance(value, str):
        return value
    if is_list:
        return _joined(name, value)
    if isinstance(value, (list, dict)):
        message = f"{name}: expected one value, got {_json(value)}"
        raise InvalidInput(message, reason="invalid_type", field=name)
    return _json(value)


def _joined(name: str, value: Any) -> str | None:  # noqa: ANN401
    """Give a list with commas between its items, or nothing of an empty one that may be left out."""
    if not isinstance(value, list):
        message = f"{name}: expected a list, got {_json(value)}"
        raise InvalidInput(message, reason="invalid_type", field=name)
    for place, item in enumerate(value):
        at = f"{name}[{place}]"
        if not isinstance(item, str):
            message = f"{at}: expected text, got {_json(item)}"
            raise InvalidInput(message, reason="invalid_type", field=at)
        if "," in item:
            message = f"{at}: {_json(item)} holds a comma, which a server takes for the end of an item"
            raise InvalidInput(message, reason="invalid_value", field=at)
    if not value and name == "symbols":
        message = f"{name}: name at least one rate symbol"
        raise InvalidInput(message, reason="empty_list", field=name)
    return ",".join(value) if value else None


def _json(value: Any) -> str:  # noqa: ANN401
    """Give a value for a message."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _wait_for(futures: Sequence[Future[None]], show: Callable[[], None]) -> None:
    """Wait for all calls, or raise as soon as one has failed: the first of those that have."""
    failed: list[Future[None]] = []
    pending = set(futures)
    while pending and not failed:
        # Not for ever at once: a signal that another thread was woken by is seen between two waits.
        _, pending = wait(pending, _LOOK_SECS, FIRST_EXCEPTION)
        show()
        failed = [future for future in futures if future.done() and future.exception() is not None]
    for future in failed:
        future.result()


def _following(name: str, data: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any] | None:
    """Give the fields that ask for the page behind an answer; ``None`` behind the last one."""
    called = route(name)
    if called.pages == "cursor":
        cursor = data.get("pagination", data)["next_cursor"]
        return None if cursor is None else {"cursor": cursor}
    paging, rows = meta["pagination"], len(data[str(called.rows)])
    return {"offset": paging["offset"] + rows} if rows and paging["offset"] + rows < paging["total"] else None


def _append(
    name: str, whole: tuple[dict[str, Any], dict[str, Any]], page: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Add the rows of the next page to an answer, and what the page cost."""
    (data, meta), (more, more_meta) = whole, page
    rows = str(route(name).rows)
    data[rows] += more[rows]
    for beside in _BESIDE_ROWS.get(name, ()):
        data[beside] = list(dict.fromkeys(data[beside] + more[beside]))
    if "next_cursor" in more:
        data["next_cursor"] = more["next_cursor"]
    for paging, last in ((data.get("pagination"), more.get("pagination")), (meta.get("pagination"), None)):
        if paging is not None:
            paging["limit"] = len(data[rows])
            if last is not None:
                paging.update(has_more=last["has_more"], next_cursor=last["next_cursor"], total_pages=1)
    if "credit_cost" in more_meta:
        meta["credit_cost"] += more_meta["credit_cost"]
        meta["credit_remaining"] = more_meta["credit_remaining"]


def _next_place(pages: str | None, head: Head, counted: int, reached: int) -> dict[str, Any] | None:
    if pages == "cursor" and head.next_cursor is not None:
        return {"cursor": head.next_cursor}
    if pages == "offset" and counted == _MOST_ROWS["offset"]:
        return {"offset": reached}
    return None


def _paged(name: str, request: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Give how a list is asked for in pages, where it is, and how many rows it is to have at most."""
    pages = route(name).pages
    if request.get("limit") is None:
        return pages, None
    asked = _number(request, "limit")
    # A store gives so many rows at once; with more, the server says what it takes.
    if pages == "offset" and _MOST_ROWS[pages] < asked <= _MOST_ASKED:
        return pages, asked
    return None, None


def _number(request: Mapping[str, Any], name: str) -> int:
    """Give the number of a field, or 0; of one that says no number, the server says so."""
    return _refusals.number_of(str(request.get(name) or 0).strip()) or 0


def _needs_store() -> Unsupported:
    return Unsupported(
        "features and scores of many addresses need the store itself: open it with headwater.open, or run "
        "`headwater score` beside it; over a server ask risk() or classify() for up to a hundred addresses per call"
    )


def _needs_back_office() -> Unsupported:
    return Unsupported(
        "disputes of a server are recorded and listed by its back office (POST /admin/v1/labels/dispute) or by "
        "`headwater labels dispute` beside it; labels() also returns disputes over a server"
    )


@contextlib.contextmanager
def _of_a_server() -> Iterator[None]:
    """Blame rows that are none on whoever sent them."""
    try:
        yield
    except InternalError as error:
        raise _refusals.foreign(200, str(error).encode()) from error


def _write(page: IO[bytes], piece: bytes, *, begin: bool = False) -> None:
    try:
        if begin:
            page.seek(0)
            page.truncate()
        page.write(piece)
    except OSError as error:
        # Not the connection's fault, and so no reason to ask again.
        message = f"a page of the list could not be kept in the folder of temporary files: {error}"
        raise StorageError(message) from error


def _blocks(page: IO[bytes]) -> Iterator[bytes]:
    """Give whole lines, about a mebibyte of them at a time."""
    page.seek(0)
    while lines := page.readlines(_TOGETHER):
        yield b"".join(lines)
