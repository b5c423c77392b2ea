"""Steps that look around a hit: its parent, or its neighbours. Identity, score and content stay the child's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from florilege.interfaces.retrieval import Origin
from florilege.model.chunk import Chunk, ParentChunk, Provenance
from florilege.model.document import Span
from florilege.model.errors import RecipeError
from florilege.model.hit import Hit, HitKey, Passage
from florilege.retrieval.passages.changing import changed
from florilege.retrieval.passages.placing import pieces, source_spans
from florilege.retrieval.steps.base import REFINES, Call, Step, Work

Merge = Literal["keep", "promote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandParents(Step):
    """See :func:`expand_parents`."""

    id: str = "expand_parents"
    records: Any = None
    indexer_id: str | None = None
    max_parent_chars: int | None = None
    merge: Merge = "keep"

    kind = "expand_parents"
    phase = REFINES

    def options(self) -> dict[str, Any]:
        """Its options, the store's identity aside."""
        return {"indexer_id": self.indexer_id, "max_parent_chars": self.max_parent_chars, "merge": self.merge}

    def apply(self, work: Work, call: Call) -> Work:
        """Read every parent wanted in one go a store, then attach."""
        known = self.indexer_id is None or self.indexer_id in {source.id for source in work.sources}
        if not known:
            call.warn(f"{self.id}: there is no source {self.indexer_id!r}; the hits of all are expanded")
        wanted = {
            hit.key: hit.parent.key
            for hit in work.hits
            if hit.parent and hit.parent.key and (not known or self._concerns(hit))
        }
        found = self._parents(work, wanted)
        missing = wanted.keys() - found.keys()
        if missing:
            call.warn(f"{self.id}: {len(missing)} of {len(wanted)} parents were not found; their hits stay as they are")
        hits: list[Hit] = []
        seen: set[tuple[str, str]] = set()
        for hit in work.hits:
            parent = found.get(hit.key)
            if parent is None:
                hits.append(hit)
                continue
            if self.merge == "promote":
                name = (hit.namespace, wanted[hit.key])
                if name in seen:
                    continue
                seen.add(name)
            hits.append(changed(hit, passage=_around(hit, parent, self.max_parent_chars)))
        call.facts["expanded"] = sum(hit.passage is not None for hit in hits)
        return replace(work, hits=tuple(hits))

    def _concerns(self, hit: Hit) -> bool:
        ids = [rank.retriever_id for rank in hit.provenance.per_source]
        return self.indexer_id is None or self.indexer_id in ids

    def _parents(self, work: Work, wanted: Mapping[HitKey, str]) -> dict[HitKey, ParentChunk]:
        found: dict[HitKey, ParentChunk] = {}
        if isinstance(self.records, Mapping):
            return {key: self.records[name] for key, name in wanted.items() if name in self.records}
        for origin in _origins(work) if self.records is None else _stores(self.records, wanted):
            left = {key: name for key, name in wanted.items() if key[0] == origin.namespace and key not in found}
            if left:
                with origin.snapshot() as snapshot:
                    parents = snapshot.parents(sorted(set(left.values())))
                found.update({key: parents[name] for key, name in left.items() if name in parents})
        return found


def expand_parents(
    records: Any = None,
    *,
    indexer_id: str | None = None,
    max_parent_chars: int | None = None,
    merge: Merge = "keep",
    id: str = "expand_parents",
) -> ExpandParents:
    """Attach to each hit the parent passage its chunk was cut from, for later steps and prompts to read.

    ``records`` is the store to read, or a mapping of keys to parents; None reads each source's own. ``indexer_id``
    expands only hits that the source of this id found. A parent longer than ``max_parent_chars`` is cut to a
    stretch of that length around the child. ``merge`` "promote" keeps one hit a parent, its best child.
    """
    _check_size("expand_parents max_parent_chars", max_parent_chars)
    if merge not in ("keep", "promote"):
        raise RecipeError(f'expand_parents merge: must be "keep" or "promote", not {merge!r}')
    if records is not None and not isinstance(records, Mapping) and not callable(getattr(records, "snapshot", None)):
        raise RecipeError(f"expand_parents records: a {type(records).__name__} is neither a store nor a mapping")
    return ExpandParents(id=id, records=records, indexer_id=indexer_id, max_parent_chars=max_parent_chars, merge=merge)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandWindow(Step):
    """See :func:`expand_window`."""

    id: str = "expand_window"
    before: int = 1
    after: int = 1

    kind = "expand_window"
    phase = REFINES

    def apply(self, work: Work, call: Call) -> Work:
        """Read each source once, then join neighbours."""
        found: dict[HitKey, Passage] = {}
        for origin in _origins(work):
            own = [hit for hit in work.hits if hit.namespace == origin.namespace and hit.key not in found]
            if own:
                with origin.snapshot() as snapshot:
                    for source_id in dict.fromkeys(hit.source_id for hit in own):
                        chunks = snapshot.chunks(source_id)
                        found.update(self._windows(chunks, [hit for hit in own if hit.source_id == source_id]))
        missing = len(work.hits) - len(found)
        if missing:
            call.warn(f"{self.id}: {missing} of {len(work.hits)} hits are no longer in their source; they stay alone")
        return replace(work, hits=tuple([changed(hit, passage=found.get(hit.key, hit.passage)) for hit in work.hits]))

    def _windows(self, chunks: Sequence[Chunk], hits: Sequence[Hit]) -> Iterable[tuple[HitKey, Passage]]:
        places = {chunk.chunk_id: place for place, chunk in enumerate(chunks)}
        for hit in hits:
            place = places.get(hit.chunk_id)
            if place is not None and chunks[place].content == hit.text_for("citation"):
                yield hit.key, _window(chunks[max(0, place - self.before) : place + self.after + 1])


