"""The command line; ``main`` is the program. Nothing here imports torch before a command needs it."""

from .program import main

__all__ = ["main"]
