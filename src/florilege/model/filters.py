"""Filters over metadata: one typed tree."""

from __future__ import annotations


class Filter:
    """Base of the filter tree."""
