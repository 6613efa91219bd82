"""The command `partwhole`."""

from partwhole.cli.command import main as main

__all__ = ["main"]
