"""The laws every document chunker owes, as a suite for yours.

Subclass :class:`ChunkerTests` in a test module and say how to make the chunker::

    class TestMine(ChunkerTests):
        def make(self, max_chars: int) -> DocumentChunker:
            return mine(max_chars=max_chars)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from florilege.interfaces.chunking import DocumentChunker
from florilege.model.chunk import Chunk, Chunking
from florilege.model.document import Document
from florilege.testing.documents import documents
from florilege.testing.strategies import nasty_texts
from florilege.text.graphemes import clusters

# Every subclass runs the same inherited tests, which hypothesis takes for one test run by several classes.
_inherited = settings(suppress_health_check=list(HealthCheck), max_examples=max(10, settings().max_examples // 2))
_sizes = st.one_of(st.integers(1, 40), st.integers(40, 400))


class ChunkerTests:
    """Spans, coverage, cap, clusters, order, determinism, metadata and parents of a chunker of characters.

    Set ``capped = False`` for one whose pieces are as long as they come.
    """

    capped = True

    def make(self, max_chars: int) -> DocumentChunker:
        """A chunker whose chunks, context included, hold at most ``max_chars``."""
        raise TypeError(f"{type(self).__name__} does not say how to make its chunker")

    def cut(self, document: Document, max_chars: int) -> Chunking:
        """What a fresh chunker makes of ``document``."""
        return self.make(max_chars).chunk_document(document)

    @_inherited
    @given(documents(), _sizes)
    def test_documents_keep_the_laws(self, document: Document, max_chars: int) -> None:
        check_chunking(document, self.cut(document, max_chars), max_chars if self.capped else None)

    @_inherited
    @given(nasty_texts(), _sizes)
    def test_texts_without_parts_keep_the_laws(self, text: str, max_chars: int) -> None:
        document = Document(source_id="a.txt", content=text, metadata={"k": 1})
        check_chunking(document, self.cut(document, max_chars), max_chars if self.capped else None)

    @_inherited
    @given(st.sampled_from(("", " ", "\n\n\n", "\u3000\t\r\n")))
    def test_nothing_blank_is_made(self, text: str) -> None:
        assert self.cut(Document(source_id="a.txt", content=text), 100).chunks == ()

    @_inherited
    @given(documents())
    def test_cuts_are_the_same_every_time_and_in_every_thread(self, document: Document) -> None:
        chunker = self.make(120)
        assert chunker.fingerprint() == self.make(120).fingerprint() != self.make(121).fingerprint()
        once = chunker.chunk_document(document)
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(chunker.chunk_document, [document, document])) == [once, once]

    @_inherited
    @given(documents())
    def test_parents_are_known_and_hold_their_children(self, document: Document) -> None:
        chunking = self.cut(document, 90)
        parents = {parent.parent_id: parent for parent in chunking.parents}
        assert len(parents) == len(chunking.parents)
        for chunk in chunking.chunks:
            if chunk.parent is not None:
                parent = parents[chunk.parent.parent_id]
                if "derived" not in (chunk.provenance.confidence, parent.provenance.confidence):
                    assert chunk.content in parent.content


def check_chunking(document: Document, chunking: Chunking, max_chars: int | None) -> None:
    """Assert what holds for every chunking of ``document``, in chunks of at most ``max_chars`` where that is given."""
    content = document.content
    covered = [False] * len(content)
    for ordinal, chunk in enumerate(chunking.chunks):
        assert chunk.ordinal == ordinal
        assert chunk.content.strip(), "a chunk is blank"
        assert (chunk.source_id, chunk.namespace) == (document.source_id, document.namespace)
        assert document.metadata.items() <= chunk.metadata.items()
        assert chunk.provenance.source_spans, "a chunk does not say where it comes from"
        if chunk.provenance.confidence == "exact":
            slices = [content[span.start : span.end] for span in chunk.provenance.source_spans]
            assert chunk.content == "".join(slices)
        known = {part.part_id for part in document.parts}
        assert known.issuperset(chunk.provenance.part_ids)
        for span in chunk.provenance.source_spans:
            assert 0 <= span.start <= span.end <= len(content)
            covered[span.start : span.end] = [True] * (span.end - span.start)
        if max_chars is not None:
            assert len(chunk.full_text) <= max_chars
    lost = [index for index, char in enumerate(content) if not covered[index] and not char.isspace()]
    assert not lost, f"{len(lost)} characters are in no chunk, the first at {lost[0]}"
    _check_order(chunking.chunks)
    if max_chars is not None:
        _check_clusters(document, chunking.chunks, max_chars)


def _check_order(chunks: tuple[Chunk, ...]) -> None:
    starts = [chunk.provenance.source_spans[0].start for chunk in chunks if chunk.provenance.confidence == "exact"]
    assert starts == sorted(set(starts)), "starts do not rise"


def _check_clusters(document: Document, chunks: tuple[Chunk, ...], max_chars: int) -> None:
    """No cut inside a grapheme cluster that would have fitted a chunk beside its context."""
    edges = {0}
    at = 0
    inside: dict[int, int] = {}
    for cluster in clusters(document.content):
        inside.update(dict.fromkeys(range(at + 1, at + len(cluster)), len(cluster)))
        at += len(cluster)
        edges.add(at)
    for chunk in chunks:
        if chunk.provenance.confidence == "exact":
            room = max_chars - len(chunk.full_text) + len(chunk.content)
            for span in chunk.provenance.source_spans:
                for edge in (span.start, span.end):
                    assert edge in edges or inside[edge] > room or _at_part(document, edge), "a cluster is cut"


def _at_part(document: Document, edge: int) -> bool:
    """Whether a part begins or ends here: parts are cut where the reader cut them."""
    return any(edge in (part.span.start, part.span.end) for part in document.parts)
