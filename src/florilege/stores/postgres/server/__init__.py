"""The server side: connections, how values travel, tables and names."""
