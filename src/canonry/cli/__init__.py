"""The command line: `canonry COMMAND`; a command's module is imported only when it runs."""

from canonry.cli.entry import main

__all__ = ["main"]
