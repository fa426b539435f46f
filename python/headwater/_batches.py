"""Many requests as few calls: which calls about one address have another that takes many, and what that answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater import _headwater
from headwater._fields import LISTS
from headwater.reports import Report


@dataclass(frozen=True)
class BatchForm:
    """The call that takes many of what another call takes one of."""

    call: str
    # Its list, and the fields of an item; an item without fields is the address itself.
    list: str
    item: tuple[str, ...]
    # Its other fields, which are those of the call about one.
    shared: frozenset[str]
    # Whether each item that succeeds has the price of a call.
    is_paid_by_item: bool = False


_FORMS = {
    "address-risk": BatchForm(
        "address-risk/batch", "queries", ("blockchain", "address"), frozenset({"third_party"}), is_paid_by_item=True
    ),
    "labels": BatchForm("labels", "addresses", (), frozenset({"blockchain", "as_of"})),
}
_PAID_BY_ITEM = frozenset(form.call for form in _FORMS.values() if form.is_paid_by_item)


@dataclass(frozen=True)
class Batch:
    """A call that answers the requests at some positions."""

    name: str
    request: dict[str, Any]
    places: Sequence[int]
    # How its answer is made of those to single calls; none of a single call.
    form: BatchForm | None = None

    def split(self, data: Mapping[str, Any], meta: Mapping[str, Any], single: str) -> dict[int, _headwater.Answer]:
        """Return the answers to the single calls by position; those with an error of their own are left out."""
        results: list[dict[str, Any]] = data["results"]
        whole = [(place, result) for place, result in zip(self.places, results, strict=True) if not result.get("error")]
        own = dict(meta)
        if self.form is not None and self.form.is_paid_by_item and whole and own.get("credit_cost") is not None:
            own["credit_cost"] //= len(whole)
        return {
            place: _headwater.Answer(single, {name: of for name, of in result.items() if name != "error"}, own)
            for place, result in whole
        }

    def halves(self) -> list[Batch]:
        """Return two calls about the first and the second half of the items."""
        if self.form is None:
            return [self]
        middle, items = len(self.places) // 2, self.request[self.form.list]
        return [
            Batch(self.name, {**self.request, self.form.list: items[part]}, self.places[part], self.form)
            for part in (slice(None, middle), slice(middle, None))
        ]


def planned(name: str, requests: Sequence[dict[str, Any]]) -> list[Batch]:
    """Return the fewest calls that answer requests of one call."""
    form = _FORMS.get(name)
    single = [Batch(name, request, [place]) for place, request in enumerate(requests)]
    if form is None or len(requests) < 2 or not all(_fits(form, request) for request in requests):
        return single
    batches = []
    others = [{field: value for field, value in request.items() if field in form.shared} for request in requests]
    for places in places_by([json.dumps(fields, sort_keys=True) for fields in others], LISTS[form.call][form.list]):
        items = [_item(form, requests[place]) for place in places]
        batches.append(Batch(form.call, {**others[places[0]], form.list: items}, places, form))
    return [single[batch.places[0]] if len(batch.places) == 1 else batch for batch in batches]


def places_by(kinds: Sequence[str], size: int | None) -> list[list[int]]:
    """Return the positions of items by kind, at most so many of a kind together."""
    by_kind: dict[str, list[int]] = {}
    for place, kind in enumerate(kinds):
        by_kind.setdefault(kind, []).append(place)
    step = size or max(len(kinds), 1)
    return [of[start : start + step] for of in by_kind.values() for start in range(0, len(of), step)]


def items_paid(name: str, data: Mapping[str, Any]) -> int:
    """Return how many times the price of a call its answer costs."""
    if name not in _PAID_BY_ITEM:
        return 1
    return sum(result.get("error") is None for result in data["results"])


def joined(reports: Iterable[Report[Any]]) -> Report[Any]:
    """Return one report with the results of several, in order."""
    whole = list(reports)
    warnings: dict[tuple[str, str | None], dict[str, Any]] = {}
    for warning in (warning for report in whole for warning in report.warnings):
        same = warnings.setdefault((warning["code"], warning["field"]), {**warning, "count": 0})
        same["count"] += warning.get("count", 1)
    meta = {**whole[-1].meta, "warnings": list(warnings.values())}
    costs = [report.meta["credit_cost"] for report in whole if report.meta.get("credit_cost") is not None]
    if costs:
        meta["credit_cost"] = sum(costs)
    data = {"results": [result for report in whole for result in report.data["results"]]}
    return Report(whole[0].endpoint, _headwater.Answer(whole[0].endpoint, data, meta))


def _fits(form: BatchForm, request: Mapping[str, Any]) -> bool:
    needed = {"address", *form.item}
    return needed <= set(request) <= needed | form.shared


def _item(form: BatchForm, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
    return {field: request[field] for field in form.item} if form.item else request["address"]
