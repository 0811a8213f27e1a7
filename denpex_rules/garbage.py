"""The collector of reference cycles, slowed down while much is kept.

What a scan keeps are hundreds of thousands of small objects, and nothing of it refers to itself: all is freed when it is not needed
any more. The interpreter looks through it again and again, which takes a third of the time of a large scan and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 1_000_000  # objects that are made before the young ones are looked through
TURNS: Final = 50  # of the young ones, before the old ones are


@contextmanager
def kept_waiting() -> Iterator[None]:
    """Let the collector run rarely inside of the block, for the whole process; what was set before comes back behind it."""
    before = gc.get_threshold()
    gc.set_threshold(max(YOUNG, before[0]), max(TURNS, before[1]), before[2])
    try:
        yield
    finally:
        gc.set_threshold(*before)
