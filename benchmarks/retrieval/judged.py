"""Judged sets in the layout of ../shared/data/eval: corpus.jsonl.gz, queries.jsonl.gz, qrels.tsv."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class JudgedSet:
    """Documents and queries as rows of JSON; ``grades[query id][document id]``."""

    name: str
    corpus: str
    documents: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    grades: dict[str, dict[str, float]]


def load(root: Path, name: str) -> JudgedSet:
    """The set ``name``; ``QUERIES@CORPUS`` asks the queries of one set over the documents of a parallel one."""
    asked, _, over = name.partition("@")
    folder = root / asked
    pointer = folder / "CORPUS"
    corpus = over or (pointer.read_text().strip() if pointer.exists() else asked)
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        grades.setdefault(query, {})[document] = float(grade)
    queries = [row for row in _rows(folder / "queries.jsonl.gz") if row["id"] in grades]
    return JudgedSet(name, corpus, _rows(root / corpus / "corpus.jsonl.gz"), queries, grades)


def names(root: Path) -> list[str]:
    """The sets there are."""
    return sorted(path.parent.name for path in root.glob("*/qrels.tsv"))


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
