"""The database file: its tables, its connections, its locks, and what its errors mean."""
