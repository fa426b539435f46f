"""``python -m headwater``: the command line."""

from headwater_cli import main

main()
