"""The built-ins that rules call to attribute: each gives a value with its proof, or says which fact is missing.

Nothing else in the project derives a rank, host or device from anything but the words of a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise

from attrs import frozen

from denpex_rules import plugins
from denpex_rules.clock import MIN, Order, format_about, format_duration
from denpex_rules.rule import Certainty
from denpex_rules.sighting import Sighting
from denpex_rules.timeline import Need, Point, Timeline, point_of
from denpex_rules.values import Value, format_value


@frozen
class Known:
    """A value, how sure it is, and the proof in words."""

    value: Value
    certainty: Certainty = "certain"
    reasons: tuple[str, ...] = ()


@frozen
class Unknown:
    """No value: why, and what would have to be read."""

    reason: str
    needs: tuple[Need, ...] = ()


Result = Known | Unknown
Bound = tuple[Sighting, ...]  # the sightings that a step is bound to
Argument = Result | Bound | tuple[Bound, str]  # a value, a step, or a step's capture


def call(timeline: Timeline, function: str, args: tuple[Argument, ...]) -> Result:
    """Return what a built-in or an installed predicate gives for its arguments; an unknown argument makes the result unknown.

    Raises KeyError for a function that does not exist: the type checker lets none through.
    """
    for arg in args:
        if isinstance(arg, Unknown):
            return arg
    if function in _BUILTINS:
        return _BUILTINS[function](timeline, *args)
    predicate = plugins.predicates()[function]
    return Known(plugins.apply(predicate, tuple(arg.value for arg in args if isinstance(arg, Known))))


def rank_of(timeline: Timeline, host: Known, place: Known) -> Result:
    """Return the rank that used a device, ran as a pid or had a local rank on a host."""
    name = str(host.value)
    topology = timeline.topology
    found: int | None
    if isinstance(place.value, str):
        found, what = topology.rank_of_device(name, place.value), f"device {place.value}"
    else:
        number = int(place.value) if isinstance(place.value, int) else -1
        found, what = topology.rank_of_pid(name, number), f"pid {number}"
        if found is None:
            found, what = topology.rank_of_local(name, number), f"local rank {number}"
    if found is None:
        need = Need("rank", host=name)
        return Unknown(f"no line says which rank used {what} of host {name}", (need,))
    certainty: Certainty = "likely" if what.startswith("pid") else "certain"  # a container may number its pids itself
    return Known(found, certainty, (f"a line of the job shows rank {found} on host {name}, {what}",))


def host_of(timeline: Timeline, rank: Known) -> Result:
    """Return the host that a rank ran on."""
    found = timeline.topology.host_of(_integer(rank))
    if found is None:
        return Unknown(f"no line says on which host rank {_integer(rank)} ran")
    return Known(found, "certain", (f"a line of the job shows rank {_integer(rank)} on host {found}",))


def device_of(timeline: Timeline, rank: Known) -> Result:
    """Return the device that a rank used."""
    found = timeline.topology.device_of(_integer(rank))
    if found is None:
        return Unknown(f"no line says which device rank {_integer(rank)} used")
    return Known(found, "certain", (f"a line of the job shows rank {_integer(rank)} on device {found}",))


def missing_from(timeline: Timeline, step: Bound) -> Result:
    """Return the job's ranks that are not among the step's sightings, although their logs cover its time.

    A rank whose log was not read may have printed the same: with such ranks nothing is known. Where no line tells the number of
    ranks, the launcher's log must have been read: else the logs may be cut where more ranks would have reported.
    """
    if timeline.topology.world_size is None and not timeline.present("agent"):
        return Unknown("no line tells how many ranks the job has", (Need("agent"),))
    seen = {s.actor.rank for s in step if s.actor.rank is not None}
    expected = expected_ranks(timeline)
    absent = sorted(expected - seen)
    if not seen or not absent:
        return Unknown("no rank is missing among those that reported")
    unread = [rank for rank in absent if not timeline.present("rank", rank)]
    if unread:
        needs = tuple(Need("rank", rank=rank) for rank in unread[:_LISTED])
        return Unknown(f"the logs of {_ranks(unread)} were not read: they may have reported the same", needs)
    reason = f"{_ranks(absent)} did not report what {len(seen)} of {len(expected)} ranks reported"
    return Known(tuple(absent), "likely", (reason,))


def missing_member(timeline: Timeline, step: Bound, waiting: Bound) -> Result:
    """Return the members of the groups that `waiting` names that are not among the step's sightings, though their logs were read.

    Who reported for another group waited there, so it is not missing.
    """
    groups = _groups(timeline, waiting)
    if not groups:
        return Unknown("no line tells which ranks belong to the group: NCCL's init lines do, at NCCL_DEBUG=INFO")
    seen = {s.actor.rank for s in (*step, *waiting) if s.actor.rank is not None}
    # Where several communicators may be the group, it counts only if somebody is missing in each of them.
    waited_for = [fitting for fitting in groups if all(members - seen for members in fitting)]
    members = frozenset(rank for fitting in waited_for for group in fitting for rank in group)
    absent = sorted(members - seen)
    if not absent:
        return Unknown("all members of the groups that waited reported")
    unread = [rank for rank in absent if not timeline.present("rank", rank)]
    if unread:
        needs = tuple(Need("rank", rank=rank) for rank in unread[:_LISTED])
        return Unknown(f"the logs of {_ranks(unread)} were not read: they may have reported the same", needs)
    reason = f"{_ranks(absent)} did not report, of the groups that waited: ranks {', '.join(map(str, sorted(members)[:_LISTED]))}"
    return Known(tuple(absent), "likely", (reason,))


def not_among(timeline: Timeline, shown: Bound, waiting: Bound) -> Result:
    """Return the ranks that show something but not what `waiting` shows; a rank that shows nothing may be the one."""
    every = {s.actor.rank for s in shown if s.actor.rank is not None}
    inside = {s.actor.rank for s in waiting if s.actor.rank is not None}
    rest = sorted(every - inside)
    if not inside or not rest:
        return Unknown("all ranks that show anything show the same")
    silent = _unread(timeline, every | inside)
    if silent:
        unread = [rank for rank in silent if not timeline.present("rank", rank)]
        needs = tuple(Need("rank", rank=rank) for rank in unread[:_LISTED])
        return Unknown(f"{_ranks(silent)} show nothing of the kind: any of them may be the one", needs)
    return Known(
        tuple(rest), "likely", (f"of {len(every | inside)} ranks only {_ranks(rest)} are not among the {len(inside)} others",)
    )


def _groups(timeline: Timeline, waiting: Bound) -> list[list[frozenset[int]]]:
    """Return for each group that is named who may be its members: the smallest communicators that number the printers alike."""
    named: dict[Value, dict[int, int]] = defaultdict(dict)
    for sighting in waiting:
        group, member, rank = sighting.fields.get("group"), sighting.fields.get("member"), sighting.actor.rank
        if group is not None and isinstance(member, int) and rank is not None:
            named[group][member] = rank
    found = []
    for numbers in named.values():
        fitting = {frozenset(c.values()) for c in timeline.topology.communicators if numbers.items() <= c.items()}
        if fitting:
            least = min(map(len, fitting))
            found.append([members for members in fitting if len(members) == least])
    return found


def lowest(timeline: Timeline, capture: tuple[Bound, str]) -> Result:
    """Return the ranks whose highest value of the capture is lower than the highest of all."""
    best = _per_rank(capture)
    unread = _unread(timeline, set(best))
    if len(set(best.values())) < 2:
        return Unknown(f"no rank is behind in `{capture[1]}`: all that show it show the same")
    if unread:
        needs = tuple(Need("rank", rank=rank) for rank in unread[:_LISTED])
        return Unknown(f"{_ranks(unread)} show no `{capture[1]}`: they may be further behind", needs)
    floor, top = min(best.values()), max(best.values())
    behind = tuple(sorted(rank for rank, value in best.items() if value == floor))
    reason = f"{_ranks(behind)} reached {capture[1]} {format_value(floor)}, others {format_value(top)}"
    return Known(behind, "likely", (reason,))


def odd_one_out(timeline: Timeline, capture: tuple[Bound, str]) -> Result:
    """Return the ranks whose value of the capture differs from the one that more than half of the job's ranks show."""
    values: dict[int, Value] = {}
    for sighting in capture[0]:
        value = sighting.fields.get(capture[1])
        if sighting.actor.rank is not None and value is not None:
            values.setdefault(sighting.actor.rank, value)
    counts: dict[Value, int] = defaultdict(int)
    for value in values.values():
        counts[value] += 1
    if len(counts) < 2:
        return Unknown(f"all ranks show the same `{capture[1]}`")
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    if ranked[0][1] == ranked[1][1]:
        return Unknown(f"the ranks split evenly over `{capture[1]}`: which side is wrong can't be told")
    usual, shown = ranked[0]
    expected = expected_ranks(timeline)
    if 2 * shown <= len(expected):
        unread = sorted(rank for rank in expected - set(values) if not timeline.present("rank", rank))
        needs = tuple(Need("rank", rank=rank) for rank in unread[:_LISTED])
        return Unknown(f"only {shown} of {len(expected)} ranks show the same `{capture[1]}`: that is no majority", needs)
    odd = tuple(sorted(rank for rank, value in values.items() if value != usual))
    return Known(odd, "likely", (f"{_ranks(odd)} differ in {capture[1]} from the other {ranked[0][1]} ranks",))


