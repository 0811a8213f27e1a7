"""What a scan keeps of a source that never ends: bounded sightings, bounded error records, and times filled in later.

A record without a stamp lies between its emitter's stamps around it. The next one is not known yet when the record is seen,
so what is kept refers to a `Gap` that is closed when that stamp arrives.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, Final, Generic, TypeVar

from attrs import evolve, field, frozen

from denpex_rules.clock import MAX, MIN, UNKNOWN, Instant, whole_seconds
from denpex_rules.exemplar import Exemplar
from denpex_rules.record import Line
from denpex_rules.sighting import Dropped, ErrorLine, Sighting

PER_EMITTER: Final = 2_000  # sightings of one event and emitter
PER_SOURCE: Final = 20_000  # sightings of one source
ROWS: Final = 64_000  # events and emitters of one source that are told apart
EVENT_ROWS: Final = 20_000  # emitters of one event
LEAST_ROWS: Final = 256  # emitters of one event, however many rows the others took
FEWEST: Final = 2  # of one event and emitter, however many of them a source has
OPEN_GAPS: Final = 16  # that what was dropped lies in, until those of them that were closed are looked for
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
            return UNKNOWN if after is None else after.bounded(MIN, after.hi)
        if after is None:
            return before.bounded(before.lo, MAX)
        # Stamps may run backwards (a false fraction, a clock set back): the interval then spans both.
        return before.bounded(min(before.lo, after.lo), max(before.hi, after.hi))


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


@frozen
class Marked:
    """A plain line and the places of the events that it shows: what their sightings are made of, should they be kept to the end.

    `raw` is the line without its newline; `instant` its time in whole seconds; `bad` says that it is an error; `line` is what was
    read, where it was read already; `like` is an example of its emitter and form, where one is known; `gap` is what a line without
    a stamp lies in.
    """

    raw: bytes
    number: int
    start: int
    instant: Instant
    places: tuple[int, ...]
    bad: bool = False
    line: Line | None = field(default=None, eq=False)
    like: Exemplar | None = field(default=None, eq=False)
    gap: Gap | None = field(default=None, eq=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Marked:
        return self if self.gap is None else evolve(self, gap=copy.deepcopy(self.gap, memo))


Found = Kept[Sighting] | Marked


@frozen
class More:
    """The newest marked lines of one event and emitter, collected elsewhere.

    `dropped` counts older ones that had no room there. They lie in `gaps` that were open then and, the others, in `span`: None
    where there are none, UNKNOWN where these are not of one clock.
    """

    marks: list[Marked]
    dropped: int = 0
    span: Instant | None = None
    gaps: tuple[Gap, ...] = ()


class Lost:
    """Counts what is not kept, and between which instants all of it was."""

    __slots__ = ("_gaps", "_last", "_span", "count")

    def __init__(self) -> None:
        self.count = 0
        self._span: Instant | None = None  # of what has its time; UNKNOWN where that is not of one clock
        self._last: Instant | None = None
        self._gaps: dict[Gap, None] = {}  # open ones that others lie in

    @property
    def span(self) -> Instant:
        """What all of it lies in, as far as it is known by now."""
        span = self._span
        for gap in self._gaps:
            span = _hull(span, whole_seconds(gap.instant()))
        return UNKNOWN if span is None else span

    def add(self, kept: Found) -> None:
        """Count one."""
        self.count += 1
        if kept.gap is not None:
            self._await(kept.gap)
            return
        instant = kept.instant if isinstance(kept, Marked) else whole_seconds(kept.item.instant)
        if instant is not self._last:  # else of the same second as the one before
            self._last = instant
            self._span = _hull(self._span, instant)

    def extend(self, more: More) -> None:
        """Count several."""
        self.count += more.dropped
        if more.span is not None:
            self._span = _hull(self._span, more.span)
        for gap in more.gaps:
            self._await(gap)

    def _await(self, gap: Gap) -> None:
        """Take what lies in a gap: its time is known when the gap is closed."""
        if gap.after is not None:
            self._span = _hull(self._span, whole_seconds(gap.instant()))
            return
        self._gaps[gap] = None
        if len(self._gaps) > OPEN_GAPS and len(self._gaps) & (len(self._gaps) - 1) == 0:  # now and then: at powers of two
            for closed in [one for one in self._gaps if one.after is not None]:
                self._span = _hull(self._span, whole_seconds(closed.instant()))
                del self._gaps[closed]


def _hull(span: Instant | None, instant: Instant) -> Instant:
    """Return what spans both, UNKNOWN where they don't compare; None: there is nothing yet."""
    if span is None:
        return instant if instant.known else UNKNOWN
    if not (span.known and instant.known and span.comparable(instant)):
        return UNKNOWN
    if span.lo <= instant.lo and instant.hi <= span.hi:
        return span
    return span.bounded(min(span.lo, instant.lo), max(span.hi, instant.hi))


