"""Which logs of a kind reach over an interval, actor by actor: whose log would have to be read before an absence is proven.

A storm asks this again for each of its lines, about the logs of every rank. So of the logs that are the only one of their actor and
whole it is sorted how far they reach, and only those that may fall short are looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from attrs import frozen

from denpex_rules.clock import Frame, Instant
from denpex_rules.rule import Kind
from denpex_rules.sighting import Emitter
from denpex_rules.timeline import Need, Presence, Timeline

LISTED: Final = 64  # logs that are named; nobody reads on after the first few
MOST_RANKS: Final = 100_000  # a larger world is a misread number


@frozen
class Whom:
    """The actor that a step's conditions single out, as far as it is known."""

    rank: int | None = None
    host: str | None = None
    job: str | None = None
    emitter: Emitter | None = None  # of a speaker whose rank or host is unknown: its own stream stands for it

    @property
    def anyone(self) -> bool:
        """Whether nobody is singled out in a job."""
        return self.rank is None and self.host is None and self.emitter is None


@frozen
class Interval:
    """A closed interval in ns; a side that is None reaches as far as was read. `frame` names the clock; None: unknown bounds.

    `unknown` tells bounds that nothing gives apart from a window without bounds where nothing has a time. `emitter` is that of
    the one closed side's anchor where the other side is open: line order then reaches as far as that emitter was read.
    """

    lo: int | None
    hi: int | None
    frame: Instant | None
    unknown: bool = False
    emitter: Emitter | None = None

    @property
    def bounds(self) -> list[int]:
        """The sides that are closed."""
        return [bound for bound in (self.lo, self.hi) if bound is not None]


class Panels:
    """The logs of one timeline, by the event that is missed in them."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._wide: dict[tuple[str, Kind, str | None], _Panel] = {}

    def uncovered(self, event: str, kind: Kind, actor: Whom, interval: Interval) -> list[Need]:
        """Return what of a kind would have to be read before absence is proven, the first of it; nothing when it is."""
        timeline, panel = self._timeline, self._panel(event, kind, actor)
        dated = interval.frame is not None and interval.frame.year
        lo, hi = (interval.lo, interval.hi) if dated else (None, None)
        need = Need(kind, actor.rank, actor.host, lo, hi, actor.emitter.source if actor.emitter else None)
        if not panel.groups:
            return [need]
        if interval.frame is None and timeline.untimed:
            read = (p for _, group in panel.groups for p in group)
            whole = (timeline.intact(p) and not timeline.dropped(p, event, None, None, None) for p in read)
            return [] if not interval.unknown and any(whole) else [need]
        asked = (panel.groups[index] for index in panel.doubtful(interval))
        short = (key for key, group in asked if not _covers(timeline, group, event, interval))
        missing = [_need_of(key, kind, lo, hi) for key in islice(short, LISTED)]
        return missing + [Need("rank", rank=r, lo=lo, hi=hi) for r in panel.absent]

    def _panel(self, event: str, kind: Kind, actor: Whom) -> _Panel:
        if not actor.anyone:
            return self._made(event, kind, actor)
        panel = self._wide.get((event, kind, actor.job))
        if panel is None:
            panel = self._wide[event, kind, actor.job] = self._made(event, kind, actor)
        return panel

    def _made(self, event: str, kind: Kind, actor: Whom) -> _Panel:
        found: Iterable[Presence] = self._timeline.present(kind, actor.rank, actor.host, actor.emitter)
        if actor.job is not None:
            found = [p for p in found if p.activity.actor.job in {None, actor.job}]
        absent = _absent(self._timeline, found) if kind == "rank" and actor.anyone else ()
        return _Panel(self._timeline, event, kind, found, absent)


def _absent(timeline: Timeline, found: Iterable[Presence]) -> Sequence[int]:
    """Return the first ranks of the job without a log, where a line tells how many there are."""
    seen = {p.activity.actor.rank for p in found}
    size = timeline.topology.world_size or 0
    return list(islice((r for r in range(min(size, MOST_RANKS)) if r not in seen), LISTED))


_Key = tuple[str, object]  # an actor, or what stands for one that is not known


class _Panel:
    """Logs of a kind by actor; `absent` are ranks of the job without one."""

    def __init__(self, timeline: Timeline, event: str, kind: Kind, found: Iterable[Presence], absent: Sequence[int]) -> None:
        groups: dict[_Key, list[Presence]] = defaultdict(list)
        for presence in found:
            groups[_key(presence, kind)].append(presence)
        self.groups = list(groups.items())
        self.absent = absent
        self._others: list[int] = []  # those that are always looked at
        self._begins: dict[Frame, list[tuple[int, int]]] = defaultdict(list)
        self._ends: dict[Frame, list[tuple[int, int]]] = defaultdict(list)
        if len(self.groups) > LISTED:
            self._sort(timeline, event)

    def _sort(self, timeline: Timeline, event: str) -> None:
        for index, (_, group) in enumerate(self.groups):
            first, reach = group[0], timeline.reach(group[0])
            if len(group) > 1 or reach is None or not timeline.intact(first) or timeline.dropped(first, event, None, None, None):
                self._others.append(index)
                continue
            frame = first.activity.frame.frame
            self._begins[frame].append((reach[0], index))
            self._ends[frame].append((reach[1], index))
        for reaches in (*self._begins.values(), *self._ends.values()):
            reaches.sort()

    def doubtful(self, interval: Interval) -> Iterable[int]:
        """Return the groups that may not cover an interval, in their order."""
        if interval.frame is None or len(self.groups) <= LISTED:
            return range(len(self.groups))
        found = self._others + [index for short in self._short(interval.frame.frame, interval.bounds) for _, index in short]
        return sorted(set(found)) if len(found) <= LISTED else range(len(self.groups))  # of many the first are found soon

    def _short(self, frame: Frame, bounds: Sequence[int]) -> Iterator[Sequence[tuple[int, int]]]:
        """Yield those that begin or end inside of the bounds, or can't be compared with them."""
        for clock, begins in self._begins.items() if bounds else ():
            if clock != frame:
                yield begins
            else:
                ends = self._ends[clock]
                yield begins[bisect_right(begins, (min(bounds), len(self.groups))) :]
                yield ends[: bisect_left(ends, (max(bounds),))]


