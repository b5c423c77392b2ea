"""The step that makes hits fit a number of tokens, for certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from florilege.interfaces.models import Message
from florilege.model.errors import ModelError, RecipeError
from florilege.model.hit import Hit, HitKey
from florilege.models import CheckedModel, as_model, field_of, json_of, object_schema, structured
from florilege.retrieval.excerpt import excerpt
from florilege.retrieval.passages.changing import changed
from florilege.retrieval.passages.placing import inside, pieces, source_spans
from florilege.retrieval.passages.relevance import Candidate, Relevance, Stretch, costs, read
from florilege.retrieval.passages.rendering import SEPARATOR, header, render
from florilege.retrieval.steps.base import REFINES, Call, Step, Work
from florilege.retrieval.steps.excerpts import assembled, choose
from florilege.text.fences import NOTICE, Fence
from florilege.text.quotes import Quotable
from florilege.text.tokens import Tokenizer, tokenizer

Method = Literal["extractive", "model"]
TOKENIZER = "o200k_base"
_Chosen = dict[HitKey, list[Candidate]]

_SHARE, _FLOOR = 3, 8  # a hit may take a third of what is left, or an eighth of everything when that is more
_TASK = (
    "Copy from each passage the sentences that help to answer the question, word for word, the most helpful first. "
    "Leave out passages that do not help. " + NOTICE
)
_SCHEMA = object_schema(
    {
        "excerpts": {
            "type": "array",
            "items": object_schema({"passage": {"type": "integer"}, "quote": {"type": "string"}}),
        }
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressToBudget(Step):
    """See :func:`compress_to_budget`."""

    id: str = "compress_to_budget"
    tokens: int
    strategy: Method = "extractive"
    tokenizer: Any = TOKENIZER
    model: CheckedModel | None = None

    kind = "compress_to_budget"
    phase = REFINES

    @property
    def needs_model(self) -> bool:
        """For the model strategy."""
        return self.strategy == "model"

    @property
    def own_model(self) -> CheckedModel | None:
        """The model it was given."""
        return self.model

    def options(self) -> dict[str, Any]:
        """Its options."""
        counter = tokenizer(self.tokenizer)
        return {"tokens": self.tokens, "strategy": self.strategy, "tokenizer": counter.name}

    def apply(self, work: Work, call: Call) -> Work:
        """Cut, best hits first."""
        chosen = _by_model(work.hits, call) if self.strategy == "model" else None
        budget = _Budget(self.tokens, tokenizer(self.tokenizer), call.request.text, chosen)
        hits, call.facts["tokens"] = budget.spend(work.hits)
        dropped = len(work.hits) - len(hits)
        if dropped:
            call.facts["dropped"] = dropped
        if work.hits and not hits:
            call.warn(f"{self.id}: not even the best hit fits {self.tokens} tokens")
        return replace(work, hits=tuple(hits))


def compress_to_budget(
    tokens: int,
    *,
    strategy: Method = "extractive",
    tokenizer: Any = TOKENIZER,
    model: Any = None,
    id: str = "compress_to_budget",
) -> CompressToBudget:
    """Cut hits down to verbatim excerpts until :func:`florilege.retrieval.render` of them has at most ``tokens``
    tokens, headers and separators included. This always holds.

    The best hits are served first; small ones stay whole. "extractive" keeps the sentences that share most with the
    question and needs no model; "model" lets one choose, and keeps what it copied verbatim. ``hit.content`` becomes the
    excerpts, ``hit.chunk_content`` stays the whole, and ``provenance.compression`` tells each excerpt's place in the
    text, the chunk and the source. ``tokenizer`` as in :func:`florilege.text.tokens.tokenizer`.
    """
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise RecipeError(f"compress_to_budget tokens: must be a whole number of at least 1, not {tokens!r}")
    if strategy not in ("extractive", "model"):
        raise RecipeError(f'compress_to_budget strategy: must be "extractive" or "model", not {strategy!r}')
    bound = None if model is None else as_model(model)
    return CompressToBudget(id=id, tokens=tokens, strategy=strategy, tokenizer=tokenizer, model=bound)


class _Portion(NamedTuple):
    """What is kept of a hit: stretches of the text it is cut from, and the tokens of its block."""

    hit: Hit
    text: str
    stretches: Sequence[Stretch]
    content: str
    cost: int

    @property
    def complete(self) -> bool:
        return self.content == self.text


class _Budget:
    """Tokens, and how they are dealt out."""

    def __init__(self, tokens: int, counter: Tokenizer, query: str, chosen: _Chosen | None) -> None:
        self._tokens = tokens
        self._counter = counter
        self._query = query
        self._chosen = chosen
        self._relevance: Relevance | None = None
        self._texts: list[str] = []
        self._measured: dict[HitKey, list[tuple[Candidate, int]]] = {}

    def spend(self, hits: Sequence[Hit]) -> tuple[list[Hit], int]:
        """The hits that fit, cut where they must be, and the tokens they take as they are rendered.

        What is left at the end goes to those that were cut, in order.
        """
        self._texts = [_whole(hit) for hit in hits]
        portions: list[_Portion] = []
        left = self._tokens
        for hit in hits:
            share = min(left, max(left // _SHARE, self._tokens // _FLOOR))
            portion = self._portion(hit, len(portions) + 1, share)
            if portion is not None:
                portions.append(portion)
                left -= portion.cost
        if hits and not portions:
            portion = self._portion(hits[0], 1, left)
            if portion is not None:
                portions.append(portion)
                left -= portion.cost
        for place, portion in enumerate(portions):
            if self._may_grow(portion, left):
                left += portion.cost
                portions[place] = self._portion(portion.hit, place + 1, left) or portion
                left -= portions[place].cost
        kept = [self._cut(portion) for portion in portions]
        while kept and (total := self._counter.count(render(kept))) > self._tokens:
            kept.pop()  # tokens of a whole may outnumber those of its parts
        return kept, total if kept else 0

    def _portion(self, hit: Hit, number: int, allowed: int) -> _Portion | None:
        """As much of ``hit`` as fits ``allowed`` tokens with its header, or None when nothing of it does."""
        text = _whole(hit)
        head = header(number, hit)
        if self._chosen is None:
            cost = self._counter.count(f"{head}\n{text}{SEPARATOR}")
            if cost <= allowed:
                return _Portion(hit, text, [(0, len(text))], text, cost)
        room = allowed - self._counter.count(f"{head}\n{SEPARATOR}")

        def shrink(stretch: Stretch, size: int) -> Stretch:
            found = excerpt(text[slice(*stretch)], self._query, max_chars=size)
            return stretch[0] + found.start, stretch[0] + found.end

        stretches = choose(text, self._candidates(hit), room, self._counter, shrink) if room > 0 else []
        if not stretches:
            return None
        content = assembled(text, stretches)
        return _Portion(hit, text, stretches, content, self._counter.count(f"{head}\n{content}{SEPARATOR}"))

    def _may_grow(self, portion: _Portion, left: int) -> bool:
        """Whether ``left`` tokens more could be of use: for a further sentence, or for more of the only one."""
        if left <= 0 or portion.complete:
            return False
        least = min([cost for _, cost in self._candidates(portion.hit)])
        return left >= least or portion.cost < least

    def _candidates(self, hit: Hit) -> list[tuple[Candidate, int]]:
        """What may be kept of ``hit``, with its cost, the weightiest first."""
        found = self._measured.get(hit.key)
        if found is None:
            text = _whole(hit)
            if self._chosen is not None:
                candidates = self._chosen[hit.key]
                tokens = costs(text, [(start, end) for start, end, _ in candidates], self._counter)
            else:
                self._relevance = self._relevance or Relevance(self._query, self._texts)
                candidates = self._relevance.candidates(text)
                tokens = read(text).costs(self._counter)
            pairs = zip(candidates, tokens, strict=True)
            found = self._measured[hit.key] = sorted(pairs, key=lambda pair: (-pair[0].weight, pair[0].start))
        return found

    def _cut(self, portion: _Portion) -> Hit:
        hit = portion.hit
        compression = {
            "strategy": "extractive" if self._chosen is None else "model",
            "basis": "chunk" if hit.passage is None else hit.passage.kind,
            "tokens": self._counter.count(portion.content),
            "complete": portion.complete,
            "excerpts": _places(hit, portion.text, portion.stretches),
        }
        chunk = hit.text_for("citation")
        return changed(hit, content=portion.content, chunk_content=chunk, provenance={"compression": compression})


def _whole(hit: Hit) -> str:
    """The text to cut from: what the hit was expanded to, else its chunk; an earlier cut is no longer of interest."""
    return hit.text_for("citation") if hit.passage is None else hit.passage.text


def _places(hit: Hit, text: str, stretches: Sequence[Stretch]) -> list[dict[str, Any]]:
    """Each excerpt's place in the text it was cut from, in the chunk (None outside it) and in the source."""
    chunk = hit.text_for("citation")
    basis = hit.provenance if hit.passage is None else hit.passage.provenance
    laid = pieces(text, basis)
    own = pieces(chunk, hit.provenance)
    found = []
    for start, end in stretches:
        spans = source_spans(laid, start, end)
        held = (start, end) if hit.passage is None else inside(own, spans)
        found.append(
            {
                "start": start,
                "end": end,
                "chunk": None if held is None else list(held),
                "source": [[span.start, span.end] for span in spans],
            }
        )
    return found


