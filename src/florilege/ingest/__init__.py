"""From files, addresses and bytes to documents."""

from florilege.ingest.load import LoadListing, load
from florilege.ingest.reading import read_bytes

__all__ = ["LoadListing", "load", "read_bytes"]
