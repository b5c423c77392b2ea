"""The command line."""

from florilege.apps.cli.main import main

__all__ = ["main"]
