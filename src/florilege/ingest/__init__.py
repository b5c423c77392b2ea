"""From files, addresses and bytes to documents."""

from florilege.ingest.load import LoadListing, load
from florilege.ingest.reading import read_bytes
from florilege.ingest.remote.storage import Storage
from florilege.ingest.web.access import Crawl

__all__ = ["Crawl", "LoadListing", "Storage", "load", "read_bytes"]
