"""All sources of one collection, merged: sightings with their clocks and actors resolved, and questions about coverage.

The result does not depend on the order of files or on how lines are spread over them: sightings are ordered by what they say,
their place in a file decides only within one emitter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from attrs import Factory, define, evolve, frozen

from denpex_rules import topology as who
from denpex_rules import uptime
from denpex_rules.calendar import EVEN, Calendar, ClockKey, Clocks
from denpex_rules.clock import MAX, MIN, SECOND, Frame, Instant, Order, format_time, order
from denpex_rules.resolution import COLLECTED, Losses, Place, Resolution, as_it_is, in_attempts
from denpex_rules.rule import Kind
from denpex_rules.series import Series, series
from denpex_rules.sighting import Activity, Emitter, ErrorLine, Scan, Sighting, SourceCoverage
from denpex_rules.topology import Topology


@frozen
class Point:
    """A time with the place that it was read at: what an order between two records is decided from."""

    instant: Instant
    host: str | None = None
    emitter: Emitter | None = None
    ordinal: int | None = None
    rank: int | None = None

    def shift(self, ns: int) -> Point:
        """Return the point moved by `ns`; line order no longer tells anything about it, unless it did not move."""
        return self if ns == 0 else Point(self.instant.shift(ns), self.host, self.emitter, None, self.rank)


@frozen
class Need:
    """A log that was not read (far enough): its kind, whose it is, and the interval in ns, None where it is unbounded."""

    kind: Kind | None
    rank: int | None = None
    host: str | None = None
    lo: int | None = None
    hi: int | None = None
    source: str | None = None

    def text(self) -> str:
        """Return the missing fact in words."""
        if self.rank is not None:
            log = f"the log of rank {self.rank}"
        elif self.source is not None:
            log = f"the rest of {self.source}"
        elif self.host is not None:
            log = f"the {self.kind or 'rank'} log of host {self.host}"
        else:
            log = "the logs of the other ranks" if self.kind == "rank" else f"the {self.kind or 'rank'} log of the hosts"
        return log + _interval_text(self.lo, self.hi)


def _interval_text(lo: int | None, hi: int | None) -> str:
    if lo is None or hi is None or lo <= MIN // 2 or hi >= MAX // 2:
        return ""
    return f" from {format_time(lo)} to {format_time(hi)}"


def point_of(sighting: Sighting) -> Point:
    """Return a sighting's own time and place."""
    return Point(sighting.instant, sighting.actor.host, sighting.emitter, sighting.ordinal, sighting.actor.rank)


@frozen
class Presence:
    """One emitter's resolved activity: runs in ns, and how far its log reaches (closed interval, None: nothing timed)."""

    activity: Activity
    first: int | None
    last: int | None

    @property
    def timed(self) -> bool:
        """Whether any line carried a time."""
        return self.first is not None


