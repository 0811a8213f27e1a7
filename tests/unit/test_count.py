"""Whether sightings suffice for a count."""

from __future__ import annotations

import time
from itertools import chain, combinations, product

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from making import at, sighting

from denpex_rules.clock import MINUTE, SECOND, UNKNOWN, Instant
from denpex_rules.count import enough, may_be_enough
from denpex_rules.rule import Count
from denpex_rules.sighting import Actor, Sighting


def seen(second: int, width: int = 0, rank: int | None = None, clock: str = "wall") -> Sighting:
    """Return a sighting of a rank at a second, give or take; of the clock "none" it has no time."""
    lo = at("10:00:00").lo + second * SECOND
    instant = UNKNOWN if clock == "none" else Instant(lo, lo + width * SECOND, "local" if clock == "local" else "wall")
    return sighting("e", instant, line=second, actor=Actor(rank=rank))


def number(found: tuple[Sighting, ...], distinct: str | None) -> int:
    """Return how many there are, or how many ranks."""
    return len(found) if distinct is None else len({s.actor.rank for s in found} - {None})


def certainly(count: Count, found: tuple[Sighting, ...]) -> bool:
    """Whether some of the sightings suffice and certainly lie within one span: as the specification says it, word for word."""
    span = count.span_ns or 0
    timed = [s for s in found if s.instant.known]
    for size in range(1, len(timed) + 1):
        for some in combinations(timed, size):
            alike = len({s.instant.frame for s in some}) == 1
            within = max(s.instant.hi for s in some) - min(s.instant.lo for s in some) <= span
            if alike and within and number(some, count.distinct) >= count.least:
                return True
    return False


def possibly(count: Count, found: tuple[Sighting, ...]) -> bool:
    """Whether placing each instant anywhere inside of its interval lets enough of them lie within one span, clock by clock."""
    span = count.span_ns or 0
    clocks: dict[object, list[Sighting]] = {}
    for one in found:
        clocks.setdefault(one.instant.frame if one.instant.known else None, []).append(one)
    anywhere = clocks.pop(None, [])
    starts = [[s.instant.hi for s in alike] for alike in clocks.values()]
    for choice in product(*starts):
        inside = [
            [s for s in alike if s.instant.lo <= start + span and s.instant.hi >= start]
            for start, alike in zip(choice, clocks.values(), strict=True)
        ]
        if number((*anywhere, *chain(*inside)), count.distinct) >= count.least:
            return True
    return False


FOUND = st.lists(
    st.builds(
        seen,
        st.integers(0, 9),
        st.integers(0, 3),
        st.sampled_from((None, 0, 1, 2)),
        st.sampled_from(("wall", "wall", "local", "none")),
    ),
    max_size=7,
).map(tuple)
COUNTS = st.builds(Count, st.integers(1, 4), st.sampled_from((None, "rank")), st.integers(0, 6).map(lambda s: s * SECOND))


@given(COUNTS, FOUND)
def test_counts_in_a_span_are_those_of_all_spans(count: Count, found: tuple[Sighting, ...]) -> None:
    """Going through the sightings once finds what looking at every span of them finds."""
    assert enough(count, found) is certainly(count, found)
    assert may_be_enough(count, found) is possibly(count, found)


def test_count_without_a_span_takes_all() -> None:
    """Times don't matter; only values that are told are distinct ones."""
    found = (seen(0, rank=1), seen(50, rank=1), seen(90), seen(0, clock="none", rank=2))
    assert enough(Count(4), found)
    assert not enough(Count(5), found)
    assert enough(Count(2, "rank"), found)
    assert not may_be_enough(Count(3, "rank"), found)


@pytest.mark.parametrize("distinct", [None, "rank"])
def test_time_grows_with_the_number_of_sightings(distinct: str | None) -> None:
    """Thousands of lines that never suffice are counted in a moment."""
    found = tuple(evolve(seen(n // 8, 1), actor=Actor(rank=n % 8)) for n in range(8_000))
    count = Count(9 if distinct else 8 * 70, distinct, MINUTE)
    start = time.process_time()
    assert not enough(count, found)
    assert not may_be_enough(count, found)
    assert time.process_time() - start < 3
