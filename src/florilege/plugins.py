"""Plugins: what installed distributions offer, and what each part of it is called."""

from __future__ import annotations

from florilege.chunkers.paged.installed import installed as page_chunkers
from florilege.discovery import FACTORIES, PROVIDERS, Offer, Snapshot, factory, names, offers, snapshot

__all__ = ["FACTORIES", "PROVIDERS", "Offer", "Snapshot", "factory", "names", "offers", "page_chunkers", "snapshot"]
