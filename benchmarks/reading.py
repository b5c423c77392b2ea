"""How fast the readers are, through the worker processes: files and pages a CPU second, all processes counted.

    python benchmarks/reading.py FOLDER [--repeat 10] [--in-process]

FOLDER is searched for files of every kind; those that fail are counted apart.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from collections import defaultdict
from pathlib import Path

from florilege.ingest.reading import Reading
from florilege.ingest.sniff import sniff_bytes
from florilege.isolation import WorkerPool
from florilege.model.errors import ReadError


def cpu_seconds() -> float:
    """CPU time of this process and of the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=10, help="times each file is read (default: 10)")
    parser.add_argument("--in-process", action="store_true", help="without worker processes")
    options = parser.parse_args()
    kinds: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
    for path in sorted(options.folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            reading = Reading()
            kinds[reading.mark(sniff_bytes(data, path.name))].append((path.name, data))
    print(f"Python {platform.python_version()}, each file {options.repeat} times")
    print(f"{'reader':12}{'files':>7}{'failed':>8}{'files/CPU s':>13}{'pages/CPU s':>13}{'MB/CPU s':>10}")
    for mark, files in sorted(kinds.items()):
        pool = WorkerPool(1)
        reading = Reading(isolate=not options.in_process, pool=pool)
        pages = failed = 0
        start = cpu_seconds()
        for _ in range(options.repeat):
            for name, data in files:
                try:
                    document = reading.document(data, source_id=name, name=name)
                except ReadError:
                    failed += 1
                else:
                    pages += sum(part.kind == "page" for part in document.parts)
        pool.close()
        spent = cpu_seconds() - start
        total = options.repeat * len(files)
        size = options.repeat * sum(len(data) for _, data in files) / 1e6
        columns = f"{total / spent:13.0f}{pages / spent:13.0f}{size / spent:10.1f}"
        print(f"{mark:12}{len(files):7}{failed // options.repeat:8}{columns}")


if __name__ == "__main__":
    main()
