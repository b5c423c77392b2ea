"""Server stores of earlier schema versions: brought up to date whole, or refused with the way out."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import urlsplit, urlunsplit

import pytest

from florilege.apps.cli import main
from florilege.model.errors import ConfigError
from florilege.stores.postgres import PostgresStore, check_server
from florilege.stores.postgres.server.schema import VERSION
from tests.stores.older.kept import check_kept, postgres_script
from tests.stores.postgres.server import Server


class Older:
    """A store of an older version on the test server."""

    def __init__(self, server: Server, dsn: str) -> None:
        self.server, self.dsn = server, dsn
        self.schema = dsn.rpartition("schema=")[2]
        server.run("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        server.run(postgres_script(1, self.schema))

    @property
    def version(self) -> int:
        ((found,),) = self.server.run(f"SELECT value FROM {self.schema}.meta WHERE key = 'version'")
        return int(found)


@pytest.fixture
def older(server: Server, dsn: str) -> Older:
    return Older(server, dsn)


def test_opening_brings_it_up_to_date(older: Older) -> None:
    with PostgresStore(older.dsn, create=False) as store:
        assert older.version == VERSION
        check_kept(store)


def test_the_command_brings_it_up_to_date(older: Older, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store", older.dsn, "store", "migrate"]) == 0
    assert older.version == VERSION
    assert older.server.run(f"SELECT to_regclass('{older.schema}.stat_delta_seq')") == [(None,)]
    with PostgresStore(older.dsn, create=False, read_only=True) as store:
        assert store.check().problems == []


def test_reading_only_tells_what_to_do(older: Older) -> None:
    with pytest.raises(ConfigError, match="florilege store migrate") as error:
        PostgresStore(older.dsn, read_only=True)
    assert error.value.code == "older_store"
    assert any("florilege store migrate" in problem for problem in check_server(older.dsn).problems)
    assert older.version == 1


def test_somebody_elses_store_is_not_changed(older: Older) -> None:
    role = f"florilege_reader_{os.getpid()}"
    older.server.run(f"CREATE ROLE {role} LOGIN PASSWORD 'guest'")
    try:
        older.server.run(f"GRANT USAGE ON SCHEMA {older.schema} TO {role}")
        older.server.run(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {older.schema} TO {role}")
        url = urlsplit(older.dsn)
        guest = urlunsplit(url._replace(netloc=f"{role}:guest@{url.netloc.rpartition('@')[2]}"))
        with pytest.raises(ConfigError, match="owner") as error:
            PostgresStore(guest)
        assert error.value.code == "older_store"
        assert older.version == 1
    finally:
        older.server.run(f"DROP OWNED BY {role}")
        older.server.run(f"DROP ROLE {role}")
    with PostgresStore(older.dsn) as store:
        check_kept(store)


def test_a_migration_that_is_killed_begins_again(older: Older) -> None:
    script = "import sys; from florilege.stores.postgres import PostgresStore; PostgresStore(sys.argv[1])"
    armed = {**os.environ, "FLORILEGE_FAILPOINT": "migrate"}
    assert subprocess.run([sys.executable, "-c", script, older.dsn], env=armed).returncode == -9
    assert older.version == 1
    with PostgresStore(older.dsn) as store:
        check_kept(store)
