"""The interface over a server: the same calls as over a store, asked through HTTP."""

from __future__ import annotations

import math
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any

from headwater import _typed
from headwater._http import Connections, Patience
from headwater._objects import shown
from headwater._place import place_of
from headwater._progress import Bar
from headwater._remote import Remote
from headwater.errors import InvalidInput
from headwater.ledger import Ledger
from headwater.reports import Report

if TYPE_CHECKING:
    from headwater._headwater import Answer, _ArrowStream

_MOST_SECS = 1_000_000


@dataclass(frozen=True)
class Credits:
    """What calls have cost, as the server told with its answers.

    Attributes
    ----------
    last_cost : int or None
        Credits of the last answer.
    spent : int
        Credits of all answers to this ledger.
    remaining : int or None
        What is left on the key by the last answer, whoever else uses it, and after many addresses the least that one
        of them told; ``None`` before the first answer.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE
    >>> ledger = hw.connect(url, api_key=key)
    >>> ledger.credits.spent, ledger.credits.remaining
    (0, None)
    >>> report = ledger.wallet(ALICE)
    >>> ledger.credits.last_cost, ledger.credits.remaining == report.meta["credit_remaining"]
    (5, True)
    """

    last_cost: int | None
    spent: int
    remaining: int | None


def connect(
    url: str,
    api_key: str | None = None,
    *,
    timeout: float = 75.0,
    retries: int = 5,
    patience: float = 180.0,
    parallel: int = 4,
    proxy: str | None = None,
    tls: ssl.SSLContext | str | PathLike[str] | None = None,
) -> RemoteLedger:
    """Connect to a server that ``headwater serve`` runs.

    The ledger answers as one of :func:`headwater.open` does. Nothing is sent before the first call; connections are
    kept for the next ones.

    Parameters
    ----------
    url : str
        Where it is, such as ``"https://headwater.example"``. Over plain ``http`` the key can be read on the way.
    api_key : str, optional
        What ``headwater keys create`` printed; left out for a server that asks for none.
    timeout : float, optional
        Seconds that one try may take, however an answer trickles: a whole JSON answer with its connection, and the
        head of a list, whose rows may then take as long as the patience but for such a silence. Connecting alone takes
        at most 10. The server's own limit for its heaviest calls is 60, unless its operator set another
        (``limits.heavy_secs``): give more than that.
    retries : int, optional
        How often a call is tried again: after 429, 502, 503 and 504, when the server says so (``Retry-After``), and
        after a connection that broke. Every try carries the same ``Idempotency-Key``, so that an answer that was lost
        on its way is not paid for twice. A 429 that says how long to wait does not count as a try: patience alone
        bounds those, and with no retries there are none. Never after 402.
    patience : float, optional
        Seconds for all tries of a call, each page of a list being one, and the waits between them: no wait is begun
        that would pass them, and a try that is under way then ends.
    parallel : int, optional
        Calls at the same time where many addresses are asked about. They keep to the server's limits together.
    proxy : str, optional
        The address of an HTTP proxy, or ``"environment"`` for what ``https_proxy``, ``http_proxy``, ``all_proxy`` and
        ``no_proxy`` say. Missing, no proxy is used, whatever the environment says.
    tls : ssl.SSLContext or path, optional
        How the server's certificate is checked, or a file of the authorities that are trusted; missing, those of the
        system.

    Returns
    -------
    RemoteLedger

    Raises
    ------
    InvalidInput
        When the address, or a number, cannot be meant.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE
    >>> with hw.connect(url, api_key=key) as ledger:  # url and key of a server of these examples
    ...     [(row["action"], row["amount"]) for row in ledger.transactions(ALICE, symbols=["eth"])]
    [('send', '1'), ('receive', '3')]
    """
    seconds = f"seconds above 0, at most {_MOST_SECS:,}"
    _check("timeout", timeout, Real, (0, _MOST_SECS), seconds)
    _check("patience", patience, Real, (0, _MOST_SECS), seconds)
    _check("retries", retries, Integral, (-1, math.inf), "a number of tries, 0 or more")
    _check("parallel", parallel, Integral, (0, 64), "a number of calls from 1 to 64")
    if api_key is not None and not _is_key(api_key):
        # What it is instead may be a secret, so it is not repeated.
        message = "api_key: expected the text that `headwater keys create` printed, without blanks around it"
        raise InvalidInput(message, reason="invalid_value", field="api_key")
    place = place_of(url, proxy, tls)
    return RemoteLedger(
        Remote(Connections(place, api_key, Patience(float(timeout), int(retries), float(patience))), int(parallel))
    )


