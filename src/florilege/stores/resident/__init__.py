"""Searchable state in memory, the same for every store that feeds it."""
