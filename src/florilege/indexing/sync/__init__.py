"""Keeping a corpus in step with its sources."""

from florilege.indexing.sync.options import SyncOptions
from florilege.indexing.sync.run import SyncRun

__all__ = ["SyncOptions", "SyncRun"]
