"""Times of requests: dates, datetimes, ISO 8601 text and epoch seconds as epoch seconds."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta, timezone
from typing import Any

from headwater._objects import shown
from headwater.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAY_SECS = 86_400
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[T ]\d\d:\d\d.*)?", re.IGNORECASE)
_EXPECTED = 'expected a date or a time with a zone, such as "2024-01-31" or "2024-01-31T12:00Z"'


def seconds(name: str, time: Any, *, is_end: bool) -> Any:  # noqa: ANN401
    """Return a time as epoch seconds; parts of a second are cut.

    A date is the first second of its day in UTC, and its last one where it ends a range. Other values are returned as
    they are: the engine refuses what is not a number of seconds.
    """
    if getattr(time, "shape", None) == ():
        # A scalar of numpy; a `datetime64` of nanoseconds has an integer, which is not one of seconds.
        item = time.item()
        is_time = type(time).__name__ == "datetime64"
        time = time if is_time and not isinstance(item, date) else item
    if isinstance(time, str) and _ISO.fullmatch(time.strip()):
        time = _parsed(name, time.strip())
    if isinstance(time, datetime) and time == time:  # noqa: PLR0124, only NaT differs from itself
        return _since_epoch(name, time)
    if isinstance(time, date) and not isinstance(time, datetime):
        midnight = datetime(time.year, time.month, time.day, tzinfo=timezone.utc)
        return _since_epoch(name, midnight) + (_DAY_SECS - 1 if is_end else 0)
    if isinstance(time, float) and math.isfinite(time):
        return math.floor(time)
    return time


def _parsed(name: str, text: str) -> date:
    """Return the date or datetime of ISO 8601 text."""
    # Python 3.10 does not read the zone `Z`.
    whole = re.sub(r"[zZ]$", "+00:00", text)
    why = "has no time zone"
    try:
        time = datetime.fromisoformat(whole) if len(whole) > len("2024-01-31") else date.fromisoformat(whole)
        if not isinstance(time, datetime) or time.utcoffset() is not None:
            return time
    except ValueError as error:
        why = f"is not a valid time ({error})"
    message = f"{name}: {shown(text)} {why}; {_EXPECTED}"
    raise InvalidInput(message, reason="invalid_value", field=name)


def _since_epoch(name: str, time: datetime) -> int:
    if time.utcoffset() is None:
        message = (
            f"{name}: {shown(time)} is of type {type(time).__name__}: expected a time with a zone, such as "
            "time.replace(tzinfo=timezone.utc), text that ends in Z, or epoch seconds"
        )
        raise InvalidInput(message, reason="invalid_type", field=name)
    return (time - _EPOCH) // timedelta(seconds=1)
