"""One tree of exceptions: catch :class:`HeadwaterError` for all of them."""

from __future__ import annotations


class HeadwaterError(Exception):
    """Anything Headwater raises.

    Attributes
    ----------
    reason : str or None
        Stable code, the same as ``error.details.reason`` over HTTP.
    field : str or None
        The field it is about, such as ``addresses[3]``.
    """

    def __init__(self, message: str, *, reason: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.field = field


class InvalidInput(HeadwaterError, ValueError):  # noqa: N818
    """An argument cannot be understood or met."""


class NotFound(HeadwaterError, LookupError):  # noqa: N818
    """What was named is not there."""


class Cancelled(HeadwaterError):  # noqa: N818
    """The call was stopped before it ended."""


class StorageError(HeadwaterError, OSError):
    """Stored data could not be read."""


class InternalError(HeadwaterError, RuntimeError):
    """A defect of Headwater itself."""