def _key(presence: Presence, kind: Kind) -> _Key:
    actor = presence.activity.actor
    if kind == "rank" and actor.rank is not None:
        return ("rank", actor.rank)
    if kind != "rank":
        return ("host", actor.host) if actor.host is not None else ("source", presence.activity.emitter.source)
    return ("emitter", presence.activity.emitter)


def _need_of(key: _Key, kind: Kind, lo: int | None, hi: int | None) -> Need:
    what, value = key
    rank = value if what == "rank" and isinstance(value, int) else None
    host = value if what == "host" and isinstance(value, str) else None
    source = value.source if isinstance(value, Emitter) else value if what == "source" and isinstance(value, str) else None
    return Need(kind, rank, host, lo, hi, source)


def _covers(timeline: Timeline, group: Sequence[Presence], event: str, interval: Interval) -> bool:
    """Whether one emitter of an actor covers the interval and is whole, and nothing that was dropped of any may lie in it."""
    if any(timeline.dropped(p, event, interval.lo, interval.hi, interval.frame) for p in group):
        return False
    honest = [p for p in group if timeline.intact(p)]
    if interval.emitter is not None and any(p.activity.emitter == interval.emitter for p in honest):
        return True
    return any(_reaches(timeline, p, interval) for p in honest)


def _reaches(timeline: Timeline, presence: Presence, interval: Interval) -> bool:
    reach = timeline.reach(presence)
    if not interval.bounds and interval.frame is not None:
        return True
    if reach is None or interval.frame is None or not presence.activity.frame.comparable(interval.frame):
        return False
    return all(reach[0] <= bound <= reach[1] for bound in interval.bounds)
