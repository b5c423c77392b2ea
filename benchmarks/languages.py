"""Which questions and documents a model that knows these languages would not be asked about, and the time to tell.

python benchmarks/languages.py xquad-en xquad-de scifact      # these judged sets
python benchmarks/languages.py --knows en,de                  # every set, a model of two languages
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from florilege.text.languages import knows, language

sys.path.insert(0, str(Path(__file__).with_name("retrieval")))

from judged import load, names

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "eval"


def line(label: str, texts: Sequence[str], languages: frozenset[str]) -> str:
    """The share left out, the microseconds a text takes, and what was told."""
    times = []
    refused = 0
    for text in texts:
        started = time.perf_counter()
        refused += not knows(languages, text)
        times.append(time.perf_counter() - started)
    told = Counter(map(language, texts)).most_common(3)
    most = ", ".join(f"{code or 'unclear'} {count}" for code, count in told)
    return f"{label:28}{len(texts):8}{refused / len(texts):10.2%}{1e6 * statistics.median(times):10.0f}  {most}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="names of judged sets (default: all)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of judged sets (default: beside the checkout)")
    parser.add_argument("--knows", default="en", help="the model's languages, by two-letter code (default: en)")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"no folder {options.data}: give one with --data")
    languages = frozenset(options.knows.split(","))
    print(f"{'':28}{'texts':>8}{'left out':>10}{'us each':>10}  told")
    for name in options.sets or names(options.data):
        judged = load(options.data, name)
        print(line(f"{name} questions", [row["text"] for row in judged.queries], languages))
        print(line(f"{name} documents", [row["text"] for row in judged.documents], languages), flush=True)


if __name__ == "__main__":
    main()
