"""The replacement state machine over the server store: as it is, and with everything staged in small pieces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import TestCase

import pytest
from hypothesis import settings

from florilege.stores.postgres import PostgresStore
from florilege.testing.stores.replacement import replacement_tests
from florilege.text.lexical import Analyzer

_analyzer = Analyzer()
_urls: list[Callable[[Path], str]] = []


@pytest.fixture(scope="module", autouse=True)
def _server(dsn_of: Callable[[Path], str]) -> None:
    _urls.append(dsn_of)


def _open(path: Path) -> PostgresStore:
    return PostgresStore(_urls[-1](path), analyzer=_analyzer)


def _open_piecemeal(path: Path) -> PostgresStore:
    return PostgresStore(_urls[-1](path), analyzer=_analyzer, batch_chunks=2)


_few = settings(stateful_step_count=12, max_examples=settings.default.max_examples // 5)

TestReplacement: type[TestCase] = replacement_tests(_open, _analyzer.analyze)
TestReplacement.settings = _few  # type: ignore[attr-defined]
TestPiecemealReplacement: type[TestCase] = replacement_tests(_open_piecemeal, _analyzer.analyze)
TestPiecemealReplacement.settings = _few  # type: ignore[attr-defined]
