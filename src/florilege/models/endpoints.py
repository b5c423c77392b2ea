"""Native rerank endpoints: a dedicated ranking call, by a vendor's client or by plain HTTP."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from florilege.concurrency import resolve
from florilege.interfaces.models import Reranking, Scored
from florilege.model.errors import ConfigError, ModelError
from florilege.model.ledger import Usage
from florilege.models.vendor import translated
from florilege.vendors import secret

_MOST = 1 << 24  # bytes of an answer; ten thousand scores are under one megabyte


class NativeReranker:
    """See :func:`native`."""

    def __init__(self, name: str, call: Callable[[str, list[str]], Any]) -> None:
        self.name = name
        self._call = call

    def rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        """One call for all ``passages``."""
        if not passages:
            return Reranking(scores=())
        with translated(f"reranker {self.name!r}"):
            answer = self._call(query, list(passages))
            results = _field(answer, "results")
            scores = [Scored(int(_field(item, "index")), float(_field(item, "relevance_score"))) for item in results]
        if not all(math.isfinite(item.score) for item in scores):
            raise ModelError(f"reranker {self.name!r} returned a score that is not a finite number", code="bad_output")
        return Reranking(scores=scores, usage=Usage(calls=1, texts=len(passages), tokens=_tokens(answer)))


def native(
    *,
    name: str,
    model: str,
    client: Any = None,
    url: str | None = None,
    api_key_env: str | None = None,
    timeout: float = 30.0,
) -> NativeReranker:
    """A reranker over an endpoint that takes ``model, query, documents, top_n`` and answers ``results[index,
    relevance_score]``.

    ``client`` is a vendor's client with ``rerank(...)`` of that shape (``cohere.ClientV2``, its asynchronous twin);
    otherwise ``url`` is posted to (Cohere, Jina, Voyage-compatible and self-hosted servers), with the bearer token that
    the environment variable ``api_key_env`` holds. ``timeout`` is in seconds.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"reranker name: must be a non-empty string, not {name!r}")
    if (client is None) == (url is None):
        raise ConfigError(f"reranker {name!r}: give either client= or url=")
    if client is not None:
        return NativeReranker(name, _by_client(client, model))
    if not str(url).startswith(("http://", "https://")):
        raise ConfigError(f"reranker {name!r} url: {url!r} is no http(s) address")
    key = None if api_key_env is None else secret(api_key_env, f"reranker {name!r}")
    return NativeReranker(name, _by_http(str(url), model, key, timeout))


def _by_client(client: Any, model: str) -> Callable[[str, list[str]], Any]:
    def call(query: str, documents: list[str]) -> Any:
        return resolve(client.rerank(model=model, query=query, documents=documents, top_n=len(documents)))

    return call


def _by_http(url: str, model: str, key: str | None, timeout: float) -> Callable[[str, list[str]], Any]:
    import urllib.error
    import urllib.request

    def call(query: str, documents: list[str]) -> Any:
        body = {"model": model, "query": query, "documents": documents, "top_n": len(documents)}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.loads(answer.read(_MOST))
        except urllib.error.HTTPError as error:
            retryable = error.code in (408, 429) or error.code >= 500
            raise ModelError(f"rerank endpoint answered with status {error.code}", retryable=retryable) from error

    return call


def _field(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, dict) else getattr(value, name)


def _tokens(answer: Any) -> int:
    """What an endpoint says it spent; Cohere counts search units, not tokens, and tells none."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else 0
