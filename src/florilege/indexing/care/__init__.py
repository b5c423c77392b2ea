"""Verbs over what is indexed already: earlier generations, and the move to another embedding space."""

from florilege.indexing.care.generations import Diff, diff, hold, rollback
from florilege.indexing.care.mending import Repair, Verification, repair, verify
from florilege.indexing.care.migration import Migration, migrate

__all__ = [
    "Diff",
    "Migration",
    "Repair",
    "Verification",
    "diff",
    "hold",
    "migrate",
    "repair",
    "rollback",
    "verify",
]
