"""What can go wrong, as types.

Every error carries a stable ``code`` (shared by the command line, HTTP and MCP) and plain attributes for the
facts: which source, which stage, which option. Messages name the thing, the value and the way out; they never
contain document text or secrets.
"""

from __future__ import annotations

from typing import Any, ClassVar


class FlorilegeError(Exception):
    """Base of every error this package raises on purpose."""

    default_code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        source_id: str | None = None,
        stage: str | None = None,
        step: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.source_id = source_id
        self.stage = stage
        self.step = step
        self.retryable = retryable


class ConfigError(FlorilegeError, ValueError):
    """An option, a name or a combination of them is wrong; nothing was done."""

    default_code = "config"


class PluginError(FlorilegeError):
    """A plugin could not be imported, or broke its protocol."""

    default_code = "plugin"


class SourceError(FlorilegeError):
    """A source could not become a document."""

    default_code = "source"


class LoadError(SourceError):
    """The bytes of a source could not be fetched."""

    default_code = "load"


class ReadError(SourceError):
    """The bytes of a source could not be understood."""

    default_code = "read"


class IndexingError(FlorilegeError):
    """A document could not become an indexed generation."""

    default_code = "indexing"


class TransformError(IndexingError):
    """A document or chunk transform failed or broke its contract."""

    default_code = "transform"


class ChunkingError(IndexingError):
    """A chunker failed or returned chunks that cannot be stored."""

    default_code = "chunking"


class EmbeddingError(IndexingError):
    """An embedder failed or returned vectors that cannot be stored.

    ``retry_after``: the seconds the other side asked to wait before the next try (None: it named no time).
    """

    default_code = "embedding"
    retry_after: float | None = None


class StoreError(FlorilegeError):
    """The store could not do what was asked."""

    default_code = "store"


class NotFound(StoreError, LookupError):
    """The thing named is not in the store (or is not visible from this handle)."""

    default_code = "not_found"


class Conflict(StoreError):
    """Somebody else holds or has changed what this call wanted to change."""

    default_code = "conflict"


class Corrupt(StoreError):
    """The store's truth is damaged; the message names the repair."""

    default_code = "corrupt"


class Unavailable(StoreError):
    """The store cannot be reached or written now; retrying may help."""

    default_code = "unavailable"


class RecipeError(FlorilegeError, ValueError):
    """A recipe is built wrongly; raised at construction."""

    default_code = "recipe"


class ModelError(FlorilegeError):
    """A language model or reranker failed, or answered with something unusable."""

    default_code = "model"


class RetrievalError(FlorilegeError):
    """A retrieval failed. ``trace`` tells how far it came, the failed step included (None: nothing had begun)."""

    default_code = "retrieval"
    trace: Any = None


class StepError(RetrievalError):
    """A recipe step failed."""

    default_code = "step"


class SourceFailed(RetrievalError):
    """A source of a federated retrieval failed."""

    default_code = "source_failed"


class GroundingError(FlorilegeError):
    """An answer could not be grounded in its evidence. ``report`` tells what its citations lack."""

    default_code = "grounding"
    report: Any = None
