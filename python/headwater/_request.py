"""What the methods of a ledger make requests of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral
from typing import Any, Literal

from headwater import _times
from headwater._fields import LISTS, TIMES
from headwater._objects import digits, is_collection, is_missing, items, shown
from headwater.errors import InvalidInput

Addresses = str | Iterable[str]
# One text, with commas between several, or a collection of them.
Texts = str | Iterable[str] | None
Contracts = str | Iterable[str | None] | None
# A date, a datetime with a time zone, ISO 8601 text, or epoch seconds.
Time = date | datetime | str | int | float | None

# Rows of a list: a number; ``None`` for all; ``"auto"`` for all of a store, and one page of a server.
Limit = int | Literal["auto"] | None

# Records of criteria, one or many of which an amount has to meet.
Criteria = Sequence[Mapping[str, Any]] | None

_MOST_BITS = 256
# Arguments of methods that are no fields of a request.
_OWN = frozenset({"self", "fields", "progress", "__class__"})


def given(values: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """Leave out what was not given, and spread ``fields``."""
    request = {name: value for name, value in values.items() if value is not None and name not in {*_OWN, *but}}
    return {**request, **values.get("fields", {})}


def given_list(values: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """Do the same for a list in pages, whose ``limit`` of ``None`` means all rows."""
    limit = values["limit"]
    return {**({} if limit == "auto" else {"limit": limit}), **given(values, "limit", *but)}


def in_records(request: Mapping[str, Any], records: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a request whose arguments stand in its records, each under the name that it has there."""
    moved = {name for names in records.values() for name in names}
    made = {name: value for name, value in request.items() if name not in moved}
    for record, names in records.items():
        held = {field: request[name] for name, field in names.items() if name in request}
        own = made.get(record, {})
        # A value that is not a mapping is refused as it is.
        if held and isinstance(own, Mapping):
            made[record] = {**held, **own}
    return made


def bodies(name: str, request: Mapping[str, Any], addresses: Sequence[str]) -> list[dict[str, Any]]:
    """Return one request of a call for each of many addresses."""
    # Made plain once: what can be gone through only once stands in all of them.
    shared = body(name, request)
    return [{**shared, "address": plain("address", address)} for address in addresses]


def body(name: str, request: Mapping[str, Any] | None, *more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request of a call as plain values (see :func:`plain`); the later ones prevail.

    Where the call has a list, text becomes one of it, split at its commas. Where it has a time, dates and text become
    epoch seconds.
    """
    if request is not None and not isinstance(request, Mapping):
        message = f"request: expected a mapping of fields, not {type(request).__name__}"
        raise InvalidInput(message, reason="invalid_type", field="request")
    whole: dict[str, Any] = dict(request or {})
    for fields in more:
        whole.update(fields)
    lists, times = LISTS.get(name, {}), TIMES.get(name, [])

    def field_of(place: str, value: Any) -> Any:  # noqa: ANN401
        if place in lists:
            return plain(place, _listed(value))
        if place in times:
            return plain(place, _times.seconds(place, value, is_end=place.rpartition(".")[2].startswith("end")))
        if isinstance(value, Mapping):
            return {str(field): field_of(f"{place}.{field}", inner) for field, inner in value.items()}
        return plain(place, value)

    return {_text("request", str(field)): field_of(str(field), value) for field, value in whole.items()}


def _listed(value: Any) -> Any:  # noqa: ANN401
    """Return one text as a list."""
    if not isinstance(value, str):
        return value
    parts = [part.strip() for part in value.split(",")]
    return parts if len(parts) > 1 else [value]


def plain(name: str, value: Any) -> Any:  # noqa: ANN401
    """Return a value as JSON has it; its meaning must be plain.

    Integers of any library are integers, decimals are exact text, times with a zone are epoch seconds (parts of a
    second are cut), and every collection is a list, in which what is missing is null. ``name`` is how messages call it.
    """
    if type(value) in _PLAIN:
        return _PLAIN[type(value)](name, value)
    if isinstance(value, Mapping):
        return {str(field): plain(f"{name}.{field}", item) for field, item in value.items()}
    if getattr(value, "shape", None) == () and isinstance(value.item(), (bool, float, str)):
        # A scalar of an array library.
        value = value.item()
    if is_collection(value):
        held = enumerate(items(value))
        return [None if is_missing(item) else plain(f"{name}[{place}]", item) for place, item in held]
    if is_missing(value) and value is not None:
        raise _refused(name, value, "a value: leave it out where there is none")
    form = next((form for kind, form in _FORMS if isinstance(value, kind)), None)
    if form is None:
        raise _refused(name, value, "text, a number, a datetime with a time zone, or a list of them")
    return form(name, value)


def _text(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused(name, text, "text: half of a character (a surrogate) stands in it") from None
    return text


def _integer(name: str, number: Integral) -> int:
    if int(number).bit_length() > _MOST_BITS:
        raise _refused(name, number, f"a number of at most {_MOST_BITS} bits")
    return int(number)


def _double(name: str, number: float) -> float:
    if math.isinf(number):
        raise _refused(name, number, "a finite number")
    return float(number)


def _decimal(name: str, number: Decimal) -> str:
    if not number.is_finite():
        raise _refused(name, number, "a finite number")
    return digits(number)


def _seconds(name: str, time: datetime) -> Any:  # noqa: ANN401
    return _times.seconds(name, time, is_end=False)


def _as_it_is(_: str, value: bool | None) -> bool | None:
    return value


# The forms of the types that most arguments are of.
_PLAIN: dict[type, Callable[[str, Any], Any]] = {
    bool: _as_it_is,
    type(None): _as_it_is,
    str: _text,
    int: _integer,
}

# What values of a kind become; the first kind that fits counts.
_FORMS: tuple[tuple[type, Callable[[str, Any], Any]], ...] = (
    (bool, _as_it_is),
    (type(None), _as_it_is),
    (str, _text),
    (Integral, _integer),
    (float, _double),
    (Decimal, _decimal),
    (datetime, _seconds),
)


def _refused(name: str, value: object, expected: str) -> InvalidInput:
    message = f"{name}: {shown(value)} is of type {type(value).__name__}: expected {expected}"
    return InvalidInput(message, reason="invalid_type", field=name)
