"""The server store; needs the extra ``florilege[postgres]``."""

from florilege.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
