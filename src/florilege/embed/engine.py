"""A loaded model: tokenizer, ONNX session and threads of one process."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from florilege.embed.windows import Window, cut
from florilege.model.errors import ConfigError
from florilege.text.clean import clean_text

Pooling = Literal["mean", "cls"]
Pool = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]]
"""Token states and the tokens' mask (1: a token, 0: padding) into one row a text."""

File = str | os.PathLike[str] | bytes
"""A path, or the file's bytes."""


class Engine:
    """What :class:`florilege.embed.OnnxEmbedder` and :class:`florilege.embed.MaskedSparseEmbedder` run.

    Files come with the SHA-256 they must have (None: any).
    """

    def __init__(
        self,
        *,
        model: tuple[File, str | None],
        tokenizer: tuple[File, str | None],
        threads: int | None,
        name: str,
        dimensions: int,
    ) -> None:
        self._tokenizer = _loaded(name, "tokenizer", _tokenizer, *tokenizer)
        self._session = _loaded(name, "model", _session, *model)
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name
        shape = self._session.get_outputs()[0].shape
        if len(shape) not in (2, 3) or (isinstance(shape[-1], int) and shape[-1] != dimensions):
            raise ConfigError(
                f"embedder {name!r}: the model's output is {shape}, not {dimensions} wide", code="bad_model"
            )
        self._threads = threads or _processors()
        probe = self._tokenizer.encode("a")
        inner = [place for place, special in enumerate(probe.special_tokens_mask) if not special]
        self._head, self._tail = probe.ids[: inner[0]], probe.ids[inner[-1] + 1 :]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="florilege-embed")

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens included."""
        ids: list[int] = self._tokenizer.encode(clean_text(text)).ids
        return ids

    def windows(self, texts: Sequence[str], prefix: str, limit: int | None) -> list[Window]:
        """The windows of all ``texts``, each beginning with ``prefix``."""
        inputs = [clean_text(prefix + text) for text in texts]
        before = self._tokenizer.encode(prefix.rstrip(), add_special_tokens=False).ids if prefix else []
        windows = []
        for number, encoding in enumerate(self._tokenizer.encode_batch(inputs, add_special_tokens=False)):
            ids = encoding.ids
            shared = len(list(takewhile(bool, map(eq, before, ids))))
            windows += cut(number, self._head + ids[:shared], ids[shared:], self._tail, limit)
        return windows

    def run(self, batches: Sequence[list[Window]], pool: Pool) -> Iterable[tuple[list[Window], NDArray[np.float32]]]:
        """Each batch with the pooled vectors of its windows."""

        def one(batch: list[Window]) -> tuple[list[Window], NDArray[np.float32]]:
            return batch, self._vectors([window.ids for window in batch], pool)

        return self._pool.map(one, batches) if len(batches) > 1 and self._threads > 1 else map(one, batches)

    def _vectors(self, rows: Sequence[list[int]], pool: Pool) -> NDArray[np.float32]:
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: array for name, array in feed.items() if name in self._inputs}
        states: NDArray[np.float32] = self._session.run([self._output], feed)[0]
        return states if states.ndim == 2 else pool(states, mask)


def first(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The first token's state."""
    return states[:, 0]


def mean(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of the tokens' states."""
    weights = mask[:, :, None].astype(states.dtype)
    means: NDArray[np.float32] = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return means


def saturated(logits: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """By vocabulary entry the largest log(1 + max(0, logit)) over the tokens."""
    highest: NDArray[np.float32] = np.where(mask[:, :, None] > 0, logits, 0).max(axis=1)
    return np.log1p(np.maximum(highest, 0))


def _loaded(name: str, what: str, load: Callable[[bytes], Any], file: File, sha256: str | None) -> Any:
    where = "given as bytes" if isinstance(file, bytes) else repr(os.fspath(file))
    try:
        data = file if isinstance(file, bytes) else Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"embedder {name!r}: {what} {where}: {error.strerror}", code="bad_model") from error
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise ConfigError(
            f"embedder {name!r}: {what} {where} is not the file it should be (its SHA-256 is not {sha256})",
            code="bad_model",
        )
    try:
        return load(data)
    except Exception as error:
        raise ConfigError(f"embedder {name!r}: {what} {where} cannot be loaded", code="bad_model") from error


def _tokenizer(data: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _session(data: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