@define
class Timeline:
    """Resolved sightings and coverage of one collection of logs."""

    topology: Topology
    skew: int
    presences: tuple[Presence, ...]
    sources: Mapping[str, SourceCoverage]
    notes: tuple[str, ...] = ()
    assumed: frozenset[str] = frozenset()  # sources whose zone was assumed to be that of the others
    until: int | None = None  # ns UTC up to which every source was read, when the caller knows it
    errors: tuple[ErrorLine, ...] = ()
    clocks: Clocks = EVEN
    _lost_at: Place = as_it_is
    _series: Series = Factory(lambda: Series({}))

    @cached_property
    def jobs(self) -> frozenset[str]:
        """The jobs that any line or file names."""
        named = {s.actor.job for s in self._series.raw} | {p.activity.actor.job for p in self.presences}
        return frozenset(j for j in named if j is not None)

    def of(self, event: str) -> tuple[Sighting, ...]:
        """Return an event's sightings in canonical order, each record once."""
        return self._series.of(event)

    def by_field(self, event: str, name: str) -> Mapping[object, Sequence[Sighting]]:
        """Return an event's sightings in canonical order by the value of a field, None where it is not told."""
        return self._series.by_field(event, name)

    def by_emitter(self, event: str) -> Mapping[Emitter, Sequence[Sighting]]:
        """Return an event's sightings in canonical order by their emitter."""
        return self._series.by_emitter(event)

    def by_clock(self, event: str) -> Mapping[Frame, Sequence[Sighting]]:
        """Return an event's timed sightings by what their instants are compared by, each by the begin of the instant."""
        return self._series.by_clock(event)

    @property
    def sightings(self) -> Iterable[Sighting]:
        """All sightings, event by event, as `of` gives them."""
        return self._series

    @property
    def events(self) -> Iterable[str]:
        """The ids of the events that were seen."""
        return self._series.events

    # ---- order

    @cached_property
    def bound(self) -> int:
        """By how many ns any two clocks may differ."""
        return self.clocks.bound(self.skew)

    def skew_between(self, a: Point, b: Point) -> int:
        """Return by how many ns the clocks of two places may differ."""
        emitter = a.emitter is not None and a.emitter == b.emitter
        host, rank = a.host is not None and a.host == b.host, a.rank is not None and a.rank == b.rank
        if not self.clocks.ahead:
            return 0 if emitter or host or rank else self.bound
        if a.host == b.host and (emitter or (rank and a.host is None)):
            return 0
        return self.clocks.between(self._clock(a), self._clock(b), self.skew)

    def stamped(self, point: Point) -> str | None:
        """Return the host whose clock stamped a point; None where clocks were put right and nothing proves which one it was."""
        return point.host if not self.clocks.ahead or self._clock(point) is not None else None

    def _clock(self, point: Point) -> ClockKey | None:
        """Return the clock that stamped a point; None where a line tells of another host than the one that printed it."""
        if point.host is None or (point.emitter is not None and self._host_of.get(point.emitter) != point.host):
            return None
        return point.host, point.instant.clock

    @cached_property
    def _host_of(self) -> Mapping[Emitter, str | None]:
        return {p.activity.emitter: p.activity.actor.host for p in self.presences}

    def order(self, a: Point, b: Point) -> Order:
        """Say whether `a` came before or after `b`: by line order within one emitter, else by time beyond the skew bound."""
        if a.emitter is not None and a.emitter == b.emitter and a.ordinal is not None and b.ordinal is not None:
            if a.ordinal == b.ordinal:
                return Order.UNCERTAIN
            return Order.BEFORE if a.ordinal < b.ordinal else Order.AFTER
        return order(a.instant, b.instant, self.skew_between(a, b))

    def one_process(self, emitter: Emitter) -> bool:
        """Whether an emitter whose rank is unknown may be taken for one process: its file shows no two ranks."""
        return bool(emitter.label) or len(self._ranks_in.get(emitter.source, ())) < 2

    @cached_property
    def _ranks_in(self) -> Mapping[str, set[int]]:
        found: dict[str, set[int]] = defaultdict(set)
        for presence in self.presences:
            if presence.activity.actor.rank is not None:
                found[presence.activity.emitter.source].add(presence.activity.actor.rank)
        for sighting in self.sightings:
            if sighting.actor.rank is not None:
                found[sighting.source].add(sighting.actor.rank)
        return found

    # ---- coverage

    @cached_property
    def end(self) -> int | None:
        """The last time of any rank or agent log: how far all of them were collected; None when none is timed."""
        return max((p.last for p in self.presences if p.last is not None and _collected(p.activity)), default=None)

    @cached_property
    def start(self) -> int | None:
        """The first time of any rank or agent log, None when none is timed."""
        return min((p.first for p in self.presences if p.first is not None and _collected(p.activity)), default=None)

    def reach(self, presence: Presence) -> tuple[int, int] | None:
        """Return the closed interval that an emitter's log is known to cover, None when nothing of it is timed.

        An agent speaks rarely, but it runs before its workers do: its log covers what theirs do.
        """
        if presence.first is None or presence.last is None:
            return None
        first, last = presence.first, presence.last
        if presence.activity.kind == "agent" and self.start is not None:
            first = min(first, self.start)
        if _collected(presence.activity) and self.end is not None:
            last = max(last, self.end)
        if self.until is not None and presence.activity.frame.clock != "monotonic":
            last = max(last, self.until)
        return first, last

    def present(
        self, kind: Kind | None = None, rank: int | None = None, host: str | None = None, emitter: Emitter | None = None
    ) -> tuple[Presence, ...]:
        """Return the presences of a kind (unknown kinds count as rank logs), rank, host and emitter."""
        if emitter is not None:
            found = self._of_emitter.get(emitter, ())
        elif rank is not None:
            found = self._of_rank.get(rank, ())
        elif host is not None:
            found = self._of_host.get(host, ())
        elif kind is not None:
            return self._of_kind.get(kind, ())
        else:
            return self.presences
        return tuple(
            p
            for p in found
            if (kind is None or (p.activity.kind or "rank") == kind)
            and (host is None or p.activity.actor.host == host)
            and (rank is None or p.activity.actor.rank == rank)
        )

    @cached_property
    def _of_emitter(self) -> Mapping[Emitter, tuple[Presence, ...]]:
        return _grouped(self.presences, lambda p: p.activity.emitter)

    @cached_property
    def _of_rank(self) -> Mapping[int | None, tuple[Presence, ...]]:
        return _grouped(self.presences, lambda p: p.activity.actor.rank)

    @cached_property
    def _of_host(self) -> Mapping[str | None, tuple[Presence, ...]]:
        return _grouped(self.presences, lambda p: p.activity.actor.host)

    @cached_property
    def _of_kind(self) -> Mapping[Kind, tuple[Presence, ...]]:
        return _grouped(self.presences, lambda p: p.activity.kind or "rank")

    def locate(self, source: str, line: int, start: int, end: int) -> tuple[str, int, tuple[int, int]]:
        """Return the file, line and byte range in it of a place in a source: of a rotated log the part that holds it."""
        found = self.sources.get(source)
        return found.locate(line, start, end) if found is not None else (source, line, (start, end))

    def intact(self, presence: Presence) -> bool:
        """Whether a line that is missing in this emitter's source was not printed: no bytes of it are missing."""
        source = self.sources.get(presence.activity.emitter.source)
        return source is not None and not source.truncated

    def dropped(self, presence: Presence, event: str, lo: int | None, hi: int | None, frame: Instant | None) -> bool:
        """Whether sightings of an event that were dropped of this emitter may lie in a window.

        Args:
            presence: the emitter.
            event: the event.
            lo: begin of the window in ns; None: open.
            hi: end of the window in ns, itself inside; None: open.
            frame: an instant of the window's clock; None: the bounds are unknown.
        """
        emitter = presence.activity.emitter
        source = self.sources.get(emitter.source)
        if source is None or not source.evicted:
            return False
        if not source.dropped:
            return True
        drops = self._losses.of(event)
        spans = (span for label in (None, emitter.label) for span in drops.get((emitter.source, label), ()))
        return any(self._may_touch(span, lo, hi, frame) for span in spans)

    @cached_property
    def _losses(self) -> Losses:
        return Losses(self.sources.values(), self._lost_at)

    def _may_touch(self, span: Instant, lo: int | None, hi: int | None, frame: Instant | None) -> bool:
        if frame is None or not span.known or not span.comparable(frame):
            return True
        return (lo is None or span.hi + self.bound >= lo) and (hi is None or span.lo - self.bound <= hi)

    def merged(self, presence: Presence) -> bool:
        """Whether the emitter's source lets one line stand for lines of other processes."""
        source = self.sources.get(presence.activity.emitter.source)
        return source is not None and source.merged > 0

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of log that were read; a source of unknown kind counts as a rank log."""
        return tuple(sorted({p.activity.kind or "rank" for p in self.presences}))

    @cached_property
    def untimed(self) -> bool:
        """Whether no line of any source carries a time."""
        return not any(p.timed for p in self.presences)


_Key = TypeVar("_Key")


def _grouped(presences: Iterable[Presence], key: Callable[[Presence], _Key]) -> Mapping[_Key, tuple[Presence, ...]]:
    table: dict[_Key, list[Presence]] = defaultdict(list)
    for presence in presences:
        table[key(presence)].append(presence)
    return {value: tuple(found) for value, found in table.items()}


def _collected(activity: Activity) -> bool:
    return (activity.kind or "rank") in COLLECTED


def spoke(runs: Sequence[tuple[int, int]], lo: int, hi: int) -> tuple[int, int] | None:
    """Return the first run that touches the closed interval [lo, hi], None when there is none."""
    index = bisect_left(runs, lo, key=lambda run: run[1])
    return runs[index] if index < len(runs) and runs[index][0] <= hi else None


def build(
    scan: Scan,
    identities: frozenset[str],
    calendar: Calendar,
    skew: int = 5 * SECOND,
    job: str | None = None,
    until: int | None = None,
) -> Timeline:
    """Return the timeline of a scan.

    Args:
        scan: sightings and coverage of all sources.
        identities: ids of the events that tell who is who.
        calendar: what is known about years, zones and host offsets.
        skew: by how many ns the clocks of two hosts may differ.
        job: the job that every source belongs to, when the caller knows it.
        until: ns UTC up to which every source was read, when the caller knows it.
    """
    activities = [a for s in scan.sources for a in s.activities]
    topology = who.build(scan.sightings, activities, identities)
    resolver = calendar.resolver(scan)
    resolution = Resolution(topology, resolver, job)
    resolved = resolution.sightings(scan.sightings)
    joined = uptime.origins(resolved, lambda instant, s: resolver.resolve(instant, s.source, s.actor.host))
    if joined:
        resolver.join_uptime(joined)
        resolution = Resolution(topology, resolver, job)
        resolved = resolution.sightings(scan.sightings)
    activities = [resolution.activity(a) for a in activities]
    errors = tuple(resolution.error(e) for e in scan.errors)
    notes = (*resolver.notes, *(c.text() for c in topology.conflicts()), *calendar.clocks.notes)
    presences = map(presence_of, activities)
    made = assemble(topology, skew, in_attempts(resolved), presences, scan.sources, notes=notes, assumed=resolver.assumed)
    return evolve(made, until=until, errors=errors, clocks=calendar.clocks, lost_at=resolution.losses(activities))


def assemble(
    topology: Topology,
    skew: int,
    sightings: Iterable[Sighting],
    presences: Iterable[Presence],
    sources: Iterable[SourceCoverage],
    *,
    notes: tuple[str, ...] = (),
    assumed: frozenset[str] = frozenset(),
) -> Timeline:
    """Return the timeline of sightings and presences whose clocks and actors are resolved already."""
    by_source = {s.source: s for s in sorted(sources, key=lambda s: s.source)}
    placed = tuple(sorted(presences, key=lambda p: (p.activity.emitter.source, p.activity.emitter.label)))
    return Timeline(topology, skew, placed, by_source, notes, assumed, series=series(sightings))


def presence_of(activity: Activity) -> Presence:
    """Return an activity with the interval that its own timed lines cover."""
    if not activity.runs:
        return Presence(activity, None, None)
    return Presence(activity, activity.runs[0][0], max(hi for _, hi in activity.runs))
