"""What a scan keeps of a source that never ends: bounded sightings, bounded error records, and times filled in later.

A record without a stamp lies between its emitter's stamps around it. The next one is not known yet when the record is seen,
so what is kept refers to a `Gap` that is closed when that stamp arrives.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

from attrs import evolve, frozen

from denpex_rules.clock import MAX, MIN, UNKNOWN, Instant
from denpex_rules.sighting import ErrorLine, Sighting

PER_EMITTER: Final = 2_000  # sightings of a look-up event: the very first and the newest of each emitter
PER_SOURCE: Final = 20_000  # sightings of one event in one source
FEWEST: Final = 2  # of a look-up event and emitter, however many emitters a source has
SHAPES: Final = 500  # different error records of one source

Item = TypeVar("Item", Sighting, ErrorLine)


class Gap:
    """The time between two stamps of one emitter; a side whose stamp is missing is open."""

    __slots__ = ("after", "before")

    def __init__(self, before: Instant | None) -> None:
        self.before = before
        self.after: Instant | None = None

    def close(self, stamp: Instant) -> bool:
        """Take the next stamp. Returns False when it is of another clock: the gap then waits for one that compares."""
        if self.before is not None and not self.before.comparable(stamp):
            return False
        self.after = stamp
        return True

    def instant(self) -> Instant:
        """Return the interval that the stamps around leave open."""
        before, after = self.before, self.after
        if before is None:
            return UNKNOWN if after is None else evolve(after, lo=MIN)
        if after is None:
            return evolve(before, hi=MAX)
        # Stamps may run backwards (a false fraction, a clock set back): the interval then spans both.
        return evolve(before, lo=min(before.lo, after.lo), hi=max(before.hi, after.hi))


@frozen
class Kept(Generic[Item]):
    """A sighting or an error record, with the gap that its instant comes from, None where it has a stamp."""

    item: Item
    gap: Gap | None = None

    def resolved(self) -> Item:
        """Return the item with the best instant known so far."""
        return self.item if self.gap is None else evolve(self.item, instant=self.gap.instant())

    def __deepcopy__(self, memo: dict[int, Any]) -> Kept[Item]:
        return self if self.gap is None else Kept(self.item, copy.deepcopy(self.gap, memo))


class FirstAndNewest:
    """Keeps the first `head` and the newest `tail` of what is added."""

    __slots__ = ("_first", "_head", "_newest", "dropped")

    def __init__(self, head: int, tail: int) -> None:
        self._head = head
        self._first: list[Kept[Sighting]] = []
        self._newest: deque[Kept[Sighting]] = deque(maxlen=tail)
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._newest)

    def add(self, kept: Kept[Sighting]) -> None:
        """Add one; where there is no room, the oldest but the first go."""
        if len(self._first) < self._head:
            self._first.append(kept)
            return
        self.dropped += len(self._newest) == self._newest.maxlen
        self._newest.append(kept)

    def shrink(self, tail: int) -> None:
        """Keep only this many of the newest, now and later."""
        self.dropped += max(0, len(self._newest) - tail)
        self._newest = deque(self._newest, maxlen=tail)

    def __iter__(self) -> Iterator[Kept[Sighting]]:
        yield from self._first
        yield from self._newest


class Shelf:
    """The sightings of one event in one source.

    An event of look-ups keeps, of each emitter, the first and the newest; another event the first and the newest of all.
    """

    def __init__(self, *, lookup: bool) -> None:
        self._lookup = lookup
        self._limit = PER_EMITTER if lookup else PER_SOURCE
        self._rows: dict[str, FirstAndNewest] = {}
        self._count = 0

    @property
    def dropped(self) -> int:
        """How many sightings were dropped to stay within bounds."""
        return sum(row.dropped for row in self._rows.values())

    def add(self, kept: Kept[Sighting], label: str) -> None:
        """Add a sighting of the emitter with this label."""
        key = label if self._lookup else ""
        row = self._rows.get(key)
        if row is None:
            head = 1 if self._lookup else PER_SOURCE // 2
            row = self._rows[key] = FirstAndNewest(head, self._limit - head)
        before = len(row)
        row.add(kept)
        self._count += len(row) - before
        if self._count > PER_SOURCE and self._limit > FEWEST:
            self._shrink()

    def _shrink(self) -> None:
        self._limit = max(FEWEST, self._limit // 2)
        for row in self._rows.values():
            row.shrink(self._limit - 1)
        self._count = sum(map(len, self._rows.values()))

    def __iter__(self) -> Iterator[Kept[Sighting]]:
        for row in self._rows.values():
            yield from row


class Errors:
    """Error records by shape: the first of each, and how many there were."""

    def __init__(self) -> None:
        self.dropped = 0
        self._first: dict[str, Kept[ErrorLine]] = {}
        self._counts: dict[str, int] = {}

    def known(self, template: str) -> bool:
        """Count one more of a shape. Returns False when the shape is new and there is room to keep its first record."""
        if template in self._counts:
            self._counts[template] += 1
            return True
        if len(self._first) == SHAPES:
            self.dropped += 1
            return True
        return False

    def add(self, kept: Kept[ErrorLine]) -> None:
        """Keep the first record of a shape."""
        self._first[kept.item.template] = kept
        self._counts[kept.item.template] = 1

    def __iter__(self) -> Iterator[ErrorLine]:
        for template, kept in self._first.items():
            yield evolve(kept.resolved(), count=self._counts[template])
