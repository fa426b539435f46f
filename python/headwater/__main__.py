"""``python -m headwater``: the command line."""

from headwater._cli import main

main()