def _by_model(hits: Sequence[Hit], call: Call) -> _Chosen | None:
    """What a model copied, as stretches of the hits' texts; None when its answer cannot be used."""
    texts = [_whole(hit) for hit in hits]
    question = call.request.text
    fence = Fence([question, *texts])
    blocks = [fence.around("question", question)]
    blocks += [fence.around(f"passage {number}", text) for number, text in enumerate(texts, 1)]
    messages: list[Message] = [
        {"role": "system", "content": _TASK},
        {"role": "user", "content": "\n\n".join(blocks)},
    ]
    try:
        named = structured(call.generate, messages, _SCHEMA, lambda answer: _quotes(json_of(answer)))
    except ModelError as error:
        call.warn(f"{call.step.id}: sentences are chosen by their words instead: {error.message}")
        return None
    chosen: _Chosen = {hit.key: [] for hit in hits}
    quotable = [Quotable(text) for text in texts]
    for place, (number, quote) in enumerate(named):
        if not 1 <= number <= len(hits):
            call.warn(f"{call.step.id}: there is no passage {number} among {len(hits)}; dropped")
            continue
        match = quotable[number - 1].find(quote)
        if match.verdict == "absent":
            call.warn(f"{call.step.id}: an excerpt is not in passage {number}; dropped")
        else:
            chosen[hits[number - 1].key].append(Candidate(match.start, match.end, 1.0 / (place + 1)))
    if not any(chosen.values()):
        call.warn(f"{call.step.id}: the model copied nothing; sentences are chosen by their words instead")
        return None
    return chosen


def _quotes(value: Any) -> list[tuple[int, str]]:
    items = field_of(value, "excerpts", list)
    return [(field_of(item, "passage", int), field_of(item, "quote", str)) for item in items]
