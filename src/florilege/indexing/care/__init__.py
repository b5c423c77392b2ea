"""Verbs over what is indexed already: earlier generations, and the move to another embedding space."""

from florilege.indexing.care.generations import Diff, diff, hold, rollback
from florilege.indexing.care.migration import Migration, migrate

__all__ = ["Diff", "Migration", "diff", "hold", "migrate", "rollback"]
