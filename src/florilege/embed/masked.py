"""Learned-sparse vectors from a masked language model in an ONNX file (SPLADE and its like), on the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from florilege.embed.check import check_sparse
from florilege.embed.processes import PerProcess
from florilege.embed.windows import batches, usage_of
from florilege.interfaces.embedding import EmbeddingSpace, SparseEmbeddings, Task
from florilege.model.errors import ConfigError, EmbeddingError
from florilege.model.hashing import hexdigest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from florilege.embed.engine import Engine, File

_PREPARATION = "1"
_BATCH_TOKENS = 512
_BATCH_ROWS = 16


class MaskedSparseEmbedder:
    """A model over ``input_ids`` and ``attention_mask`` whose first output are logits (batch, tokens, vocabulary).

    A text's weight of a vocabulary entry is the largest over its tokens of log(1 + max(0, logit)) (Formal, Lassance,
    Piwowarski and Clinchant 2021, with max pooling). ``vocabulary`` is the width of the output. Input of more than
    ``max_input_tokens`` is cut at token borders into windows of nearly equal length, whose largest weights count;
    ``Usage.windowed`` tells of such texts. Of a text the ``most`` largest weights are kept (None: all), and none below
    ``least``. Files, hashes, ``threads``, ``scripts`` and ``languages`` as for :class:`florilege.embed.OnnxEmbedder`.
    """

    def __init__(
        self,
        model: File,
        tokenizer: File,
        *,
        name: str,
        vocabulary: int,
        version: str = "1",
        max_input_tokens: int | None = 512,
        most: int | None = 256,
        least: float = 0.0,
        scripts: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
        threads: int | None = None,
        model_sha256: str | None = None,
        tokenizer_sha256: str | None = None,
    ) -> None:
        if most is not None and most < 1:
            raise ConfigError(f"embedder {name!r}: most must be at least 1, not {most}", code="bad_embedder")
        prepared = hexdigest(str(max_input_tokens), str(most), repr(least))
        self.space = EmbeddingSpace(
            name=name, dimensions=vocabulary, metric="dot", preparation=f"{version}.{_PREPARATION}.{prepared[:8]}"
        )
        self.max_input_tokens = max_input_tokens
        self.max_batch = _BATCH_ROWS
        self.scripts = None if scripts is None else frozenset(scripts)
        self.languages = None if languages is None else frozenset(languages)
        self._most = most
        self._least = least
        self._model, self._model_sha256 = model, model_sha256
        self._tokenizer, self._tokenizer_sha256 = tokenizer, tokenizer_sha256
        self._threads = threads
        self._engine = PerProcess(self._load)

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> SparseEmbeddings:
        """Weights of ``texts``, any number of them; queries and documents are treated alike.

        Raises :class:`EmbeddingError` when the model fails or gives unusable weights, :class:`ConfigError` when its
        files cannot be loaded.
        """
        from florilege.embed.engine import saturated

        engine = self._engine()
        weights: list[dict[int, float]] = [{} for _ in texts]
        try:
            windows = engine.windows(texts, "", self.max_input_tokens)
            for batch, rows in engine.run(batches(windows, _BATCH_TOKENS, _BATCH_ROWS), saturated):
                for window, row in zip(batch, rows, strict=True):
                    known = weights[window.text]
                    known.update((id, max(weight, known.get(id, 0.0))) for id, weight in self._largest(row))
        except Exception as error:
            raise EmbeddingError(
                f"embedder {self.space.name!r} failed with {type(error).__name__} on {len(texts)} texts",
                stage="embedding",
            ) from error
        checked = check_sparse(weights, len(texts), self.space.dimensions, f"embedder {self.space.name!r}")
        return SparseEmbeddings([self._cut(row) for row in checked], usage_of(windows, len(texts)))

    def count_tokens(self, text: str) -> int:
        """The tokens of ``text``, special tokens included, before any window is cut."""
        return len(self._engine().encode(text))

    def _largest(self, row: NDArray[np.float32]) -> list[tuple[int, float]]:
        """The entries of a window worth keeping."""
        import numpy as np

        ids = np.flatnonzero(row > self._least)
        if self._most is not None and len(ids) > self._most:
            ids = ids[np.argsort(-row[ids], kind="stable")[: self._most]]
        return list(zip(ids.tolist(), row[ids].tolist(), strict=True))

    def _cut(self, weights: dict[int, float]) -> dict[int, float]:
        if self._most is None or len(weights) <= self._most:
            return weights
        return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[: self._most])

    def _load(self) -> Engine:
        from florilege.embed.engine import Engine

        return Engine(
            model=(self._model, self._model_sha256),
            tokenizer=(self._tokenizer, self._tokenizer_sha256),
            threads=self._threads,
            name=self.space.name,
            dimensions=self.space.dimensions,
        )