def _check(name: str, value: Any, kind: type, bounds: tuple[float, float], expected: str) -> None:  # noqa: ANN401
    """Refuse what is no number of the kind, or not above the first bound and at most the second."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if is_number and bounds[0] < value <= bounds[1]:
        return
    message = f"{name}: {shown(value)} cannot be meant: expected {expected}"
    raise InvalidInput(message, reason="invalid_value", field=name)


def _is_key(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and value.strip() == value != ""


class RemoteLedger(Ledger):
    """A :class:`headwater.Ledger` whose calls a server answers: :func:`headwater.connect` makes one.

    Calls cost credits. Besides what every ledger raises there are :class:`headwater.ServerError` and its children.
    :meth:`read_all` and :meth:`write` ask in pages of 100,000 rows, each of which costs as a call does; of holders the
    server gives 100 a page, which then are not of one state of the data where that changes meanwhile, as a warning
    says. The server's warnings come without their texts there. :meth:`export` needs the store and raises
    :class:`headwater.Unsupported`.

    Risks and labels of many addresses are asked with calls about many: 50 risks, each at the price of a call, or 100
    addresses with labels at the price of one. The warnings of a report are then those of its call. A call about many
    that the server has no time for, or that the balance does not cover, is asked in halves.

    It can be shared between threads. Close it, or use it in a ``with``, to close its connections. Where many addresses
    are asked about and one fails, calls under way have two seconds to be answered; ``error.answered`` holds all that
    were.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE, BOB
    >>> with hw.connect(url, api_key=key) as ledger:
    ...     reports = ledger.risk([ALICE, BOB])
    >>> reports.summary["risk_level"].to_list(), ledger.credits.spent
    (['low', 'low'], 10)
    """

    _answers: Remote

    @property
    def credits(self) -> Credits:
        """What calls have cost, by the answers so far.

        Examples
        --------
        >>> import headwater as hw
        >>> from headwater.examples import ALICE
        >>> ledger = hw.connect(url, api_key=key)
        >>> before = ledger.chains().meta["credit_remaining"]
        >>> report = ledger.counterparties(ALICE)
        >>> ledger.credits.last_cost, before - ledger.credits.remaining, report.meta["credit_cost"]
        (5, 5, 5)
        """
        spent = self._answers.spent
        return Credits(spent.last, spent.total, spent.remaining)

    def usage(self) -> Report:
        """Give what the key used in the present period; costs nothing.

        Returns
        -------
        Report
            Rows are the endpoints with calls and credits; ``report.credit_remaining``, ``report.plan``,
            ``report.period_start`` and ``report.period_end`` stand beside.

        Examples
        --------
        >>> import headwater as hw
        >>> from headwater.examples import ALICE
        >>> ledger = hw.connect(url, api_key=key)
        >>> report = ledger.counterparties(ALICE)
        >>> "/v1/counterparty" in ledger.usage().frame["endpoint"]
        True
        """
        return self.query("usage")

    def close(self) -> None:
        """Close the connections; a later call opens new ones.

        Examples
        --------
        >>> import headwater as hw
        >>> ledger = hw.connect(url, api_key=key)
        >>> ledger.close()
        >>> ledger.chains().rows[0]["chain"]
        'bitcoin'
        """
        self._answers.close()

    def _all(self, endpoint: str, requests: Sequence[dict[str, Any]], bar: Bar) -> list[Report]:
        answered: dict[int, Answer] = {}
        try:
            self._answers.answers(endpoint, requests, answered, bar.reach)
        except BaseException as error:
            vars(error)["answered"] = {
                place: _typed.report(endpoint, answer, requests[place]) for place, answer in answered.items()
            }
            raise
        return [_typed.report(endpoint, answered[place], request) for place, request in enumerate(requests)]

    def _written(self, name: str, body: dict[str, Any], path: str, bar: Bar) -> dict[str, Any]:
        return self._answers.write_table(name, body, path, bar.reach)

    def _read(self, name: str, body: dict[str, Any], bar: Bar) -> tuple[_ArrowStream, list[dict[str, Any]]]:
        return self._answers.read_warned(name, body, bar.reach)
