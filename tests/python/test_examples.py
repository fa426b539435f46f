"""Every public name has a docstring with an example. That the examples run is checked where doctests run."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import headwater as hw


def public_members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that the package defines."""
    for owner in kind.__mro__:
        if owner.__module__.partition(".")[0] == "headwater":
            for name, member in vars(owner).items():
                if not name.startswith("_") and (callable(member) or isinstance(member, (property, staticmethod))):
                    yield name, getattr(member, "__func__", member)


def public_names() -> Iterator[tuple[str, Any, list[type]]]:
    """Every public name with its object, and the classes whose examples may show it."""
    for name in hw.__all__:
        of = getattr(hw, name)
        if inspect.isclass(of):
            yield name, of, list(of.__mro__) if issubclass(of, BaseException) else []
            yield from ((f"{name}.{member}", inner, list(of.__mro__)) for member, inner in public_members(of))
        elif inspect.ismodule(of):
            yield name, of, []
            functions = inspect.getmembers(of, inspect.isfunction)
            yield from (
                (f"{name}.{inner}", function, [])
                for inner, function in functions
                if function.__module__ == of.__name__ and not inner.startswith("_")
            )
        elif not isinstance(of, str):
            yield name, of, []


def example_of(of: Any) -> str:  # noqa: ANN401
    """The examples in the docstring of an object itself, with what they print."""
    doc = of.__dict__.get("__doc__") if isinstance(of, type) else of.__doc__
    return "".join(example.source + example.want for example in doctest.DocTestParser().get_examples(doc or ""))


def has_example(name: str, of: Any, shown_by: list[type]) -> bool:  # noqa: ANN401
    """Return whether a name is shown: a member also by the example of its class, an exception by one above it."""
    last = name.rpartition(".")[2]
    return bool(example_of(of)) or any(last in example_of(kind) for kind in shown_by)


def test_every_public_name_has_a_docstring_with_an_example() -> None:
    names = list(public_names())
    assert len(names) > 100
    assert [name for name, of, _ in names if not inspect.getdoc(of)] == []
    assert [name for name, of, shown_by in names if not has_example(name, of, shown_by)] == []


def test_name_without_an_example_is_found() -> None:
    class Bare:
        """Has no example."""

    assert not has_example("Bare", Bare, [Bare])
    assert has_example("address.validate", hw.address.validate, [])
