"""What an answer must do to pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from florilege.model.errors import ConfigError

if TYPE_CHECKING:
    from florilege.retrieval.evidence.records import CitationReport

Check = Callable[[str, "CitationReport"], Iterable[str]]
"""A policy of the caller's: given the answer and the report so far, it yields what is wrong, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What citations must be.

    ``required``: an answer needs at least one. ``quotes`` "required": each needs a quotation. ``min_quote_chars`` is
    the floor for one. ``every_sentence``: each sentence of the answer needs a marker such as ``[2]``. ``trusted`` names
    the trust labels evidence must carry to be cited (empty: any). ``checks`` are the caller's own.
    """

    required: bool = True
    quotes: Literal["required", "optional"] = "required"
    min_quote_chars: int = 12
    every_sentence: bool = False
    trusted: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any] | Policy | None) -> Policy:
        """A policy from its options; ConfigError for one it does not have."""
        if isinstance(options, Policy):
            return options
        given = dict(options or {})
        known = [item.name for item in fields(cls)]
        for name in given:
            if name not in known:
                raise ConfigError(f"grounding citations: there is no option {name!r}; there are {', '.join(known)}")
        for name in ("trusted", "checks"):
            if name in given:
                value = given[name]
                given[name] = (value,) if isinstance(value, str) or callable(value) else tuple(value)
        return cls(**given)

    def __post_init__(self) -> None:
        for name in ("required", "every_sentence"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"grounding citations {name}: must be True or False, not {getattr(self, name)!r}")
        if self.quotes not in ("required", "optional"):
            raise ConfigError(f'grounding citations quotes: must be "required" or "optional", not {self.quotes!r}')
        floor = self.min_quote_chars
        if isinstance(floor, bool) or not isinstance(floor, int) or floor < 1:
            raise ConfigError(f"grounding citations min_quote_chars: must be a whole number above 0, not {floor!r}")