def first_silent(timeline: Timeline, step: Bound) -> Result:
    """Return the rank that fell silent first before the step, if it did so by more than its usual spacing and the skew bound."""
    point = point_of(step[0])
    if not point.instant.known or point.instant.lo == MIN:
        return Unknown("when the ranks fell silent can't be told: the symptom's line has no time")
    unread = _unread(timeline, set(timeline.topology.ranks))
    if unread:
        return Unknown(f"the logs of {_ranks(unread)} were not read", tuple(Need("rank", rank=r) for r in unread[:_LISTED]))
    last: dict[int, tuple[int, int]] = {}  # rank -> (its last line before the step, its longest gap before that)
    for rank in timeline.topology.ranks:
        quiet = _last_words(timeline, rank, point)
        if quiet is not None:
            last[rank] = quiet
    if len(last) < 2 or len(last) < len(timeline.topology.ranks):
        return Unknown("not every rank's log shows when it last spoke")
    ordered = sorted((end, gap, rank) for rank, (end, gap) in last.items())
    (end, gap, rank), (second, _, _) = ordered[0], ordered[1]
    if second - end <= max(3 * gap, timeline.bound):
        return Unknown("no rank fell silent clearly before the others")
    reason = (
        f"rank {rank} said nothing after {format_about(end)}; the next to fall silent spoke {format_duration(second - end)} longer"
    )
    return Known((rank,), "likely", (reason,))


