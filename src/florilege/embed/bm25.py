"""BM25 as sparse vectors, with no knowledge of the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from florilege.interfaces.embedding import EmbeddingSpace, SparseEmbeddings, Task
from florilege.model.errors import ConfigError
from florilege.model.ledger import Usage
from florilege.text.common_words import COMMON_WORDS
from florilege.text.languages import language
from florilege.text.lexical import Analyzer

_IDS = 1 << 32
_KEPT_IDS = 1 << 16


class Bm25Weights:
    """See :func:`bm25_weights`."""

    max_input_tokens: int | None = None
    max_batch = 256

    def __init__(self, analyzer: Analyzer, k1: float, b: float, average_terms: float) -> None:
        self.space = EmbeddingSpace(
            name="bm25-weights",
            dimensions=_IDS,
            metric="dot",
            preparation=f"{analyzer.version}.k{k1:g}.b{b:g}.a{average_terms:g}",
        )
        self._analyzer = analyzer
        self._k1 = k1
        self._b = b
        self._average = average_terms
        self._commons: dict[str | None, frozenset[str]] = {}

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> SparseEmbeddings:
        """The weights of ``texts``; a text without words has none."""
        weigh = self._query if task == "query" else self._document
        return SparseEmbeddings([weigh(text) for text in texts], Usage(texts=len(texts), calls=1))

    def _document(self, text: str) -> dict[int, float]:
        counts = Counter(map(term_id, self._analyzer.analyze(text)))
        norm = self._k1 * (1 - self._b + self._b * counts.total() / self._average)
        return {id: count / (count + norm) for id, count in counts.items()}

    def _query(self, text: str) -> dict[int, float]:
        terms = self._analyzer.query_terms(text)
        telling = [term for term in terms if term not in self._common(language(text))]
        return dict.fromkeys(map(term_id, telling or terms), 1.0)

    def _common(self, code: str | None) -> frozenset[str]:
        if code not in self._commons:
            words = COMMON_WORDS[code].split() if code else ()
            self._commons[code] = frozenset(term for word in words for term in self._analyzer.analyze(word))
        return self._commons[code]


@lru_cache(_KEPT_IDS)
def term_id(term: str) -> int:
    """A term's id: 32 bits of a hash, the same everywhere. Of 100,000 terms about one meets another."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=4).digest(), "little")


def bm25_weights(
    *, k1: float = 0.9, b: float = 0.4, average_terms: float = 100.0, analyzer: Analyzer | None = None
) -> Bm25Weights:
    """Sparse vectors of the lexical analyser's terms, a document's weighted by BM25's saturation (Robertson et al.).

    A term that stands ``n`` times in a text of ``length`` terms weighs n / (n + k1 (1 - b + b length / average_terms)),
    a query's term 1; of a question the commonest words of its language are left out. Nothing is learned from the
    corpus, so a vector never changes, and rare terms count no more than others: the lexical leg, which does count them
    over the corpus, ranks better. For stores that search sparse vectors and no words, and as the plainest example of a
    :class:`SparseEmbedder`.
    """
    for option, value, least in (("k1", k1, 0.0), ("b", b, 0.0), ("average_terms", average_terms, 1.0)):
        if not value >= least or (option == "b" and value > 1):
            raise ConfigError(f"bm25_weights {option}: {value!r} is out of range", code="bad_embedder")
    return Bm25Weights(analyzer or Analyzer(), k1, b, average_terms)
