"""Sources that lie elsewhere: addresses, object storage, other file systems."""
