"""``florilege ask``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from florilege.apps.cli.options import add_filter, filter_of, positive, seconds

if TYPE_CHECKING:
    from florilege.retrieval import GroundedAnswer


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "ask",
        help="answer a question from verified quotations",
        description="With --model a language model answers, and every quotation it gives is checked against the "
        "passage it cites. Without one the answer is the sentences of the corpus that share most with the question.",
    )
    parser.add_argument("question", nargs="+", metavar="QUESTION", help="the question, in plain words")
    parser.add_argument(
        "--model", metavar="MODEL", help="openai:NAME, anthropic:NAME, or the name of a model in florilege.toml"
    )
    parser.add_argument("--recipe", metavar="NAME", help="find the evidence by this recipe of florilege.toml")
    parser.add_argument("--limit", type=positive, default=8, metavar="N", help="at most N passages (default: 8)")
    parser.add_argument(
        "--sentences", type=positive, default=3, metavar="N", help="without a model: N sentences (default: 3)"
    )
    add_filter(parser)
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="give up after so long")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Answer and print; 0 also when the answer is that there is none."""
    from florilege.apps.cli.project import configured, open_corpus, retriever_of
    from florilege.apps.cli.view import coloured, print_json

    question = " ".join(args.question)
    narrowed = filter_of(args)
    model = configured(args).model(args.model) if args.model else None
    with open_corpus(args) as corpus:
        grounding = retriever_of(args, corpus).as_grounding(limit=args.limit)
        if model is None:
            answer = grounding.extract(question, sentences=args.sentences, filter=narrowed, deadline=args.timeout)
        else:
            answer = grounding.answer(question, model=model, filter=narrowed, deadline=args.timeout)
    if args.json:
        print_json(_told(answer))
    else:
        print("\n".join(_lines(answer, on=coloured())))
    return 0


def _lines(answer: GroundedAnswer, *, on: bool) -> list[str]:
    from florilege.apps.cli.view import DIM, GREEN, paint, place

    if answer.abstained:
        return [f"no answer: {_REASONS.get(answer.reason or '', answer.reason)}"]
    lines = [answer.text, ""]
    told: set[int | None] = set()
    for item in answer.citations:
        hit = answer.hits[(item.number or 1) - 1]
        where = place(hit.provenance)
        head = f"[{item.number}] {paint(hit.source_id, GREEN, on)}" + (f"  {paint(where, DIM, on)}" if where else "")
        if item.number not in told:
            lines.append(head)
            told.add(item.number)
        if item.location is not None and not answer.extractive:
            lines.append(f"    “{' '.join(item.location.text.split())}” ({item.verdict})")
    return lines


def _told(answer: GroundedAnswer) -> dict[str, Any]:
    from florilege.apps.cli.view import jsonable

    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "reason": answer.reason,
        "extractive": answer.extractive,
        "repaired": answer.repaired,
        "citations": [jsonable(item) for item in answer.citations],
        "usage": jsonable(answer.usage),
    }


_REASONS = {
    "no_evidence": "nothing in the corpus speaks of it",
    "not_answerable": "the passages found do not answer it",
    "not_citeable": "the passages found may not be cited",
}
