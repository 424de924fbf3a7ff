"""The ``linkwise`` command: a thin skin over the library, one module a command."""

from .main import COMMANDS, build_parser, main

__all__ = ["COMMANDS", "build_parser", "main"]
