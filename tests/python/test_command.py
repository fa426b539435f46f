"""The console script starts without the package and its frames."""

from __future__ import annotations

import subprocess
import sys

from conftest import headwater


def test_command_starts_without_polars() -> None:
    code = (
        "import sys, headwater_cli; sys.argv = ['headwater', '--version']\n"
        "try: headwater_cli.main()\n"
        "finally: print(sorted({'headwater', 'polars'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("headwater ")
    assert run.stdout.endswith("[]\n")


def test_module_runs_the_same_command() -> None:
    run = subprocess.run([sys.executable, "-m", "headwater", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == headwater("--version").stdout
