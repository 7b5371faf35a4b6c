"""`python -m sottovoce` is the command line."""

from sottovoce.cli import main

main()
