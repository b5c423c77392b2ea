"""Verbs over what is indexed already: earlier generations, and the move to another embedding space."""

from florilege.indexing.care.generations import Diff, diff, hold, rollback
from florilege.indexing.care.mending import Repair, Verification, repair, verify
from florilege.indexing.care.migration import Migration, migrate
from florilege.indexing.care.waiting import Embedded, embed_waiting

__all__ = [
    "Diff",
    "Embedded",
    "Migration",
    "Repair",
    "Verification",
    "diff",
    "embed_waiting",
    "hold",
    "migrate",
    "repair",
    "rollback",
    "verify",
]
