"""Python objects that callers hand over: items of any collection, what is missing among them, digits of numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from headwater.errors import InvalidInput, StorageError

# No quantity is larger than 256 bits, nor has more digits; what is, need not be written out to be refused.
_MOST_BITS = 512
_MOST_DIGITS = 200
_SHOWN = 96
# Names of the types of what stands for nothing, whatever its library.
_GAPS = frozenset({"NoneType", "NAType", "NaTType"})


def items(values: Iterable[Any]) -> list[Any]:
    """Give what a list, a set, an array or a series holds, as Python's own objects."""
    for name in ("to_pylist", "to_list", "tolist"):
        give = getattr(values, name, None)
        if callable(give):
            given = give()
            # Of an array without a dimension it is the one thing in it.
            return given if isinstance(given, list) else [given]
    return sorted(values, key=repr) if isinstance(values, (set, frozenset)) else list(values)


def is_collection(value: object) -> bool:
    """Tell whether a value holds others: no text, and no mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))


def is_missing(item: Any) -> bool:  # noqa: ANN401
    """Tell whether an item stands for nothing: ``None``, a NaN, and what pandas has for them."""
    kind = type(item)
    # Only a NaN differs from itself.
    return kind.__name__ in _GAPS or (is_double(kind) and bool(item != item))  # noqa: PLR0124


def is_whole(kind: type) -> bool:
    """Tell whether a type is one of integers, of whichever library."""
    return issubclass(kind, Integral) and not issubclass(kind, bool)


def is_exact(kind: type) -> bool:
    """Tell whether a type keeps all digits: those of integers, decimals and text."""
    return is_whole(kind) or issubclass(kind, (Decimal, str))


def is_double(kind: type) -> bool:
    """Tell whether a type is one of floats, of whichever library."""
    return issubclass(kind, Real) and not issubclass(kind, Integral)


def kinds_of(held: Iterable[object]) -> set[type]:
    """Give the types of what is there."""
    return {kind for kind in set(map(type, held)) if kind.__name__ not in _GAPS}


def without_gaps(held: list[Any]) -> list[Any]:
    """Give ``None`` for all that is missing."""
    if not any(kind.__name__ in _GAPS or is_double(kind) for kind in set(map(type, held)) - {type(None)}):
        return held
    return [None if is_missing(item) else item for item in held]


def digits(item: Any) -> str:  # noqa: ANN401
    """Give an exact item as text, without an exponent; of one that no quantity can be, how large it is."""
    if isinstance(item, str):
        return item
    if isinstance(item, Decimal):
        if not item.is_finite() or abs(item.adjusted()) > _MOST_DIGITS:
            return str(item)
        whole, _, fraction = format(item, "f").partition(".")
        return f"{whole}.{fraction}" if fraction.strip("0") else whole
    number = int(item)
    return f"an integer of {number.bit_length()} bits" if number.bit_length() > _MOST_BITS else str(number)


def shown(item: object) -> str:
    """Give an item for a message, on one line and not longer than that."""
    text = digits(item) if is_whole(type(item)) else repr(item)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def plain_text(text: str) -> str:
    """Give text as UTF-8 can hold it: with a mark for halves of characters, which nothing that is valid has."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def path(value: object, name: str) -> str:
    """Return a path of a file or folder as text, with the home folder in place of ``~``."""
    if isinstance(value, (str, os.PathLike)):
        return os.path.expanduser(os.fsdecode(value))
    message = f"{name}: expected a path, not {shown(value)}"
    raise InvalidInput(message, reason="invalid_type", field=name)


def write(file: Path, contents: bytes) -> Path:
    """Write a file that a caller named, and return its path."""
    try:
        file.write_bytes(contents)
    except OSError as error:
        message = f"cannot write {file}: {error.strerror or error}"
        raise StorageError(message) from error
    return file


def paths(values: object, name: str) -> list[str]:
    """Give paths of files as text: one, many, or none for ``None``."""
    if values is None:
        return []
    if isinstance(values, (str, os.PathLike)):
        return [path(values, name)]
    if is_collection(values) and isinstance(values, Iterable):
        return [path(value, f"{name}[{place}]") for place, value in enumerate(values)]
    message = f"{name}: expected paths of files, not {shown(values)}"
    raise InvalidInput(message, reason="invalid_type", field=name)


def count(value: object, name: str) -> int:
    """Return a number that counts something, of whichever library."""
    if isinstance(value, Integral) and is_whole(type(value)) and 0 <= int(value) < 2**64:
        return int(value)
    message = f"{name}: expected an integer from 0 to 2**64 - 1, not {shown(value)}"
    raise InvalidInput(message, reason="invalid_type", field=name)


def texts(values: Any, name: str) -> list[str | None]:  # noqa: ANN401
    """Give a column of text, with ``None`` for what is missing."""
    if not is_collection(values):
        message = f"{name}: expected text, or a list, an array or a series of it, not {type(values).__name__}"
        raise InvalidInput(message, reason="invalid_type", field=name)
    given: list[str | None] = []
    for place, item in enumerate(items(values)):
        if not isinstance(item, str) and not is_missing(item):
            message = f"{name}[{place}] is {shown(item)}, of type {type(item).__name__}: expected text"
            raise InvalidInput(message, reason="invalid_type", field=f"{name}[{place}]")
        given.append(item if isinstance(item, str) else None)
    return given


def whole_texts(values: Any, name: str) -> list[str]:  # noqa: ANN401
    """Give a column of text in which nothing is missing."""
    given = texts(values, name)
    whole = [text for text in given if text is not None]
    if len(whole) < len(given):
        place = f"{name}[{given.index(None)}]"
        message = f"{place} is missing: expected text"
        raise InvalidInput(message, reason="invalid_type", field=place)
    return whole
