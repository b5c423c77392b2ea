"""The replacement state machine over the embedded store: as it is, and with everything staged in small pieces."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings

from florilege.stores import SQLiteStore
from florilege.testing.stores.replacement import replacement_tests
from florilege.text.lexical import Analyzer

_analyzer = Analyzer()


def _open(path: Path) -> SQLiteStore:
    return SQLiteStore(path, analyzer=_analyzer)


def _open_piecemeal(path: Path) -> SQLiteStore:
    return SQLiteStore(path, analyzer=_analyzer, batch_chunks=2)


TestReplacement = replacement_tests(_open, _analyzer.analyze)
TestReplacement.settings = settings(stateful_step_count=15)
TestPiecemealReplacement = replacement_tests(_open_piecemeal, _analyzer.analyze)
TestPiecemealReplacement.settings = settings(stateful_step_count=15)
