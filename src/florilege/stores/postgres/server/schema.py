"""Is the store there, can it be, and how it is made: versions, extension, grants, indexes."""

from __future__ import annotations

from psycopg import errors, sql

from florilege.interfaces.stores import Findings
from florilege.model.errors import ConfigError, NotFound
from florilege.model.failpoints import failpoint
from florilege.model.hashing import digest
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.tables import TABLES

VERSION = 2
SERVER = 150000
EXTENSION = (0, 8)

_MIGRATIONS: dict[int, str] = {
    1: """
DROP INDEX IF EXISTS {schema}.stat_delta_seq;
ALTER INDEX {schema}.facet_doc SET (fastupdate = off);
""",
}
"""What brings a store of version n to n + 1."""


def lock_key(database: Database, *names: object) -> int:
    """The number of an advisory lock of this store."""
    return int.from_bytes(digest(database.schema, *map(str, names))[:8], "big", signed=True)


def hold_references(database: Database, connection: Connection, *, exclusive: bool = False) -> None:
    """Until this transaction ends: what it may refer to stays (or, ``exclusive``, nobody refers to anything new)."""
    mode = "" if exclusive else "_shared"
    connection.execute(f"SELECT pg_advisory_xact_lock{mode}(%s)", (lock_key(database, "references"),))


def _version(database: Database, connection: Connection) -> int | None:
    found = connection.execute("SELECT to_regclass(%s)", (_qualified(database, "meta"),)).fetchone()
    if found is None or found[0] is None:
        return None
    value = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    version = int(value[0]) if value else 0
    if version > VERSION:
        raise ConfigError(
            f"schema {database.schema!r} of {database.shown} has version {version}; "
            f"upgrade florilege, which knows {VERSION} at most",
            code="newer_store",
        )
    return version


def _qualified(database: Database, name: str) -> str:
    return sql.Identifier(database.schema, name).as_string()


def create(database: Database) -> None:
    """Make what is missing of the store: extension, schema, tables; an older one is brought up to date.

    ConfigError names what the server or the role lacks.
    """
    with database.connection() as connection:
        problems = _server_problems(connection)
        if problems:
            raise ConfigError(f"{database.shown}: {'; '.join(problems)}", code="server")
        connection.execute("SELECT pg_advisory_lock(%s)", (lock_key(database, "schema"),))
        try:
            version = _version(database, connection)
            if version != VERSION:
                with connection.transaction():
                    if version is None:
                        _create(database, connection)
                    else:
                        _upgrade(database, connection, version)
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (lock_key(database, "schema"),))
            connection.close()  # so that the next one knows the types made here


def _create(database: Database, connection: Connection) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise ConfigError(
            f"{database.shown}: pgvector is not there and could not be made ({' '.join(str(error).split())}); "
            "install it, and run as an administrator: CREATE EXTENSION vector",
            code="no_pgvector",
        ) from None
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(database.schema)))
    for statement in TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('version', %s)", (str(VERSION),))


def _upgrade(database: Database, connection: Connection, version: int) -> None:
    """Run the migrations that are due; writers of the older version wait for their end."""
    schema = sql.Identifier(database.schema)
    try:
        for step in range(version, VERSION):
            for statement in filter(str.strip, _MIGRATIONS[step].split(";\n")):
                connection.execute(sql.SQL(statement).format(schema=schema))
            failpoint("migrate")
    except errors.InsufficientPrivilege as error:
        raise ConfigError(
            f"{_older(database, version)}, which role {connection.info.user!r} may not do "
            f"({' '.join(str(error).split())}): run it as the owner of the schema",
            code="older_store",
        ) from None
    connection.execute("UPDATE meta SET value = %s WHERE key = 'version'", (str(VERSION),))


def _older(database: Database, version: int) -> str:
    return (
        f"schema {database.schema!r} of {database.shown} has version {version}, this is {VERSION}; "
        "`florilege store migrate` brings it up to date"
    )


def _server_problems(connection: Connection) -> list[str]:
    """What the server must have before there can be a store."""
    problems = []
    if connection.info.server_version < SERVER:
        problems.append(
            f"PostgreSQL {connection.info.server_version // 10000} is too old, 15 is the oldest that serves"
        )
    encoding = connection.execute("SHOW server_encoding").fetchone()
    if encoding and encoding[0] != "UTF8":
        problems.append(f"the database is encoded in {encoding[0]}, not UTF8")
    found = connection.execute(
        "SELECT coalesce(installed_version, default_version), installed_version IS NOT NULL"
        " FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if found is None:
        problems.append("pgvector is not installed on the server")
    elif tuple(map(int, found[0].split(".")[:2])) < EXTENSION:
        remedy = "ALTER EXTENSION vector UPDATE" if found[1] else "install a newer one"
        problems.append(f"pgvector {found[0]} is too old, 0.8 is the oldest that serves: {remedy}")
    return problems


def missing(database: Database) -> Findings:
    """What the server or the role lacks for a store to be made or written here."""
    with database.connection() as connection:
        findings = Findings(_server_problems(connection), [])
        exists = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (database.schema,)).fetchone()
        if exists is None:
            may = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
            findings.notes.append(f"schema {database.schema!r} is not there yet: apply() makes it")
            if may and not may[0]:
                findings.problems.append(f"role {connection.info.user!r} may not CREATE schemas in this database")
            return findings
        version = _version(database, connection)
        if version is None:
            findings.problems.append(f"schema {database.schema!r} holds no store: apply() makes it")
            return findings
        if version < VERSION:
            findings.problems.append(_older(database, version))
            return findings
        refused = connection.execute(
            "SELECT DISTINCT tablename FROM pg_tables, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS right_to"
            " WHERE schemaname = %s AND NOT has_table_privilege(format('%%I.%%I', schemaname, tablename), right_to)"
            " ORDER BY 1",
            (database.schema,),
        ).fetchall()
        if refused:
            names = ", ".join(name for (name,) in refused[:5])
            findings.problems.append(f"role {connection.info.user!r} may not read and write {names} ...")
        plain = [name for (name,) in _without_ann(connection)]
        if plain:
            findings.notes.append(f"{', '.join(plain)}: dense searches are exact scans; apply(ann=True) indexes them")
    return findings


def index_spaces(database: Database) -> list[str]:
    """Build the HNSW index of every space that has none; returns the tables indexed. Readers and writers go on."""
    with database.connection() as connection:
        tables = [name for (name,) in _without_ann(connection)]
        for table in tables:
            connection.execute(f"DROP INDEX IF EXISTS {table}_ann")  # what an interrupted build left
            connection.execute(
                f"CREATE INDEX CONCURRENTLY {table}_ann ON {table} USING hnsw (data halfvec_ip_ops)"
                " WITH (m = 16, ef_construction = 64)"
            )
    return tables


def _without_ann(connection: Connection) -> list[tuple[str]]:
    return connection.execute(
        "SELECT 'vec_' || pk FROM space WHERE NOT sparse AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indisvalid"
        " AND i.indexrelid = to_regclass('vec_' || pk || '_ann')) ORDER BY pk"
    ).fetchall()


def require(database: Database) -> None:
    """NotFound (code ``no_store``) when there is no store; an older one is brought up to date.

    ConfigError (code ``older_store``) for an older one that is open for reading only.
    """
    with database.connection() as connection:
        version = _version(database, connection)
    if version is None:
        raise NotFound(f"no store in schema {database.schema!r} of {database.shown}", code="no_store")
    if version < VERSION:
        if database.read_only:
            raise ConfigError(_older(database, version), code="older_store")
        create(database)
