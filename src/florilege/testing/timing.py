"""Time that grows with the input and no faster, told on a machine that has other things to do."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time


def assert_linear(
    run: Callable[[int], object], small: int, large: int, *, slack: float = 4, floor: float = 0.005
) -> None:
    """Assert that ``run(large)`` takes at most ``slack`` times what ``run(small)`` foretells, in processor time.

    ``floor`` is the least, in seconds, that the small run counts for. The best of three runs is taken of each, since
    time that others took is no time of ours; what grows as the square is slow in all of them.
    """

    def seconds(size: int) -> float:
        started = process_time()
        run(size)
        return process_time() - started

    limit = large / small * slack * max(min(seconds(small) for _ in range(3)), floor)
    taken: list[float] = []
    while not taken or (len(taken) < 3 and taken[-1] > limit):
        taken.append(seconds(large))
    assert min(taken) <= limit, f"a size of {large} took {min(taken):.3f} s, more than {limit:.3f} s"
