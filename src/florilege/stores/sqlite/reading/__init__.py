"""The read path: snapshots, and what resident arrays are fed with."""
