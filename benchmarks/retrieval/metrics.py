"""Rankings against judgements: the measures the table prints, as pure functions.

``ranked`` is a list of document ids, best first, without repeats; ``grades`` maps judged ids to grades, 0 and absent
both meaning not relevant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg(ranked: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain of the first ``k`` (gain = grade, discount = log2(rank + 1)).

    Järvelin and Kekäläinen 2002, as trec_eval and BEIR compute it. 0 when nothing is relevant.
    """
    ideal = _gain(sorted(grades.values(), reverse=True)[:k])
    return _gain([grades.get(document, 0) for document in ranked[:k]]) / ideal if ideal else 0.0


def recall(ranked: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """The share of relevant documents among the first ``k``; 0 when nothing is relevant."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranked[:k])) / len(relevant) if relevant else 0.0


def _gain(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
