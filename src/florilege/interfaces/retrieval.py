"""What answers questions with hits, and where hits can be read on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from florilege.interfaces.stores import Snapshot
from florilege.model.filters import Filter
from florilege.model.hit import Hit, Query


@runtime_checkable
class HitSource(Protocol):
    """Anything that answers a question with hits, best first: a retriever, a recipe, or an object of this shape.

    ``filter`` narrows what it would answer and never widens it. ``retrieve`` may be a coroutine function.
    """

    id: str

    def retrieve(
        self, query: str | Query, *, limit: int | None = None, filter: Filter | Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """The best hits, at most ``limit``."""
        ...


class Origin(NamedTuple):
    """A store that hits of ``namespace`` came from, seen through the retriever's filter floor."""

    id: str
    namespace: str
    snapshot: Callable[[], AbstractContextManager[Snapshot]]
