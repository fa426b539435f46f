"""The console script: the same command line as the ``headwater`` binary."""

from __future__ import annotations

import signal
import sys

from headwater import _headwater


def main() -> None:
    """Run the command line and exit with its code."""
    # The native command line handles signals itself; Python's handler would only see them after it returned.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_headwater.main(["headwater", *sys.argv[1:]]))
