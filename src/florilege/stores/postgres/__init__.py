"""The server store; needs the extra ``florilege[postgres]``."""

from florilege.stores.postgres.store import PostgresStore, check_server

__all__ = ["PostgresStore", "check_server"]
