"""The table of calls: their names, and how HTTP has them."""

from __future__ import annotations

from dataclasses import dataclass

from headwater import _headwater
from headwater._objects import plain_text, shown
from headwater.errors import InvalidInput, NotFound

_VERSIONS = ("v1/", "v2/")


@dataclass(frozen=True)
class Route:
    """A call as HTTP has it."""

    path: str
    method: str
    cost: int
    # The field that leads through the pages of a list.
    pages: str | None = None
    # The field of the answer that holds the rows; without one the answer itself is the only row.
    rows: str | None = None

    @property
    def parts(self) -> list[str]:
        """The fields that stand in the path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


# All calls of the engine, and those that only a server answers.
ROUTES = {
    **{name: Route(path, method, cost, pages, rows) for name, path, method, cost, pages, rows in _headwater.calls()},
    "usage": Route("/v1/usage", "GET", 0, rows="by_endpoint"),
}


def route(name: str) -> Route:
    """Give a call by its name."""
    found = ROUTES.get(name)
    if found is None:
        message = f'there is no call "{name}"'
        raise NotFound(message)
    return found


def named(endpoint: str) -> tuple[str, dict[str, str]]:
    """Give the name of a call, and the fields that stand in its path, from the name or the path itself.

    ``chains``, ``v1/chains`` and ``/v1/chains`` are one call, as at the shell; ``transaction/0x…`` has the hash in it.
    What is no call stays as it is: whoever answers says so.
    """
    if not isinstance(endpoint, str):
        message = f'endpoint: {shown(endpoint)} is no text: expected the path of a call, such as "transactions"'
        raise InvalidInput(message, reason="invalid_type", field="endpoint")
    path = endpoint.strip("/")
    bare = path[3:] if path.startswith(_VERSIONS) else path
    if bare in ROUTES:
        return bare, {}
    name, _, value = bare.rpartition("/")
    parts = ROUTES[name].parts if name in ROUTES else []
    if len(parts) != 1:
        return plain_text(endpoint), {}
    return name, {} if value == f"{{{parts[0]}}}" else {parts[0]: value}
