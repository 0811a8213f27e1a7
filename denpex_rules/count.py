"""Whether sightings suffice for a step that counts them, in time that grows with their number alone (specification 7)."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from denpex_rules.attribution import Bound
from denpex_rules.rule import Count
from denpex_rules.sighting import Sighting
from denpex_rules.values import Value


def enough(count: Count, sightings: Bound) -> bool:
    """Whether sightings certainly suffice for a step's count."""
    if count.span_ns is None:
        return _number(sightings, count.distinct) >= count.least
    for alike in _by_clock(s for s in sightings if s.instant.known).values():
        tally = _Tally(count.distinct)
        inside: list[tuple[int, int]] = []  # when each began and its place: those of the last span
        alike.sort(key=lambda s: s.instant.hi)
        for place, last in enumerate(alike):
            tally.add(last)
            heapq.heappush(inside, (last.instant.lo, place))
            while inside and inside[0][0] < last.instant.hi - count.span_ns:
                tally.remove(alike[heapq.heappop(inside)[1]])
            if tally.number >= count.least:
                return True
    return False


def may_be_enough(count: Count, sightings: Bound) -> bool:
    """Whether sightings may suffice for a step's count, their instants placed as favourably as they allow.

    Instants that can't be compared constrain each other in nothing, so each clock brings the fullest span of its own.
    """
    if count.span_ns is None or _number(sightings, count.distinct) < count.least:
        return _number(sightings, count.distinct) >= count.least
    clocks = _by_clock(sightings)
    anywhere = clocks.pop(None, [])
    tallies = [_spans(alike, count.span_ns, count.distinct) for alike in clocks.values()]
    if count.distinct is None:
        return len(anywhere) + sum(max(t.number for t in spans) for spans in tallies) >= count.least
    told = _Tally(count.distinct)
    for sighting in anywhere:
        told.add(sighting)
    if len(tallies) == 1:
        return any(len(told.values.keys() | tally.values.keys()) >= count.least for tally in tallies[0])
    seen = [{frozenset(tally.values) for tally in spans} for spans in tallies]
    return any(len(told.values.keys() | frozenset().union(*choice)) >= count.least for choice in product(*seen))


class _Tally:
    """A number of sightings, or of the distinct values of a field that they tell."""

    def __init__(self, distinct: str | None) -> None:
        self._distinct = distinct
        self._count = 0
        self.values: Counter[Value] = Counter()

    @property
    def number(self) -> int:
        """What is counted."""
        return self._count if self._distinct is None else len(self.values)

    def add(self, sighting: Sighting) -> None:
        """Count one more."""
        self._count += 1
        value = sighting.told(self._distinct) if self._distinct is not None else None
        if value is not None:
            self.values[value] += 1

    def remove(self, sighting: Sighting) -> None:
        """Count one less."""
        self._count -= 1
        value = sighting.told(self._distinct) if self._distinct is not None else None
        if value is not None:
            self.values[value] -= 1
            if not self.values[value]:
                del self.values[value]


def _spans(alike: Sequence[Sighting], span_ns: int, distinct: str | None) -> Iterator[_Tally]:
    """Yield for each sighting of one clock what may lie in the span that starts when it ends: one tally, which changes."""
    tally = _Tally(distinct)
    coming = sorted(alike, key=lambda s: s.instant.lo)
    ends = sorted(alike, key=lambda s: s.instant.hi)
    added = removed = 0
    for first in ends:
        start = first.instant.hi
        while added < len(coming) and coming[added].instant.lo <= start + span_ns:
            tally.add(coming[added])
            added += 1
        while ends[removed].instant.hi < start:
            tally.remove(ends[removed])
            removed += 1
        yield tally


def _by_clock(sightings: Iterable[Sighting]) -> dict[object, list[Sighting]]:
    """Return sightings by what their instants are compared by, those without a time under None."""
    groups: dict[object, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        groups[sighting.instant.frame if sighting.instant.known else None].append(sighting)
    return groups


def _number(sightings: Sequence[Sighting], distinct: str | None) -> int:
    if distinct is None:
        return len(sightings)
    return len({s.told(distinct) for s in sightings} - {None})
