"""Cross-encoders: a model that reads question and passage together, here on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from florilege.interfaces.models import Reranking, Scored
from florilege.model.errors import ConfigError, ModelError
from florilege.model.ledger import Usage
from florilege.models.vendor import translated
from florilege.vendors import library


class CrossEncoderReranker:
    """See :func:`cross_encoder`."""

    def __init__(self, name: str, model: Any, batch: int) -> None:
        self.name = name
        self._model = model
        self._batch = batch

    def rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        """Score every passage."""
        if not passages:
            return Reranking(scores=())
        pairs = [(query, passage) for passage in passages]
        with translated(f"reranker {self.name!r}"):
            found = self._model.predict(pairs, batch_size=self._batch, show_progress_bar=False)
            scores = [Scored(index, float(score)) for index, score in enumerate(found)]
        return Reranking(scores=scores, usage=Usage(calls=1, texts=len(passages)))


def cross_encoder(*, name: str, model: Any, batch: int = 32) -> CrossEncoderReranker:
    """A reranker over ``model``: a ``sentence_transformers.CrossEncoder``, or what names one to that library."""
    if isinstance(model, (str, os.PathLike)):
        model = library("sentence_transformers", "sentence-transformers").CrossEncoder(os.fspath(model))
    if not callable(getattr(model, "predict", None)):
        raise ConfigError(f"reranker {name!r}: a {type(model).__name__} is no cross-encoder, it has no predict()")
    return CrossEncoderReranker(name, model, batch)


class OnnxReranker:
    """See :func:`onnx`."""

    def __init__(self, name: str, model: str, tokenizer: str, max_tokens: int, batch: int, threads: int) -> None:
        self.name = name
        self._paths = (model, tokenizer)
        self._max_tokens = max_tokens
        self._batch = batch
        self._threads = threads
        self._loaded: tuple[Any, Any, int] | None = None

    def rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        """Score every passage, shortest first so that batches carry little padding."""
        session, tokenizer, _ = self._load()
        with translated(f"reranker {self.name!r}"):
            encodings = tokenizer.encode_batch([(query, passage) for passage in passages])
            order = sorted(range(len(passages)), key=lambda index: len(encodings[index].ids))
            scores: list[Scored] = []
            for at in range(0, len(order), self._batch):
                batch = order[at : at + self._batch]
                values = self._run(session, [encodings[index] for index in batch])
                scores += [Scored(index, float(value)) for index, value in zip(batch, values, strict=True)]
        tokens = sum(len(encoding.ids) for encoding in encodings)
        return Reranking(scores=scores, usage=Usage(calls=1, texts=len(passages), tokens=tokens))

    def _load(self) -> tuple[Any, Any, int]:
        if self._loaded is None or self._loaded[2] != os.getpid():
            self._loaded = (*_opened(self.name, *self._paths, self._max_tokens, self._threads), os.getpid())
        return self._loaded

    def _run(self, session: Any, encodings: Sequence[Any]) -> Any:
        import numpy as np

        width = max(len(encoding.ids) for encoding in encodings)
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        fed = {}
        for item in session.get_inputs():
            rows = np.zeros((len(encodings), width), dtype=np.int64)
            for row, encoding in zip(rows, encodings, strict=True):
                values = getattr(encoding, columns[item.name])
                row[: len(values)] = values
            fed[item.name] = rows
        logits = np.asarray(session.run(None, fed)[0], dtype=np.float64).reshape(len(encodings), -1)
        # One output is the relevance; of two, the second is the class "relevant".
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def onnx(
    *,
    name: str,
    model: str | os.PathLike[str],
    tokenizer: str | os.PathLike[str],
    max_tokens: int = 512,
    batch: int = 16,
    threads: int = 0,
) -> OnnxReranker:
    """A reranker over an ONNX cross-encoder and its ``tokenizer.json``; loaded at first use.

    The model takes some of ``input_ids, attention_mask, token_type_ids`` and gives one or two logits a pair. A pair
    longer than ``max_tokens`` loses the end of its passage. ``threads`` 0 lets the runtime choose.
    """
    for path in (model, tokenizer):
        if not os.path.isfile(path):
            raise ConfigError(f"reranker {name!r}: there is no file {os.fspath(path)!r}")
    return OnnxReranker(name, os.fspath(model), os.fspath(tokenizer), max_tokens, batch, threads)


def _opened(name: str, model: str, tokenizer: str, max_tokens: int, threads: int) -> tuple[Any, Any]:
    import onnxruntime
    from tokenizers import Tokenizer

    try:
        encoder = Tokenizer.from_file(tokenizer)
        encoder.no_padding()
        encoder.enable_truncation(max_tokens, strategy="only_second")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"reranker {name!r} cannot be loaded: {type(error).__name__}", code="bad_model") from error
    known = {"input_ids", "attention_mask", "token_type_ids"}
    if not {item.name for item in session.get_inputs()} <= known:
        raise ModelError(f"reranker {name!r}: the model wants other inputs than {', '.join(sorted(known))}")
    return session, encoder
