"""Keeping a corpus in step with its sources."""

from florilege.indexing.sync.options import Cancel, SyncOptions
from florilege.indexing.sync.plan import PlannedSource, SyncPlan
from florilege.indexing.sync.run import SyncRun

__all__ = ["Cancel", "PlannedSource", "SyncOptions", "SyncPlan", "SyncRun"]
