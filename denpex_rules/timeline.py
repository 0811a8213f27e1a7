"""All sources of one collection, merged: sightings with their clocks and actors resolved, and questions about coverage.

The result does not depend on the order of files or on how lines are spread over them: sightings are ordered by what they say,
their place in a file decides only within one emitter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from attrs import Factory, define, evolve, frozen

from denpex_rules import topology as who
from denpex_rules import uptime
from denpex_rules.calendar import EVEN, Calendar, ClockKey, Clocks, Resolver
from denpex_rules.clock import MAX, MIN, SECOND, Instant, Order, format_time, order
from denpex_rules.rule import RESTART, Kind
from denpex_rules.sighting import Activity, Emitter, ErrorLine, Scan, Sighting, SourceCoverage
from denpex_rules.topology import Topology
from denpex_rules.values import Value

# Rank and agent logs of a job are collected in one go, so the last line of any of them shows how far all of them reach.
COLLECTED: frozenset[Kind] = frozenset({"rank", "agent"})


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


def in_order(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Return sightings in canonical order: by time, then by what their emitters say, then by line order within an emitter.

    The place in a file decides only within one emitter and between records that nothing else tells apart.
    """
    groups: dict[tuple[bool, int, int], dict[Emitter, list[Sighting]]] = defaultdict(lambda: defaultdict(list))
    for sighting in sightings:
        instant = sighting.instant
        groups[not instant.known, instant.lo, instant.hi][sighting.emitter].append(sighting)
    ordered: list[Sighting] = []
    for _, emitters in sorted(groups.items()):
        lines = [sorted(found, key=lambda s: (s.ordinal, s.start, s.event)) for found in emitters.values()]
        for found in sorted(lines, key=lambda found: _emitter_key(found[0])):
            ordered.extend(found)
    return ordered


def _emitter_key(first: Sighting) -> tuple[object, ...]:
    rank, host = first.actor.rank, first.actor.host
    return (rank is None, rank or 0, host is None, host or "", first.text, first.source, first.emitter.label)


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
    sightings: tuple[Sighting, ...]
    presences: tuple[Presence, ...]
    sources: Mapping[str, SourceCoverage]
    notes: tuple[str, ...] = ()
    assumed: frozenset[str] = frozenset()  # sources whose zone was assumed to be that of the others
    until: int | None = None  # ns UTC up to which every source was read, when the caller knows it
    errors: tuple[ErrorLine, ...] = ()
    clocks: Clocks = EVEN
    _by_event: dict[str, tuple[Sighting, ...]] = Factory(dict)

    @cached_property
    def jobs(self) -> frozenset[str]:
        """The jobs that any line or file names."""
        named = {s.actor.job for s in self.sightings} | {p.activity.actor.job for p in self.presences}
        return frozenset(j for j in named if j is not None)

    def of(self, event: str) -> tuple[Sighting, ...]:
        """Return an event's sightings in canonical order, each record once."""
        return self._by_event.get(event, ())

    @property
    def events(self) -> Iterable[str]:
        """The ids of the events that were seen."""
        return self._by_event.keys()

    # ---- order

    @property
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

    def present(self, kind: Kind | None = None, rank: int | None = None, host: str | None = None) -> tuple[Presence, ...]:
        """Return the emitters of a kind (unknown kinds count as rank logs), rank and host."""
        found = self.presences
        if rank is not None:
            found = self._of_rank.get(rank, ())
        return tuple(
            p
            for p in found
            if (kind is None or (p.activity.kind or "rank") == kind) and (host is None or p.activity.actor.host == host)
        )

    @cached_property
    def _of_rank(self) -> Mapping[int, tuple[Presence, ...]]:
        table: dict[int, list[Presence]] = defaultdict(list)
        for presence in self.presences:
            if presence.activity.actor.rank is not None:
                table[presence.activity.actor.rank].append(presence)
        return {rank: tuple(found) for rank, found in table.items()}

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
        spans = (span for label in (None, emitter.label) for span in self._drops.get((emitter.source, event, label), ()))
        return not source.dropped or any(self._may_touch(span, lo, hi, frame) for span in spans)

    @cached_property
    def _drops(self) -> Mapping[tuple[str, str, str | None], list[Instant]]:
        """The spans of what was dropped, by source, event and label."""
        table: dict[tuple[str, str, str | None], list[Instant]] = defaultdict(list)
        for source in self.sources.values():
            for one in source.dropped:
                table[source.source, one.event, one.label].append(one.instant)
        return table

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
    resolved = [_resolve(s, topology, resolver, job) for s in scan.sightings]
    joined = uptime.origins(resolved, lambda instant, s: resolver.resolve(instant, s.source, s.actor.host))
    if joined:
        resolver.join_uptime(joined)
        resolved = [_resolve(s, topology, resolver, job) for s in scan.sightings]
    sightings = _in_attempts(resolved)
    presences = [_presence(a, topology, resolver, job) for a in activities]
    errors = tuple(_resolve_error(e, topology, resolver) for e in scan.errors)
    notes = (*resolver.notes, *(c.text() for c in topology.conflicts()), *calendar.clocks.notes)
    read = [_resolve_dropped(s, presences, resolver) for s in scan.sources]
    made = assemble(topology, skew, sightings, presences, read, notes=notes, assumed=resolver.assumed)
    return evolve(made, until=until, errors=errors, clocks=calendar.clocks)


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
    by_event = _index_by_event(_originals(sightings))
    unique = tuple(s for found in by_event.values() for s in found)
    by_source = {s.source: s for s in sorted(sources, key=lambda s: s.source)}
    placed = tuple(sorted(presences, key=lambda p: (p.activity.emitter.source, p.activity.emitter.label)))
    return Timeline(topology, skew, unique, placed, by_source, notes, assumed, by_event=by_event)


