"""The console script: the same command line as the ``headwater`` binary.

It is a separate package, because importing ``headwater`` imports polars, which takes longer than most commands.
"""

from __future__ import annotations

import signal
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_NATIVE = "headwater._headwater"


def main() -> None:
    """Run the command line and exit with its code."""
    # The native command line handles signals itself; Python's handler would only see them after it returned.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native().main(["headwater", *sys.argv[1:]]))


def _native() -> ModuleType:
    """Return the native library without importing the package around it."""
    if _NATIVE in sys.modules:
        return sys.modules[_NATIVE]
    package = find_spec("headwater")
    spec = None if package is None else PathFinder.find_spec(_NATIVE, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        sys.exit("error: the native library of headwater is missing: install the wheel again")
    native = module_from_spec(spec)
    spec.loader.exec_module(native)
    return native
