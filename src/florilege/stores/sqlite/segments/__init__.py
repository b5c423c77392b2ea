"""Segments: searchable rows in files beside the database, which lists them and is right whenever they differ."""