def _resolve(sighting: Sighting, topology: Topology, resolver: Resolver, job: str | None) -> Sighting:
    printer = topology.resolve(sighting.actor, sighting.emitter)
    actor = topology.resolve(who.claim_of(evolve(sighting, actor=printer)), sighting.emitter)
    if job is not None:
        actor = evolve(actor, job=job)
    instant = resolver.resolve(sighting.instant, sighting.source, printer.host)
    return evolve(sighting, actor=actor, instant=instant)


def _in_attempts(sightings: Sequence[Sighting]) -> list[Sighting]:
    """Give what a launcher's console shows the attempt that it is of: the launcher says when it starts the next one.

    A restart tells its number by the attempts that are left. Only ranks and the launcher itself have attempts.
    """
    restarts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for sighting in sightings:
        left, most = sighting.fields.get("left"), sighting.fields.get("all")
        if sighting.event.endswith(RESTART) and isinstance(left, int) and isinstance(most, int) and left <= most:
            restarts[sighting.source].append((sighting.line, most - left + 1))

    def placed(sighting: Sighting) -> Sighting:
        turns = restarts.get(sighting.source)
        if not turns or sighting.actor.attempt is not None or (sighting.kind or "rank") not in COLLECTED:
            return sighting
        begun = bisect_left(turns, sighting.line, key=lambda turn: turn[0])
        attempt = turns[begun - 1][1] if begun else turns[0][1] - 1
        return evolve(sighting, actor=evolve(sighting.actor, attempt=attempt))

    for turns in restarts.values():
        turns.sort()
    return [placed(s) for s in sightings]


def _resolve_error(error: ErrorLine, topology: Topology, resolver: Resolver) -> ErrorLine:
    actor = topology.resolve(error.actor, error.emitter)
    return evolve(error, actor=actor, instant=resolver.resolve(error.instant, error.emitter.source, actor.host))


def _resolve_dropped(source: SourceCoverage, presences: Iterable[Presence], resolver: Resolver) -> SourceCoverage:
    if not source.dropped:
        return source
    hosts = {p.activity.emitter.label: p.activity.actor.host for p in presences if p.activity.emitter.source == source.source}
    resolved = (evolve(d, instant=resolver.resolve(d.instant, source.source, hosts.get(d.label or ""))) for d in source.dropped)
    return evolve(source, dropped=tuple(resolved))


