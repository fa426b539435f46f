"""What a server says when it refuses, as exceptions; and what it says of its limits."""

from __future__ import annotations

import email.utils
import http.client
import json
import re
import time
import urllib.parse
from typing import Any

from headwater import errors
from headwater.errors import HeadwaterError

_BY_STATUS: dict[int, type[HeadwaterError]] = {
    400: errors.InvalidInput,
    401: errors.Unauthorized,
    402: errors.InsufficientCredit,
    403: errors.Forbidden,
    404: errors.NotFound,
    406: errors.InvalidInput,
    409: errors.Conflict,
    413: errors.InvalidInput,
    415: errors.InvalidInput,
    429: errors.RateLimited,
    500: errors.InternalError,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.TimedOut,
}

# Of a number that a header holds: with more, no table could count so many.
_MOST_DIGITS = 18


def of(status: int, headers: http.client.HTTPMessage, body: bytes) -> HeadwaterError:
    """Give the exception for an answer that is no success."""
    told = _envelope(body)
    kind = _BY_STATUS.get(status, errors.ServerError)
    if told is None:
        error: HeadwaterError = _foreign(kind, status, body)
    else:
        details = told["details"] if isinstance(told.get("details"), dict) else {}
        message = f"{told.get('message', 'no message')} (HTTP {status})" if _is_ours_only(kind) else told["message"]
        reason, candidates = details.get("reason"), details.get("candidates")
        if kind is errors.InvalidInput and reason == "unknown_field":
            kind = errors.UnknownField
        names = candidates if isinstance(candidates, list) else []
        error = kind(message, reason=reason or told.get("code"), field=details.get("field"), candidates=names)
        if kind in {errors.InvalidInput, errors.UnknownField, errors.NotFound}:
            # As the engine says it, which knows no codes of HTTP.
            error.reason = reason
    error.status = status
    error.request_id = headers.get("X-Request-Id")
    if isinstance(error, errors.ServerError):
        error.retry_after = retry_after(headers)
    return error


def envelope_of(status: int, headers: http.client.HTTPMessage, body: bytes) -> dict[str, Any]:
    """Return an answer, or refuse a body that is not one of Headwater, such as the page of a proxy in between."""
    try:
        envelope = json.loads(body.decode()) if headers.get_content_type() == "application/json" else None
    except (ValueError, RecursionError):
        envelope = None
    if isinstance(envelope, dict) and all(isinstance(envelope.get(name), dict) for name in ("data", "meta")):
        return envelope
    raise foreign(status, body)


def foreign(status: int, body: bytes) -> errors.ServerError:
    """Give the exception for what is no answer of Headwater."""
    shown = " ".join(body[:200].decode(errors="replace").split())
    message = f"what answers {status} is not Headwater, or something stands in between: {shown!r}"
    error = errors.ServerError(message, reason="foreign_answer")
    error.status = status
    return error


def retry_after(headers: http.client.HTTPMessage) -> float | None:
    """Give the seconds of ``Retry-After``, which may be a date."""
    text = (headers.get("Retry-After") or "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def exhausted_for(headers: http.client.HTTPMessage) -> float | None:
    """Give the seconds until a limit that is used up has room, as ``RateLimit`` says: ``"medium";r=0;t=2``."""
    text = headers.get("RateLimit") or ""
    parameters = dict(re.findall(r";\s*([rt])=(\d+)", text))
    if parameters.get("r") != "0" or "t" not in parameters:
        return None
    return float(parameters["t"])


def secs_per_call(headers: http.client.HTTPMessage) -> float | None:
    """Give the seconds in which a limit grows by one call, as ``RateLimit-Policy`` says: ``"medium";q=40;w=2``."""
    parameters = dict(re.findall(r";\s*([qw])=(\d{1,9})(?!\d)", headers.get("RateLimit-Policy") or ""))
    calls, secs = (int(parameters.get(name, 0)) for name in "qw")
    return secs / calls if calls else None


def number_of(text: str | None) -> int | None:
    """Give the number of a header, or nothing of what is none or larger than any that is counted."""
    return int(text) if text is not None and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def redirected(status: int, headers: http.client.HTTPMessage, base: str, path: str) -> errors.ServerError:
    """Give the exception for an answer that leads elsewhere, which may not be given the key unasked."""
    place = headers.get("Location")
    message = f"the server answers {status} and leads to {place!r}"
    whole, called = urllib.parse.urljoin(base + path, place or "").partition("?")[0], path.partition("?")[0]
    if place and whole.endswith(called):
        message = f"{message}: connect to {whole.removesuffix(called)!r}"
    else:
        message = f"{message}, which is no call: connect to the address of Headwater itself"
    error = errors.ServerError(message, reason="redirect")
    error.status = status
    return error


def _envelope(body: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get("message"), str) else None


def _is_ours_only(kind: type[HeadwaterError]) -> bool:
    return issubclass(kind, errors.ServerError)


def _foreign(kind: type[HeadwaterError], status: int, body: bytes) -> HeadwaterError:
    error = foreign(status, body)
    return kind(str(error), reason=error.reason) if _is_ours_only(kind) else error