class Row:
    """Keeps the first and the newest of what is added, at most `limit`; of what it drops, how many and when.

    Of an event of look-ups only the very first is ever asked for beside the newest ones; of another event the first half stays.
    """

    __slots__ = ("_first", "_lookup", "_lost", "_most", "_newest", "_room")  # there may be very many

    def __init__(self, limit: int, *, lookup: bool) -> None:
        self._lookup = lookup
        self._room = self._head(limit)
        self._most = limit - self._room
        self._first: list[Found] = []
        self._newest: list[Found] = []
        self._lost: Lost | None = None

    def __len__(self) -> int:
        return len(self._first) + len(self._newest)

    def __iter__(self) -> Iterator[Found]:
        return chain(self._first, self._newest)

    @property
    def count(self) -> int:
        """How many were dropped."""
        return self._lost.count if self._lost is not None else 0

    @property
    def span(self) -> Instant:
        """What all dropped ones lie in."""
        return self._lost.span if self._lost is not None else UNKNOWN

    def add(self, kept: Found) -> int:
        """Add one; where there is no room, the oldest but the first go. Returns by how many the row grew."""
        if len(self._first) < self._room:
            self._first.append(kept)
            return 1
        self._newest.append(kept)
        if len(self._newest) <= self._most:
            return 1
        self._drop(1)
        return 0

    def shrink(self, limit: int) -> None:
        """Keep only this many, now and later."""
        self._room = self._head(limit)
        self._most = limit - self._room
        self._newest[:0] = self._first[self._room :]
        del self._first[self._room :]
        self._drop(len(self._newest) - self._most)

    @property
    def room(self) -> tuple[int, int, int]:
        """How many more of the first are kept, how many of the newest at most, and how many of these by now."""
        return self._room - len(self._first), self._most, len(self._newest)

    def extend(self, more: More) -> int:
        """Add marked lines that were collected elsewhere, as `add` of each would. Returns by how many the row grew."""
        first, newest = self._first, self._newest
        before, room = len(first) + len(newest), self._room - len(first)
        if more.dropped:  # what was kept here is older
            self._drop(len(newest))
            self._losses().extend(more)
        first += more.marks[:room]
        newest += more.marks[room:]
        if len(newest) > self._most:
            self._drop(len(newest) - self._most)
        return len(first) + len(newest) - before

    def _drop(self, count: int) -> None:
        """Drop the oldest of the newest ones."""
        if count > 0:
            losses = self._losses()
            for kept in self._newest[:count]:
                losses.add(kept)
            del self._newest[:count]

    def _losses(self) -> Lost:
        if self._lost is None:
            self._lost = Lost()
        return self._lost

    def _head(self, limit: int) -> int:
        return 1 if self._lookup else limit // 2


