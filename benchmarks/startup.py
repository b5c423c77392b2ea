"""What it costs to import the package and to start its command: whole processes, medians, beside a bare interpreter.

    python benchmarks/startup.py [--runs 15]

``python -X importtime -c "import florilege"`` tells where the time of the import goes.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import florilege": ["-c", "import florilege"],
    "import florilege, name every public thing": [
        "-c",
        "import florilege; [getattr(florilege, n) for n in florilege.__all__]",
    ],
    "florilege --help": [
        "-c",
        "import sys; sys.argv = ['florilege', '--help']; from florilege.apps.cli import main; main()",
    ],
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="processes for each line (default: 15)")
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):  # in turn, so that a busy moment hits every line alike
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    bare = statistics.median(times["bare interpreter"])
    print(f"Python {platform.python_version()}, {runs} runs each, milliseconds of wall time")
    print(f"{'':44}{'median':>8}{'best':>8}{'above bare':>12}")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:44}{median * 1e3:8.0f}{min(values) * 1e3:8.0f}{(median - bare) * 1e3:12.0f}")


if __name__ == "__main__":
    main()