def _last_words(timeline: Timeline, rank: int, point: Point) -> tuple[int, int] | None:
    runs = sorted(
        run
        for presence in timeline.present(rank=rank)
        if presence.timed and presence.activity.frame.comparable(point.instant)
        for run in presence.activity.runs
        if run[0] < point.instant.lo
    )
    lines = sum(p.activity.lines for p in timeline.present(rank=rank))
    if not runs or lines < _FEW_LINES:
        return None
    floor = max(p.activity.floor for p in timeline.present(rank=rank))
    gaps = [b[0] - a[1] for a, b in pairwise(runs)]
    return min(runs[-1][1], point.instant.lo), max([floor, *gaps])


def _per_rank(capture: tuple[Bound, str]) -> dict[int, float]:
    best: dict[int, float] = {}
    for sighting in capture[0]:
        value, rank = sighting.fields.get(capture[1]), sighting.actor.rank
        if rank is not None and isinstance(value, int | float) and value < _ABSURD:
            best[rank] = max(best.get(rank, value), value)
    return best


def _unread(timeline: Timeline, have: set[int]) -> list[int]:
    return sorted(expected_ranks(timeline) - have)


def expected_ranks(timeline: Timeline) -> set[int]:
    """Return the job's ranks: as many as a line says, else all up to the highest that is known (ranks count from 0)."""
    topology = timeline.topology
    size = topology.world_size or max(topology.ranks, default=-1) + 1
    return set(range(size)) if size <= _MAX_WORLD else set(topology.ranks)


def _ranks(ranks: list[int] | tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(map(str, ranks[:_LISTED]))
    return f"ranks {shown}" + (f" and {len(ranks) - _LISTED} more" if len(ranks) > _LISTED else "")


def _integer(known: Known) -> int:
    return known.value if isinstance(known.value, int) else -1


_MAX_WORLD = 1_000_000
_LISTED = 16
_FEW_LINES = 5
_ABSURD = 2**40  # torch 2.3 printed uninitialised counters; none of them is a sequence number
_BUILTINS: Mapping[str, Callable[..., Result]] = {
    f.__name__: f for f in (rank_of, host_of, device_of, missing_from, missing_member, not_among, lowest, odd_one_out, first_silent)
}


def certainly_before(timeline: Timeline, a: Sighting, b: Sighting) -> bool:
    """Whether `a` came before `b` beyond doubt."""
    return timeline.order(point_of(a), point_of(b)) is Order.BEFORE