class Shelf:
    """The sightings of one source: of each event and emitter the first and the newest, fewer where there are many of them."""

    def __init__(self, lookups: AbstractSet[str]) -> None:
        """Begin an empty shelf; `lookups` are the ids of the events that rules only look up."""
        self._lookups = lookups
        self.limit = PER_EMITTER  # of each event and emitter
        self._rows: dict[tuple[str, str], Row] = {}
        self._lost: dict[str, Lost] = {}  # by event: sightings that have no row
        self._emitters: Counter[str] = Counter()  # by event: its rows
        self.kept = 0

    def add(self, kept: Found, event: str, label: str) -> None:
        """Add a sighting of an event, or what one is made of, of the emitter with this label."""
        row = self._row(event, label)
        if row is None:
            lost = self._lost.get(event)
            if lost is None:
                lost = self._lost[event] = Lost()
            lost.add(kept)
            return
        self.kept += row.add(kept)
        if self.kept > PER_SOURCE:
            self._tighten()

    def _row(self, event: str, label: str) -> Row | None:
        """Return the row of an event and emitter, begun where there is none yet; None where none can be."""
        key = (event, label)
        row = self._rows.get(key)
        if row is None and self._has_room(event):
            self._emitters[event] += 1
            row = self._rows[key] = Row(self.limit, lookup=event in self._lookups)
        return row

    def extend(self, more: More, events: Iterable[str], label: str) -> None:
        """Add marked lines of some events and an emitter that have rows, as `add` of each would."""
        for event in events:
            self.kept += self._rows[event, label].extend(more)
            if self.kept > PER_SOURCE:
                self._tighten()

    def _tighten(self) -> None:
        """Halve what each row may keep until all of them fit."""
        while self.kept > PER_SOURCE and self.limit > FEWEST:
            limit, longest = self.limit // 2, max(map(len, self._rows.values()))
            while limit >= longest and limit > FEWEST:  # no row would keep fewer
                limit //= 2
            self.shrink(limit)

    def rooms(self, events: Iterable[str], label: str) -> list[tuple[int, int, int]]:
        """Return what the rows of events and an emitter can take, as `Row.room`, up to the first that can't have one."""
        found = []
        for event in events:
            row = self._row(event, label)
            if row is None:
                break
            found.append(row.room)
        return found

    @property
    def quota(self) -> int:
        """How many more can be kept before every row must keep fewer."""
        return PER_SOURCE - self.kept if self.limit > FEWEST else sys.maxsize

    def _has_room(self, event: str) -> bool:
        """Whether one more emitter of an event gets a row: no event takes all of them, none is left without."""
        rows = self._emitters[event]
        return rows < LEAST_ROWS or (rows < EVENT_ROWS and len(self._rows) < ROWS)

    def shrink(self, limit: int) -> None:
        """Keep at most this many of each event and emitter, now and later."""
        if limit >= self.limit:
            return
        self.limit = max(FEWEST, limit)
        for row in self._rows.values():
            row.shrink(self.limit)
        self.kept = sum(map(len, self._rows.values()))

    def dropped(self) -> tuple[Dropped, ...]:
        """Return what was dropped to stay within bounds."""
        rows = [Dropped(event, label, row.count, row.span) for (event, label), row in self._rows.items() if row.count]
        lost = [Dropped(event, None, row.count, row.span) for event, row in self._lost.items()]
        return tuple(sorted((*rows, *lost), key=lambda d: (d.event, d.label or "")))

    def __iter__(self) -> Iterator[tuple[str, str, Row]]:
        """Yield the event, the label of the emitter, and what is kept of them."""
        return ((event, label, row) for (event, label), row in self._rows.items())


class Errors:
    """Error records by shape: the first of each, and how many there were."""

    def __init__(self) -> None:
        self.dropped = 0
        self.limit = SHAPES
        self._first: dict[str, Kept[ErrorLine]] = {}
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._first)

    def known(self, template: str, line: int) -> bool:
        """Count one more of a shape. Returns False when it is to be kept: there is room for it, or it comes before the kept one."""
        if template in self._counts:
            self._counts[template] += 1
            return self._first[template].item.line <= line
        if len(self._first) >= self.limit:
            self.dropped += 1
            return True
        return False

    def first(self, template: str) -> int | None:
        """Return the line of the kept record of a shape, None where none is kept."""
        kept = self._first.get(template)
        return kept.item.line if kept is not None else None

    def count(self, template: str, records: int) -> None:
        """Count further records of a shape that is kept, behind the kept one."""
        self._counts[template] += records

    def add(self, kept: Kept[ErrorLine]) -> None:
        """Keep the first record of a shape."""
        self._first[kept.item.template] = kept
        self._counts.setdefault(kept.item.template, 1)

    def shrink(self, limit: int) -> None:
        """Keep only the first shapes, now and later."""
        self.limit = min(self.limit, limit)
        for template in [*self._first][self.limit :]:
            del self._first[template]
            self.dropped += self._counts.pop(template)

    def __iter__(self) -> Iterator[ErrorLine]:
        for template, kept in self._first.items():
            yield evolve(kept.resolved(), count=self._counts[template])
