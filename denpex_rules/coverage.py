"""Whether a missing line proves anything: absence over an interval, and the silence of an actor."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from attrs import evolve, frozen

from denpex_rules.attribution import Unknown
from denpex_rules.clock import MAX, format_about, format_duration
from denpex_rules.evaluate import FALSE, Ruling, Scope, Truth
from denpex_rules.panel import Interval, Panels, Whom
from denpex_rules.rule import Rule, Step
from denpex_rules.sighting import Emitter, Sighting
from denpex_rules.timeline import Need, Point, Presence, Timeline
from denpex_rules.values import format_value

Run = tuple[int, int]


@frozen
class Span:
    """The closed interval [lo, hi] of a silence in ns, and the skew between the actor's clock and the anchor's.

    It starts right after the anchor: what was said at the anchor's time, the anchor's own line above all, came before.
    """

    lo: int
    hi: int
    skew: int


def whom(step: Step, scope: Scope, keyed: Whom | None = None) -> Whom | Unknown:
    """Return the actor that `where rank == …`, `where host == …` or the match's key names; Unknown when the value is."""
    rank = keyed.rank if keyed else None
    host = keyed.host if keyed else None
    emitter: Emitter | None = None
    for condition in step.where:
        own = getattr(condition.left, "name", None) if getattr(condition.left, "field", "") is None else None
        if condition.operator != "==" or own not in {"rank", "host"}:
            continue
        value = scope.value(condition.right)
        if isinstance(value, Unknown):
            emitter = scope.speaker(condition)
            if emitter is None:
                return value
        elif own == "rank":
            named = value.value if isinstance(value.value, tuple) else (value.value,)
            if len(named) != 1 or not isinstance(named[0], int):
                return Unknown(f"several ranks remain: {format_value(value.value)}")
            if rank not in {None, named[0]}:
                return Unknown(f"rank {named[0]} has no part in what is said of rank {rank}")
            rank = named[0]
        elif isinstance(value.value, str):
            if host not in {None, value.value}:
                return Unknown(f"host {value.value} has no part in what is said of host {host}")
            host = value.value
    return Whom(rank, host, keyed.job if keyed else None, emitter)


@frozen
class Sought:
    """Where a line that fits a step would stand: whose it is, and when."""

    actor: Whom
    interval: Interval


def sought(rule: Rule, step: Step, scope: Scope, trigger: Sighting, keyed: Whom | None = None) -> Sought | Unknown:
    """Return where a line that fits a step would stand, Unknown where its actor is."""
    actor = whom(step, scope, keyed)
    return actor if isinstance(actor, Unknown) else Sought(actor, _interval(rule, step, scope, trigger))


def absence(step: Step, scope: Scope, where: Sought, panels: Panels) -> Ruling:
    """Return FALSE where it is proven that nothing fits a step, else UNDETERMINED with the log that would have to be read."""
    interval = where.interval
    kinds = scope.events[step.event].kinds or scope.timeline.kinds or ("rank",)
    needs = [need for kind in kinds for need in panels.uncovered(step.event, kind, where.actor, interval)]
    if not needs:
        return FALSE
    if interval.frame is None and not scope.timeline.untimed:
        return Ruling(Truth.UNDETERMINED, "the interval to look in is not known", tuple(needs))
    return Ruling(Truth.UNDETERMINED, f"not read: {needs[0].text()}", tuple(needs))


def _interval(rule: Rule, step: Step, scope: Scope, trigger: Sighting) -> Interval:
    """Return the interval that a step looks in: its window, an open side bounded as section 5.1 says."""
    window, strict = step.window, step.verb == "require"
    sides = [(anchor, scope.anchor(anchor)) for anchor in ((window.lo, window.hi) if window else ()) if anchor is not None]
    points = [point for _, point in sides if point is not None]
    if len(points) < len(sides):
        return Interval(None, None, None, unknown=True)
    emitter = points[0].emitter if not strict and len(points) == 1 and points[0].ordinal is not None else None
    bounds = _bounds(rule, step, scope, trigger, points)
    clock = bounds.frame.bounded(0, 0) if bounds.frame is not None else None  # equal for all triggers of one clock
    return evolve(bounds, frame=clock, emitter=emitter)


def _bounds(rule: Rule, step: Step, scope: Scope, trigger: Sighting, points: list[Point]) -> Interval:
    window, strict = step.window, step.verb == "require"
    if not strict and not points:
        return Interval(None, None, trigger.instant)
    frame = next((p.instant for p in points), trigger.instant)
    if not frame.known or any(not p.instant.comparable(frame) for p in points):
        return Interval(None, None, None, unknown=bool(points) and not scope.timeline.untimed)
    lo = points[0].instant.lo if window and window.lo else None
    hi = points[-1].instant.hi if window and window.hi else None
    if strict and not trigger.instant.comparable(frame) and len(points) < _BOTH:
        return Interval(None, None, None, unknown=True)  # the open side is counted from the trigger, on another clock
    if strict and trigger.instant.comparable(frame):
        lo = trigger.instant.lo - rule.span_ns if lo is None else lo
        hi = trigger.instant.hi + rule.span_ns if hi is None else hi
    return Interval(lo, hi, frame)


