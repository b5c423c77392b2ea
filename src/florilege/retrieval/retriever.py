"""Questions over one namespace of a store: choose legs, search a snapshot, fuse, hydrate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

from florilege.concurrency import Deadline
from florilege.interfaces.embedding import Embedder, SparseEmbedder
from florilege.interfaces.retrieval import Origin
from florilege.interfaces.stores import Candidate, DataStore, SearchRequest, SearchResult, Snapshot
from florilege.model.chunk import Chunk, Provenance
from florilege.model.errors import ConfigError, RetrievalError, StoreError
from florilege.model.events import Subscriber
from florilege.model.filters import Filter, filter_json, parse_filter
from florilege.model.hashing import fingerprint
from florilege.model.hit import Hit, HitProvenance, LegRank, Mode, Query
from florilege.model.ledger import Usage
from florilege.retrieval.forms import Forms, Found, checked_limit
from florilege.retrieval.functions import FunctionRetriever, SearchFunction
from florilege.retrieval.legs.fusion import Fusion, rrf
from florilege.retrieval.legs.inputs import Legs
from florilege.retrieval.legs.vectors import encode_vector
from florilege.retrieval.trace import Search
from florilege.text.clean import clean_text

if TYPE_CHECKING:
    from florilege.retrieval.steps import Plan

LEG_DEPTH = 200
_MODES = get_args(Mode)
_CHOICE = 4
_OPTIONS = (
    *("data", "namespace", "id", "dense", "sparse", "mode", "limit", "threshold", "filter", "fusion"),
    *("dedupe", "diversify", "on_event"),
)


class Retriever(Forms):
    """Retrieves hits from the active generations of one namespace.

    ``mode`` "hybrid" searches by words and by every embedder there is (``dense``, ``sparse``), "auto" by words and by
    those the namespace has vectors of; "lexical", "dense" and "sparse" are one leg alone.
    ``filter`` is a floor: a request's own filter only narrows it. ``threshold`` drops what a leg scored below it, on
    that leg's own scale: one number for every leg, or a mapping of leg to number. ``limit`` is the default number of
    hits. Hits come in total order: score descending, then namespace, source id, chunk id.

    ``dedupe`` drops hits that nearly repeat a better one, and ``diversify`` prefers hits that say something new, as the
    steps of these names do with that share (0 to 1); both look at four times as many hits as are wanted. Off by
    default.
    """

    def __init__(
        self,
        *,
        data: DataStore,
        namespace: str = "default",
        id: str = "retriever",
        vectors: object | None = None,
        dense: Embedder | None = None,
        sparse: SparseEmbedder | None = None,
        mode: Mode = "auto",
        limit: int = 10,
        threshold: float | Mapping[str, float] | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        fusion: Fusion | None = None,
        dedupe: float | None = None,
        diversify: float | None = None,
        on_event: Subscriber | None = None,
    ) -> None:
        if vectors is not None and vectors is not data:
            raise ConfigError("Retriever vectors: must be the same store as data; two stores share no snapshot")
        if not isinstance(id, str) or not id.strip():
            raise ConfigError(f"Retriever id: must be a non-empty string, not {id!r}")
        if clean_text(namespace) != namespace:
            raise ConfigError(f"Retriever namespace: {namespace!r} holds NUL or half a character")
        self.id = id
        self.namespace = namespace
        self.data = data
        self.dense = dense
        self.sparse = sparse
        self.mode = _mode(mode)
        self.limit = limit if checked_limit(limit) is not None else 10
        self.threshold = threshold
        self.filter = None if filter is None else parse_filter(filter)
        self.fusion = fusion or rrf()
        self.dedupe = _share("dedupe", dedupe)
        self.diversify = _share("diversify", diversify)
        self.on_event = on_event

    @staticmethod
    def from_function(*, id: str, fn: SearchFunction, namespace: str = "default", limit: int = 10) -> FunctionRetriever:
        """A retriever over any function; see :class:`florilege.retrieval.functions.FunctionRetriever`."""
        return FunctionRetriever(id=id, fn=fn, namespace=namespace, limit=limit)

    def search(self, query: Query, *, deadline: Deadline | None = None, recorded: Search | None = None) -> Found:
        """Answer a checked query. Text is text: quotes, operators and braces have no meaning.

        ``recorded`` is answered as it was then: at its change number, with its query vector. Raises ConfigError for an
        unusable mode or filter, or when the namespace was embedded in another space than this retriever's embedder
        makes; NotFound (``collected``) when what ``recorded`` saw is gone.
        """
        wanted = self.limit if query.limit is None else query.limit
        text = clean_text(query.text)
        given = query.vector is not None or (recorded is not None and recorded.vector is not None)
        if wanted == 0 or not (text.strip() or given):
            return Found([], Usage())
        legs = Legs(id=self.id, namespace=self.namespace, data=self.data, dense=self.dense, sparse=self.sparse)
        inputs = legs.inputs(query, text, _mode(query.mode or self.mode), recorded)
        narrowed = query.filter if isinstance(query.filter, Filter) else None
        choice = wanted if self.dedupe is None and self.diversify is None else _CHOICE * wanted
        request = legs.request(inputs, narrowed, max(LEG_DEPTH, choice), None if deadline is None else deadline.left())
        at = None if recorded is None else recorded.seq
        with self.data.snapshot(self.namespace, self.filter, at=at) as snapshot:
            if at is not None:
                snapshot.titles([])  # says so when what was seen then has been collected
            hits = self._hits(snapshot, self._searched(snapshot, request), text, choice)
        vector = None if inputs.vector is None else encode_vector(inputs.vector)
        return Found(self._varied(hits, wanted), inputs.usage, snapshot.seq, vector, inputs.sparse)

    def _searched(self, snapshot: Snapshot, request: SearchRequest) -> SearchResult:
        try:
            return snapshot.search(request)
        except StoreError as error:
            if error.code != "deadline":
                raise
            message = f"retriever {self.id!r}: the deadline passed"
            raise RetrievalError(message, code="deadline", retryable=True) from error

    def fingerprint(self) -> str:
        """Its identity: namespace, spaces, and every option that decides what it finds."""
        options = {
            "namespace": self.namespace,
            "dense": None if self.dense is None else self.dense.space.identity,
            "sparse": None if self.sparse is None else self.sparse.space.identity,
            "mode": self.mode,
            "limit": self.limit,
            "threshold": self.threshold,
            "filter": None if self.filter is None else filter_json(self.filter),
            "fusion": repr(self.fusion),
            "dedupe": self.dedupe,
            "diversify": self.diversify,
        }
        return fingerprint(f"retriever:{self.id}", "1", options)

    def origins(self) -> tuple[Origin, ...]:
        """The store it searches."""
        return (Origin(self.id, self.namespace, lambda: self.data.snapshot(self.namespace, self.filter)),)

    def plan(self) -> Plan:
        """One retrieve step over itself."""
        from florilege.retrieval.steps import Plan, Source, retrieve

        return Plan(id=self.id, sources=(Source(id=self.id, retriever=self),), steps=(retrieve(None),))

    def _varied(self, hits: list[Hit], limit: int) -> list[Hit]:
        """The ``limit`` hits of a larger choice that differ as they are meant to."""
        if self.dedupe is None and self.diversify is None:
            return hits
        from florilege.retrieval.passages.variety import distinct, diverse

        if self.dedupe is not None:
            hits = distinct(hits, self.dedupe)
        return hits[:limit] if self.diversify is None else diverse(hits, self.diversify, limit)

    def _hits(self, snapshot: Snapshot, result: SearchResult, text: str, limit: int) -> list[Hit]:
        legs = {leg: self._above(leg, candidates) for leg, candidates in result.legs.items()}
        if len(legs) == 1:
            ((_, only),) = legs.items()
            scores = {candidate.row: candidate.score for candidate in only}
        else:
            scores = self.fusion.fuse(legs)
        known = {candidate.row: candidate for candidates in legs.values() for candidate in candidates}
        order = sorted(scores, key=lambda row: (-scores[row], known[row].source_id, known[row].chunk_id))[:limit]
        ranks = _ranks(legs, set(order))
        chunks = snapshot.hydrate(order)
        titles = snapshot.titles(list({chunk.source_id for chunk in chunks}))
        return [
            self._hit(chunk, titles.get(chunk.source_id), scores[row], ranks[row], text, fused=len(legs) > 1)
            for row, chunk in zip(order, chunks, strict=True)
        ]

    def _above(self, leg: str, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        threshold = self.threshold.get(leg) if isinstance(self.threshold, Mapping) else self.threshold
        if threshold is None:
            return candidates
        return [candidate for candidate in candidates if candidate.score >= threshold]

    def _hit(
        self, chunk: Chunk, title: str | None, score: float, legs: tuple[LegRank, ...], text: str, *, fused: bool
    ) -> Hit:
        facts = {item.name: getattr(chunk.provenance, item.name) for item in fields(Provenance)}
        provenance = HitProvenance(
            **facts,
            raw_score=score,
            legs=legs,
            matched_queries=(text,) if text else (),
            fused_score=score if fused else None,
            parent=chunk.parent,
        )
        return Hit(
            namespace=self.namespace,
            source_id=chunk.source_id,
            chunk_id=chunk.chunk_id or "",
            content=chunk.content,
            score=score,
            context=chunk.context,
            title=title,
            ordinal=chunk.ordinal,
            generation_id=chunk.generation_id,
            metadata=chunk.metadata,
            provenance=provenance,
            parent=chunk.parent,
        )

    def with_options(self, **options: Any) -> Retriever:
        """A copy with other options, named as in the constructor."""
        current = {name: getattr(self, name) for name in _OPTIONS}
        return Retriever(**{**current, **options})


def _ranks(legs: Mapping[str, Sequence[Candidate]], rows: set[int]) -> dict[int, tuple[LegRank, ...]]:
    ranks: dict[int, tuple[LegRank, ...]] = dict.fromkeys(rows, ())
    for leg, candidates in legs.items():
        for rank, candidate in enumerate(candidates, start=1):
            if candidate.row in rows:
                ranks[candidate.row] += (LegRank(leg=leg, rank=rank, score=candidate.score),)
    return ranks


def _share(name: str, value: float | None) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1):
        raise ConfigError(f"Retriever {name}: must be a number from 0 to 1 or None, not {value!r}")
    return value


def _mode(mode: Mode) -> Mode:
    if mode not in _MODES:
        raise ConfigError(f"mode: {mode!r} is not one of {', '.join(_MODES)}")
    return mode
