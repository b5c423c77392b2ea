"""Any function, or any object that retrieves, as a retriever."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from florilege.concurrency import Deadline, concurrently, resolve
from florilege.model.errors import ConfigError, RetrievalError
from florilege.model.filters import Filter
from florilege.model.hit import Hit, Query
from florilege.model.ledger import Usage
from florilege.model.matching import matches
from florilege.retrieval.forms import Forms, Found
from florilege.retrieval.trace import Search

if TYPE_CHECKING:
    from florilege.retrieval.steps import Plan

SearchFunction = Callable[..., Any]
_OPTIONS = ("limit", "filter", "request")
_FIELDS = frozenset(item.name for item in fields(Hit))


class FunctionRetriever(Forms):
    """A retriever over ``fn(query)``, sync or async: ``query`` is the text.

    ``fn`` is also given ``limit``, ``filter`` and ``request`` (the whole :class:`florilege.Query`) when it takes
    arguments of these names. It returns hits, or mappings with ``source_id``, ``chunk_id``, ``content`` and perhaps
    ``score`` and other fields of a hit; without scores, order is rank. A filter that ``fn`` does not take by
    name is applied to what it returned, by metadata; the list is put into total order and cut to the limit.
    """

    def __init__(self, *, id: str, fn: SearchFunction, namespace: str = "default", limit: int = 10) -> None:
        if not isinstance(id, str) or not id.strip():
            raise ConfigError(f"Retriever id: must be a non-empty string, not {id!r}")
        if not callable(fn):
            raise ConfigError(f"retriever {id!r} fn: {fn!r} cannot be called")
        self.id = id
        self.namespace = namespace
        self.limit = limit
        self._fn = fn
        self._takes, self._filters = _options_of(fn)

    def search(self, query: Query, *, deadline: Deadline | None = None, recorded: Search | None = None) -> Found:
        """Call the function; also for a recorded search, since a function keeps no state of then."""
        wanted = self.limit if query.limit is None else query.limit
        if wanted == 0 or (not query.text.strip() and query.vector is None):
            return Found([], Usage())
        given = {"limit": wanted, "filter": query.filter, "request": query}
        chosen = {name: given[name] for name in self._takes}
        (outcome,) = concurrently([lambda: resolve(self._fn(query.text, **chosen))], deadline=deadline)
        hits = [self._hit(item, place) for place, item in enumerate(self._items(outcome.result()))]
        if isinstance(query.filter, Filter) and not self._filters:
            hits = [hit for hit in hits if matches(query.filter, hit.metadata, _system(hit))]
        return Found(sorted(hits, key=lambda hit: hit.order)[:wanted], Usage())

    def plan(self) -> Plan:
        """One retrieve step over itself."""
        from florilege.retrieval.steps import Plan, Source, retrieve

        return Plan(id=self.id, sources=(Source(id=self.id, retriever=self),), steps=(retrieve(None),))

    def _items(self, value: Any) -> Iterable[Any]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise RetrievalError(
                f"retriever {self.id!r} returned a {type(value).__name__}, not a list of hits", code="bad_hits"
            )
        return value

    def _hit(self, item: Any, place: int) -> Hit:
        if isinstance(item, Hit):
            return item
        if not isinstance(item, Mapping):
            raise RetrievalError(
                f"retriever {self.id!r} returned a {type(item).__name__} among its hits", code="bad_hits"
            )
        missing = {"source_id", "chunk_id", "content"} - item.keys()
        unknown = item.keys() - _FIELDS
        if missing or unknown:
            raise RetrievalError(
                f"retriever {self.id!r}, hit {place}: "
                + (f"no {min(missing)!r}" if missing else f"a hit has no field {min(map(str, unknown))!r}"),
                code="bad_hits",
            )
        return Hit(**{"namespace": self.namespace, "score": 1.0 / (place + 1), **item})


def as_forms(value: Any) -> Forms:
    """``value`` as something that retrieves: one of ours, or an object with ``id`` and ``retrieve``."""
    if isinstance(value, Forms):
        return value
    id, call = getattr(value, "id", None), getattr(value, "retrieve", None)
    if not isinstance(id, str) or not callable(call):
        raise ConfigError(f"retriever: a {type(value).__name__} has no id and retrieve(query, limit=, filter=)")
    return FunctionRetriever(id=id, fn=call, namespace=str(getattr(value, "namespace", "default")))


def _options_of(fn: SearchFunction) -> tuple[tuple[str, ...], bool]:
    """The options ``fn`` is given, and whether it names the filter, so that it is trusted to apply it."""
    try:
        parameters = signature(fn).parameters
    except (TypeError, ValueError):
        return (), False
    named = tuple(name for name in _OPTIONS if name in parameters)
    if any(item.kind is Parameter.VAR_KEYWORD for item in parameters.values()):
        return tuple(dict.fromkeys([*named, "limit", "filter"])), "filter" in named
    return named, "filter" in named


def _system(hit: Hit) -> dict[str, Any]:
    pages = hit.provenance.pages
    return {"$source_id": hit.source_id, "$title": hit.title, "$page": pages[0] if pages else None}