def silence(step: Step, scope: Scope, job: str | None = None) -> Ruling:
    """Return whether the actor of a silence step, in a job, said nothing for the step's duration after its anchor."""
    actor = whom(step, scope)
    if isinstance(actor, Unknown):
        return Ruling(Truth.UNDETERMINED, actor.reason, actor.needs)
    anchor = scope.anchor(step.window.lo) if step.window and step.window.lo else None
    if anchor is None or anchor.instant.hi == MAX:
        return Ruling(Truth.UNDETERMINED, "when the silence would begin is not known")
    lo, hi = anchor.instant.hi + 1, anchor.instant.hi + (step.duration or 0)
    need = (Need("rank", actor.rank, actor.host, lo - 1, hi),)
    found = scope.timeline.present(None, actor.rank, actor.host, actor.emitter)
    if job is not None:
        found = tuple(p for p in found if p.activity.actor.job in {None, job})
    name = f"rank {actor.rank}" if actor.rank is not None else f"host {actor.host}" if actor.host else "the process"
    if not found:
        return Ruling(Truth.UNDETERMINED, f"no log of {name} was read", need)
    timed = [p for p in found if p.timed and p.activity.frame.comparable(anchor.instant)]
    if not timed:
        return Ruling(Truth.UNDETERMINED, f"the lines of {name} carry no time that can be compared", need)
    heard = [(p, Span(lo, hi, scope.timeline.skew_between(anchor, _place(p, anchor)))) for p in timed]
    return _silent(scope.timeline, heard, name, need)


def _place(presence: Presence, anchor: Point) -> Point:
    actor = presence.activity.actor
    return Point(anchor.instant, actor.host, presence.activity.emitter, None, actor.rank)


def _silent(timeline: Timeline, heard: list[tuple[Presence, Span]], name: str, need: tuple[Need, ...]) -> Ruling:
    timed, span = [p for p, _ in heard], heard[0][1]
    runs = union(sorted(run for p in timed for run in p.activity.runs))
    floor = max(p.activity.floor for p in timed)
    for presence, span in heard:
        words = _spoke_inside(sorted(presence.activity.runs), presence.activity.floor, span)
        if words is not None:
            return Ruling(Truth.FALSE, f"{name} spoke {words}")
    lost = _lost(timeline, timed, floor, span, name)
    if lost:
        return Ruling(Truth.UNDETERMINED, lost, need)
    if any(_may_lie_inside(presence.activity.runs, span) for presence, span in heard):
        return Ruling(Truth.UNDETERMINED, f"a line of {name} may lie inside or outside the interval", need)
    return _unusual(timeline, timed, runs, floor, span, name, need)


def _unusual(
    timeline: Timeline,
    timed: list[Presence],
    runs: list[Run],
    floor: int,
    span: Span,
    name: str,
    need: tuple[Need, ...],
) -> Ruling:
    """Return TRUE when the silence is longer than what is usual for the actor, FALSE when it never spoke."""
    before = [run for run in runs if run[0] < span.lo]
    if not before:
        return Ruling(Truth.FALSE, f"{name} never spoke before {format_about(span.lo)}: it can't fall silent")
    if sum(p.activity.lines - p.activity.untimed for p in timed) < FEW_LINES:
        return Ruling(Truth.UNDETERMINED, f"{name} printed too few lines to tell silence from rarity", need)
    last = min(before[-1][1], span.lo - 1)
    end = max(reach[1] for p in timed if (reach := timeline.reach(p)) is not None)
    after = next((run[0] for run in runs if run[0] >= span.lo), end)
    gaps = [b[0] - a[1] for a, b in pairwise(before)]
    longest = max([0, *gaps, *(floor for run in before if run[1] > run[0])])
    if after - last < TIMES * longest:
        usual = format_duration(longest)
        return Ruling(Truth.UNDETERMINED, f"{name} speaks too rarely: its longest gap before is {usual}", need)
    return Ruling(
        Truth.TRUE, f"{name} said nothing from {format_about(last)} for {format_duration((after - last) // 1_000_000 * 1_000_000)}"
    )


def _spoke_inside(runs: list[Run], floor: int, span: Span) -> str | None:
    """Return when the actor certainly spoke inside the interval, narrowed by the skew; None when it did not for certain."""
    lo, hi = span.lo + span.skew, span.hi - span.skew
    for run in runs[bisect_left(runs, lo, key=lambda run: run[1]) :]:
        if run[0] > hi:
            return None
        if (lo <= run[0] and run[1] <= hi) or min(run[1], hi) - max(run[0], lo) > floor:
            return f"at {format_about(max(run[0], lo))}"
    return None


def _lost(timeline: Timeline, timed: list[Presence], floor: int, span: Span, name: str) -> str:
    """Return why the actor's log can't prove silence, "" when it can."""
    if any(timeline.merged(p) for p in timed):
        return f"the log of {name} merges repeats of other processes"
    if any(not timeline.intact(p) for p in timed):
        return f"the log of {name} is truncated"
    if floor > span.hi - span.lo + 1:  # the interval is open at its start
        return f"the activity of {name} is kept too coarsely to tell"
    ends = [reach[1] for p in timed if (reach := timeline.reach(p)) is not None]
    if min(ends) < span.hi:
        return f"the log of {name} ends at {format_about(min(ends))}: too early to prove silence"
    return ""


def _may_lie_inside(runs: Sequence[Run], span: Span) -> bool:
    """Whether a line may lie inside the interval: one near it that does not certainly come before it."""
    near = (run for run in runs if run[1] >= span.lo - span.skew and run[0] <= span.hi + span.skew)
    return any(run[1] + span.skew >= span.lo for run in near)


def union(runs: list[Run]) -> list[Run]:
    """Return runs in order as those that don't touch."""
    merged: list[Run] = []
    for lo, hi in runs:
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        else:
            merged.append((lo, hi))
    return merged


_BOTH = 2
FEW_LINES = 5  # timed lines that tell how often an actor speaks
TIMES = 3  # how many times its longest gap an actor must be silent