def _presence(activity: Activity, topology: Topology, resolver: Resolver, job: str | None) -> Presence:
    actor = topology.resolve(activity.actor, activity.emitter)
    if job is not None:
        actor = evolve(actor, job=job)
    source = activity.emitter.source
    resolved = [resolver.resolve(evolve(activity.frame, lo=lo, hi=hi), source, actor.host) for lo, hi in activity.runs]
    frame = resolver.resolve(activity.frame, source, actor.host)
    return presence_of(evolve(activity, actor=actor, runs=tuple((i.lo, i.hi) for i in resolved), frame=frame))


def presence_of(activity: Activity) -> Presence:
    """Return an activity with the interval that its own timed lines cover."""
    if not activity.runs:
        return Presence(activity, None, None)
    return Presence(activity, activity.runs[0][0], max(hi for _, hi in activity.runs))


def _index_by_event(sightings: Iterable[Sighting]) -> dict[str, tuple[Sighting, ...]]:
    by_event: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        by_event[sighting.event].append(sighting)
    return {event: tuple(in_order(_once(found))) for event, found in sorted(by_event.items())}


def _originals(sightings: Iterable[Sighting]) -> Iterable[Sighting]:
    """Drop whole copies of a stream: a launcher tees a rank's output into its own log and into the rank's file.

    An emitter is a copy when it speaks for the same rank as another one and all that it shows, the other shows too. Keeping only
    one of them keeps line order as proof between all sightings of that rank.
    """
    streams: dict[_Stream, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        streams[sighting.emitter, sighting.actor.attempt].append(sighting)
    by_rank: dict[int, list[tuple[_Stream, Counter[object]]]] = defaultdict(list)
    for stream, found in streams.items():
        ranks = {s.actor.rank for s in found}
        if len(ranks) == 1 and (rank := ranks.pop()) is not None:
            by_rank[rank].append((stream, Counter(_content(s) for s in found)))
    copies: set[_Stream] = set()
    for alike in by_rank.values():
        alike.sort(key=lambda one: (-one[1].total(), one[0][0].source, one[0][0].label, one[0][1] or 0))
        for i, (stream, content) in enumerate(alike):
            kept = (other for one, other in alike[:i] if one not in copies and _may_be_copies(streams[stream], streams[one]))
            if any(content <= other for other in kept):
                copies.add(stream)
    for stream, found in streams.items():
        if stream not in copies:
            yield from found


_Stream = tuple[Emitter, int | None]  # what an emitter said in one attempt


def _may_be_copies(a: list[Sighting], b: list[Sighting]) -> bool:
    """Whether two streams of one rank stand in different files and name no different jobs or attempts."""
    one, two = a[0].actor, b[0].actor
    jobs = one.job is None or two.job is None or one.job == two.job
    attempts = one.attempt is None or two.attempt is None or one.attempt == two.attempt
    return a[0].source != b[0].source and jobs and attempts


def _content(sighting: Sighting) -> object:
    return (sighting.event, sighting.instant, tuple(sorted(sighting.fields.items())), sighting.text)


def _once(sightings: Iterable[Sighting]) -> Iterable[Sighting]:
    """Drop copies: a line that was tee'd into two files is one record; the same line twice in one file is two.

    Untimed lines are kept, nothing proves them equal.
    """
    copies: dict[tuple[object, ...], dict[Emitter, list[Sighting]]] = defaultdict(lambda: defaultdict(list))
    for sighting in sightings:
        if not sighting.instant.known:
            yield sighting
            continue
        fields: tuple[tuple[str, Value], ...] = tuple(sorted(sighting.fields.items()))
        copies[sighting.actor, sighting.instant, fields, sighting.text][sighting.emitter].append(sighting)
    for emitters in copies.values():
        yield from min(emitters.items(), key=lambda item: (-len(item[1]), item[0].source, item[0].label))[1]
