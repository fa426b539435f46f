"""Pictures of traces and paths: pages to look around in, static ones, and widgets of notebooks."""

from __future__ import annotations

import json
import sys
import tempfile
import webbrowser
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater import _headwater, _objects
from headwater.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from anywidget import AnyWidget

# The height of a picture in a notebook, in pixels.
_HEIGHT = 640


class Picture:
    """A picture of a trace or of paths: what ``trace.plot()`` returns.

    A column is a hop. A box is an address with its name and the reason why the money was not followed further. A line
    is the payments between two addresses with their amounts and dates. In a notebook the picture is interactive.

    Examples
    --------
    >>> from headwater.examples import ALICE, ledger
    >>> picture = ledger().trace(ALICE).plot()
    >>> picture
    <Picture of trace of 0xaaaa…aaaa: .save("trace.html") writes it, .show() opens it>
    >>> picture.svg.startswith("<svg"), picture.png[1:4], "<script" in picture.html
    (True, b'PNG', True)
    """

    def __init__(self, native: _headwater.NativePicture, title: str) -> None:
        self._native = native
        self._title = title

    @cached_property
    def html(self) -> str:
        """The picture as a page that needs nothing besides itself.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().trace(ALICE).plot().html.startswith("<!DOCTYPE html>")
        True
        """
        return self._native.html()

    @cached_property
    def svg(self) -> str:
        """The static picture as SVG.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> "Corner Shop" in ledger().trace(ALICE).plot().svg
        True
        """
        return self._native.svg()

    @cached_property
    def png(self) -> bytes:
        r"""The static picture as PNG.

        Raises
        ------
        Unsupported
            When the picture could not be drawn.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().trace(ALICE).plot().png[:4]
        b'\x89PNG'
        """
        return self._native.png()

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file, in the format of its ending.

        Parameters
        ----------
        path : path-like
            A file that ends in ``.html`` (interactive), ``.svg`` or ``.png`` (static).

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        InvalidInput
            When the ending names no format.
        StorageError
            When the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from headwater.examples import ALICE, ledger
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = ledger().trace(ALICE).plot().save(pathlib.Path(folder, "trace.svg"))
        ...     file.read_text(encoding="utf-8").startswith("<svg")
        True
        """
        file = Path(_objects.path(path, "path"))
        ending = file.suffix.lower()
        if ending not in (".html", ".svg", ".png"):
            message = (
                f"path: {file} does not end in .html, .svg or .png, the formats of pictures: use one of these endings"
            )
            raise InvalidInput(message, reason="invalid_value", field="path")
        contents = self.png if ending == ".png" else (self.html if ending == ".html" else self.svg).encode()
        return _objects.write(file, contents)

    def show(self) -> None:
        """Show the picture: in a notebook below the cell, elsewhere in the browser.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().trace(ALICE).plot().show()  # doctest: +SKIP
        """
        if _is_notebook():
            from IPython.display import display  # noqa: PLC0415

            display(self)
            return
        # The browser reads the file after this call has returned: the system removes old files of that folder.
        with tempfile.NamedTemporaryFile(prefix="headwater-", suffix=".html", delete=False) as file:
            file.write(self.html.encode())
        if not webbrowser.open(Path(file.name).as_uri()):
            print(f"no browser found: open {file.name}", file=sys.stderr)

    def widget(self) -> AnyWidget:
        """Return the picture as a widget of a notebook.

        Its trait ``selected`` is the id of the selected address, which may be set too, or ``None``: the address, with
        its chain in front (``tron:T...``) if that is another one than the first.

        Returns
        -------
        anywidget.AnyWidget

        Raises
        ------
        Unsupported
            When anywidget is not installed: ``pip install 'headwater[widget]'``.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> widget = ledger().trace(ALICE).plot().widget()
        >>> widget.selected = ALICE
        """
        from headwater._widget import picture_widget  # noqa: PLC0415

        return picture_widget(json.loads(self._native.json()))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:  # noqa: ANN401
        """Show the picture in a notebook: as a widget where that is installed, else as a page in a frame."""
        try:
            widget = self._widget
        except Unsupported:
            return {"text/html": self._frame(), "image/svg+xml": self.svg, "text/plain": repr(self)}
        bundle = widget._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        # Converters of notebooks show the SVG, because they cannot run a widget.
        return {**(data or {}), "image/svg+xml": self.svg, "text/plain": repr(self)}, metadata

    @cached_property
    def _widget(self) -> AnyWidget:
        return self.widget()

    def _frame(self) -> str:
        """Return the page in a sandboxed frame, whose scripts cannot access the notebook."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="{escape(self._title)}" '
            f'width="100%" height="{_HEIGHT}" style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        """Name the picture, and the ways to see it."""
        return f'<Picture of {self._title}: .save("trace.html") writes it, .show() opens it>'


def _is_notebook() -> bool:
    """Return whether the code runs in a kernel that shows rich output."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
