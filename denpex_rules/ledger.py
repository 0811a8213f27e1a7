"""What was read, of whom and over which time, as the report says it: gaps, who is silent since when, and whose log is not there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from denpex_rules import finding as out
from denpex_rules.clock import SECOND, format_time
from denpex_rules.coverage import FEW_LINES, TIMES, union
from denpex_rules.timeline import Presence, Timeline

UNREAD: Final = 64  # actors without a log that are named; all are counted
MOST_RANKS: Final = 100_000  # a larger world is a misread number

Key = tuple[out.Who, str | None]
Run = tuple[int, int]


def coverage(timeline: Timeline, *, gaps: bool) -> out.CoverageReport:
    """Return what was read.

    Args:
        timeline: the presences and sources of the collection.
        gaps: whether every gap of every actor is listed.
    """
    groups: dict[Key, list[Presence]] = defaultdict(list)
    for presence in timeline.presences:
        actor = presence.activity.actor
        who = out.Who(actor.rank, actor.host, actor.device, actor.local_rank if actor.rank is None else None)
        groups[who, presence.activity.kind].append(presence)
    actors = tuple(_actor(timeline, key, found, gaps=gaps) for key, found in sorted(groups.items(), key=_order))
    sources = tuple(
        out.SourceSummary(s.source, s.layout, s.bytes, s.lines, s.truncated, s.merged, s.evicted, s.notes)
        for s in timeline.sources.values()
    )
    topology, unread = timeline.topology, list(_unread(timeline))
    return out.CoverageReport(
        actors,
        sources,
        topology.world_size,
        len(topology.ranks),
        timeline.bound / SECOND,
        timeline.notes,
        tuple(unread[:UNREAD]),
        len(unread),
    )


def _order(item: tuple[Key, list[Presence]]) -> tuple[object, ...]:
    (actor, kind), _ = item
    return (actor.rank is None, actor.rank or 0, actor.host or "", actor.device or "", actor.local_rank or 0, kind or "")


def _actor(timeline: Timeline, key: Key, found: list[Presence], *, gaps: bool) -> out.ActorCoverage:
    runs = union(sorted(run for p in found for run in p.activity.runs if p.activity.frame.year))
    silences = [(before[1], after[0]) for before, after in pairwise(runs)]
    actor, kind = key
    return out.ActorCoverage(
        actor,
        kind,
        tuple(sorted({p.activity.emitter.source for p in found})),
        sum(p.activity.lines for p in found),
        sum(p.activity.untimed for p in found),
        format_time(runs[0][0]) if runs else None,
        format_time(runs[-1][1]) if runs else None,
        tuple(out.Interval(format_time(lo), format_time(hi)) for lo, hi in silences) if gaps else (),
        any(not timeline.intact(p) for p in found),
        any(timeline.merged(p) for p in found),
        _silent_since(timeline, found, runs),
    )


def _silent_since(timeline: Timeline, found: list[Presence], runs: list[Run]) -> str | None:
    """Return when an actor spoke last, where the others go on for several times its longest gap, and its log could show more."""
    if not runs or sum(p.activity.lines - p.activity.untimed for p in found) < FEW_LINES:
        return None
    if any(not timeline.intact(p) or timeline.merged(p) for p in found):
        return None
    reaches = [reach[1] for p in found if p.activity.frame.year and (reach := timeline.reach(p)) is not None]
    floor = max(p.activity.floor for p in found)
    longest = max([floor, *(after[0] - before[1] for before, after in pairwise(runs))])
    last = runs[-1][1]
    return format_time(last) if max(reaches, default=last) - last > TIMES * longest else None


def _unread(timeline: Timeline) -> Iterator[out.Unread]:
    """Yield whose logs are not there though other lines tell of them: ranks of the job, kernel logs of its hosts."""
    topology = timeline.topology
    seen = {p.activity.actor.rank for p in timeline.present("rank")}
    expected = range(topology.world_size) if topology.world_size is not None else sorted(topology.ranks)
    for rank in islice(expected, MOST_RANKS):
        if rank not in seen:
            yield out.Unread(out.Who(rank, topology.host_of(rank)), "rank")
    read = {p.activity.actor.host for p in timeline.present("kernel")}
    for host in sorted(topology.hosts - read):
        yield out.Unread(out.Who(host=host), "kernel")
