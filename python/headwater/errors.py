"""One tree of exceptions: catch :class:`HeadwaterError` for all of them.

What a server answers is raised as the same exceptions as what a store answers. :class:`ServerError` and its children
are what only a server can say: about the key, its credits and its limits, or that it cannot be reached.

>>> from headwater.errors import HeadwaterError, InsufficientCredit, ServerError
>>> issubclass(InsufficientCredit, ServerError), issubclass(ServerError, HeadwaterError)
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class HeadwaterError(Exception):
    """Anything Headwater raises.

    Attributes
    ----------
    reason : str or None
        Stable code, the same as ``error.details.reason`` over HTTP.
    field : str or None
        The field it is about, such as ``addresses[3]``.
    candidates : list of str
        Names that may have been meant, nearest first.
    status : int or None
        The HTTP status, where a server said so.
    request_id : str or None
        The server's id of the request, under which its operator finds it.
    answered : dict of int to Report
        Where many addresses were asked about: the answers that were there before one failed, by the position of their
        address. A server was paid for them; an interrupt (``KeyboardInterrupt``) has them too.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE, ledger
    >>> def reason_of(ask):
    ...     try:
    ...         ask()
    ...     except hw.HeadwaterError as error:
    ...         return type(error).__name__, error.reason, error.field
    >>> reason_of(lambda: ledger().wallet("0x12"))
    ('InvalidInput', 'invalid_address', 'address')
    >>> reason_of(lambda: ledger().wallet(ALICE, symbol="eth"))
    ('UnknownField', 'unknown_field', 'symbol')
    >>> reason_of(lambda: ledger().transaction("0x" + "ff" * 32))
    ('NotFound', None, 'hash')
    >>> reason_of(lambda: hw.open("/no/such/store"))
    ('StorageError', None, None)
    >>> reason_of(lambda: hw.connect("http://127.0.0.1:9").export("folder"))
    ('Unsupported', None, None)
    >>> issubclass(hw.Cancelled, hw.HeadwaterError), issubclass(hw.InternalError, RuntimeError)
    (True, True)
    """

    status: int | None = None
    request_id: str | None = None

    def __init__(
        self, message: str, *, reason: str | None = None, field: str | None = None, candidates: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.field = field
        self.candidates = list(candidates)
        # Reports, whose module imports this one.
        self.answered: dict[int, Any] = {}


class InvalidInput(HeadwaterError, ValueError):  # noqa: N818
    """An argument cannot be understood or met."""


class UnknownField(InvalidInput, TypeError):  # noqa: N818
    """A keyword that the call does not have; ``candidates`` are the nearest known names."""


class NotFound(HeadwaterError, LookupError):  # noqa: N818
    """What was named is not there."""


class Cancelled(HeadwaterError):  # noqa: N818
    """The call was stopped before it ended."""


class StorageError(HeadwaterError, OSError):
    """Stored data could not be read, or a file could not be written."""


class InternalError(HeadwaterError, RuntimeError):
    """A defect of Headwater itself."""


class Unsupported(HeadwaterError, NotImplementedError):  # noqa: N818
    """The call needs what is not there: the store itself behind a connection to a server, or what is not built yet."""


class ServerError(HeadwaterError):
    """A server refuses, or what came back is no answer of Headwater.

    Attributes
    ----------
    retry_after : float or None
        Seconds after which the server wants to be asked again.

    Examples
    --------
    >>> import headwater as hw
    >>> def risk_level(ledger, address):
    ...     try:
    ...         return ledger.risk(address).risk_level
    ...     except (hw.Unauthorized, hw.Forbidden, hw.InsufficientCredit):
    ...         raise SystemExit("ask for a key with the right plan, or for credits")
    ...     except hw.RateLimited as error:
    ...         return f"again in {error.retry_after} s"
    ...     except hw.TimedOut:
    ...         return "ask for less"
    ...     except (hw.Conflict, hw.Unavailable) as error:
    ...         return f"try again: {error.reason}"
    >>> with hw.connect("http://127.0.0.1:9", retries=0) as ledger:
    ...     risk_level(ledger, "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")
    'try again: connection'
    """

    retry_after: float | None = None


class Unauthorized(ServerError):  # noqa: N818
    """The key is missing, unknown, revoked or expired (401)."""


class InsufficientCredit(ServerError):  # noqa: N818
    """The credits of the key do not cover the call (402). Such a call is never repeated by itself."""


class Forbidden(ServerError, PermissionError):  # noqa: N818
    """The plan of the key leaves out this call or chain (403)."""


class Conflict(ServerError):  # noqa: N818
    """The server holds an answer to another request under the same idempotency key (409)."""


class RateLimited(ServerError):  # noqa: N818
    """Too many calls for the limits of the key or the server (429); ``reason`` tells which limit."""


class Unavailable(ServerError, ConnectionError):  # noqa: N818
    """The server cannot be reached, or cannot answer now (502, 503)."""


class TimedOut(Unavailable, TimeoutError):  # noqa: N818
    """No answer in time: the server's own limit (504), or that of the connection."""