def expand_window(before: int = 1, after: int = 1, *, id: str = "expand_window") -> ExpandWindow:
    """Attach to each hit the chunks around it in its source: ``before`` and ``after`` it, overlaps told once."""
    for option, value in (("before", before), ("after", after)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise RecipeError(f"expand_window {option}: must be a whole number of at least 0, not {value!r}")
    return ExpandWindow(id=id, before=before, after=after)


def _origins(work: Work) -> list[Origin]:
    return [origin for source in work.sources for origin in source.retriever.origins()]


def _stores(records: Any, wanted: Mapping[HitKey, str]) -> list[Origin]:
    names = sorted({key[0] for key in wanted})
    return [Origin("records", name, lambda name=name: records.snapshot(name)) for name in names]  # type: ignore[misc]


def _around(hit: Hit, parent: ParentChunk, limit: int | None) -> Passage:
    """The parent's text, or the stretch of it of at most ``limit`` characters around the child."""
    text = parent.content
    if limit is None or len(text) <= limit:
        return Passage(kind="parent", text=text, provenance=parent.provenance)
    low, high = _child_in(hit, parent)
    room = max(0, limit - (high - low))
    start = max(0, min(low - room // 2, len(text) - limit))
    end = min(len(text), start + limit)
    spans = source_spans(pieces(text, parent.provenance), start, end)
    provenance = replace(parent.provenance, source_spans=spans) if spans else Provenance(confidence="derived")
    return Passage(kind="parent", text=text[start:end], provenance=provenance)


def _child_in(hit: Hit, parent: ParentChunk) -> tuple[int, int]:
    """Where the child stands in its parent's text: by spans, else by its words, else at the beginning."""
    spans = hit.provenance.source_spans
    if spans:
        for piece in pieces(parent.content, parent.provenance):
            start = spans[0].start - piece.source + piece.start
            if piece.start <= start < piece.end:
                return start, min(len(parent.content), start + len(hit.content))
    at = parent.content.find(hit.content)
    return (at, at + len(hit.content)) if at >= 0 else (0, 0)


def _window(chunks: Sequence[Chunk]) -> Passage:
    """The chunks' texts in one: what follows on or overlaps in the source is joined there, the rest by a blank line."""
    texts: list[str] = []
    spans: list[Span] = []
    exact = True
    for chunk in chunks:
        own = chunk.provenance.source_spans
        single = len(own) == 1 and chunk.provenance.confidence == "exact"
        exact = exact and single
        if single and spans and exact and spans[-1].start <= own[0].start <= spans[-1].end < own[0].end:
            texts[-1] += chunk.content[spans[-1].end - own[0].start :]
            spans[-1] = Span(spans[-1].start, own[0].end)
        else:
            texts.append(chunk.content)
            spans += own
    provenance = Provenance(
        pages=tuple(sorted({page for chunk in chunks for page in chunk.provenance.pages})),
        source_spans=tuple(spans),
        confidence="exact" if exact else "derived",
    )
    return Passage(kind="window", text="\n\n".join(texts), provenance=provenance)


def _check_size(name: str, value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise RecipeError(f"{name}: must be a whole number of at least 1 or None, not {value!r}")
