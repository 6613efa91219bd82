"""Run the command as ``python -m partwhole``."""

from partwhole.cli import main

main()
