"""The read path: snapshots, filters as SQL, the legs."""
