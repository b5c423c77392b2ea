"""A run's results as they come in, told to the subscriber one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from florilege.model.document import Failed, IngestWarning
from florilege.model.events import Event, Subscriber, emit
from florilege.model.ledger import Action, SourceResult, StageRecord


class Tally:
    """One result a source id, in order of arrival; second sources of one id are kept apart."""

    def __init__(self, subscriber: Subscriber | None, namespace: str) -> None:
        self._subscriber = subscriber
        self._namespace = namespace
        self.results: dict[str, SourceResult | None] = {}
        self._seconds: list[SourceResult] = []

    def saw(self, source_id: str) -> bool:
        """Whether this run has met the id already."""
        return source_id in self.results

    def reserve(self, source_id: str) -> None:
        """Take the source's place while it is on its way to publication."""
        self.results.setdefault(source_id, None)

    def tell(
        self,
        source_id: str,
        action: Action,
        reason: str | None = None,
        *,
        chunk_count: int = 0,
        stages: tuple[StageRecord, ...] = (),
        failure: Failed | None = None,
        warnings: tuple[IngestWarning, ...] = (),
    ) -> None:
        """Record what happened to a source."""
        error = None if failure is None else {"code": failure.code, "message": failure.message}
        self.results[source_id] = self._told(
            SourceResult(
                source_id=source_id,
                action=action,
                reason=reason,
                chunk_count=chunk_count,
                stages=stages,
                error=error,
                warnings=warnings,
            )
        )

    def second(self, failure: Failed) -> None:
        """Record the failure of a second source of one id; the first one's result stands."""
        error = {"code": failure.code, "message": failure.message}
        self._seconds.append(
            self._told(SourceResult(source_id=failure.source_id, action="failed", reason=failure.code, error=error))
        )

    def every(self) -> tuple[SourceResult, ...]:
        """All results, second sources last. A source still on its way when the run stopped has none."""
        return (*(result for result in self.results.values() if result is not None), *self._seconds)

    def counts(self) -> dict[str, int]:
        """How many sources had each action."""
        return dict(Counter(str(result.action) for result in self.every()))

    def _told(self, result: SourceResult) -> SourceResult:
        facts: dict[str, Any] = {"reason": result.reason, **(result.error or {})}
        if result.warnings:
            facts["warnings"] = [warning.code for warning in result.warnings]
        emit(
            self._subscriber,
            Event(
                kind=f"corpus.source.{result.action}",
                namespace=self._namespace,
                source_id=result.source_id,
                operation="sync",
                counts={"chunks": result.chunk_count},
                facts=facts,
                stages=result.stages,
            ),
        )
        return result
