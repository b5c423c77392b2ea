"""How fast the lexical analyser is: terms a second, on an empty cache and on a warm one.

    python benchmarks/analysis.py [--data ../shared/data/eval]

Judged sets give the texts; CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import time
from pathlib import Path

from florilege.text.lexical import Analyzer

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "eval"
SETS = ("scifact", "pubmedqa", "tatqa-tables", "xquad-de", "xquad-ar", "xquad-zh", "xquad-th", "jsquad-ja")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of judged sets")
    data = parser.parse_args().data
    print(f"Python {platform.python_version()}, analyser {Analyzer().version}")
    print(f"{'set':14}{'terms':>10}{'cold M/s':>10}{'warm M/s':>10}{'warm Mchar/s':>14}")
    for name in SETS:
        with gzip.open(data / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        texts *= max(1, 5000 // len(texts))
        analyzer = Analyzer()
        seconds = []
        for _ in range(2):
            started = time.process_time()
            terms = sum(len(analyzer.analyze(text)) for text in texts)
            seconds.append(time.process_time() - started)
        cold, warm = (terms / each / 1e6 for each in seconds)
        print(f"{name:14}{terms:10}{cold:10.2f}{warm:10.2f}{sum(map(len, texts)) / seconds[1] / 1e6:14.1f}")


if __name__ == "__main__":
    main()
