"""The naive reference matcher: docs/explanation/semantics.md, written down as directly as it reads. Slow on purpose.

It shares nothing with the engine but the model. Numbers in comments are sections of that page. Sightings are named by their
index in `Case.sightings`. Built-in functions are out of scope: a case gives the values of the `let`s that call them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from operator import ge, gt, le, lt
from typing import Final

from attrs import evolve, frozen

from case import Case, Outcome, Truth, Verdict
from denpex_rules.clock import Instant
from denpex_rules.rule import SILENCE, Anchor, Condition, Constant, Count, Expression, Path, Step
from denpex_rules.sighting import Activity, Emitter, Sighting, SourceCoverage
from denpex_rules.values import ACTOR_FIELDS, Value

T: Final = "true"
F: Final = "false"
U: Final = "undetermined"

MAX_RIVALS: Final = 8
MIN_LINES: Final = 5  # section 8: how many lines tell how often an actor speaks
PATIENCE: Final = 3  # section 8: silence lasts this many times the actor's longest gap

Indices = tuple[int, ...]
Bound = Mapping[str, Indices]


# ------------------------------------------------------------------ 1. three truths


def all_of(truths: Iterable[Truth]) -> Truth:
    """Return the conjunction of three-valued truths."""
    seen = set(truths)
    return F if F in seen else U if U in seen else T


def negated(truth: Truth) -> Truth:
    """Return the negation of a three-valued truth."""
    return F if truth == T else T if truth == F else U


# ------------------------------------------------------------------ 2. time


@frozen
class Point:
    """A time with its place. `ordinal` is None where line order says nothing: a moment, an anchor with an offset."""

    instant: Instant
    rank: int | None
    host: str | None
    emitter: Emitter
    ordinal: int | None = None


def margin(a: Point, b: Point, skew: int) -> int:
    """Return how far the clocks of two points may be apart (2.2)."""
    same = a.emitter == b.emitter or (a.host is not None and a.host == b.host) or (a.rank is not None and a.rank == b.rank)
    return 0 if same else skew


def same_line_order(a: Point, b: Point) -> bool:
    """Whether line order decides between two points (2.4)."""
    return a.emitter == b.emitter and a.ordinal is not None and b.ordinal is not None


def reaches(later: int, earlier: int) -> bool:
    """Whether a boundary is met: intervals are closed (2.3)."""
    return later >= earlier


def not_before(a: Point | None, b: Point | None, skew: int) -> Truth:
    """Return the truth of `a >= b` (2.3, 2.4); None is an unknown point."""
    if a is None or b is None:
        return U
    if same_line_order(a, b):
        return T if (a.ordinal or 0) >= (b.ordinal or 0) else F
    if not a.instant.comparable(b.instant):
        return U
    gap = margin(a, b, skew)
    if reaches(a.instant.lo - gap, b.instant.hi):
        return T
    return F if a.instant.hi + gap < b.instant.lo else U


# ------------------------------------------------------------------ 4.1 keys, 4.3 copies and order


@frozen
class Scope:
    """One key of the rule and the sightings that take part in it."""

    case: Case
    key: tuple[Value | None, ...]
    pool: Indices
    triggers: Indices  # those of the pool that may start a match

    def __getitem__(self, index: int) -> Sighting:
        return self.case.sightings[index]

    def of(self, event: str) -> Indices:
        """Return the sightings of an event, ordered."""
        return ordered(self.case, [i for i in self.pool if self[i].event == event])

    def point(self, index: int) -> Point:
        """Return a sighting's own time."""
        seen = self[index]
        return Point(seen.instant, seen.actor.rank, seen.actor.host, seen.emitter, seen.ordinal)


def scopes(case: Case) -> list[Scope]:
    """Return every key with the sightings that take part (4.1)."""
    keys = case.rule.keys
    places = [k for k in keys if k != "job"]
    events = {step.event for step in case.rule.steps}
    groups: dict[tuple[tuple[Value | None, ...], Emitter | None], list[int]] = {}
    for index in without_copies(case, originals(case)):
        seen = case.sightings[index]
        if seen.event in events:
            part = tuple(field_of(seen, k) for k in places)
            groups.setdefault((part, seen.emitter if None in part else None), []).append(index)
    counted = {case.sightings[i].actor.attempt for members in groups.values() for i in members} - {None}
    attempts: list[int | str] = ["unnamed", *sorted(counted)] if len(counted) > 1 else []  # type: ignore[type-var]
    found = []
    for (part, _), members in groups.items():
        values = dict(zip(places, part, strict=True))
        named = {case.sightings[i].actor.job for i in members if "job" in keys}
        jobs: list[str | None] = [*sorted(job for job in named if job is not None)]
        for job in jobs or [None]:
            pool = [i for i in members if job is None or case.sightings[i].actor.job in (None, job)]
            key = tuple(job if k == "job" else values[k] for k in keys)
            found += [Scope(case, key, *taking_part(case, pool, attempt)) for attempt in attempts or [None]]
    return found


def taking_part(case: Case, pool: list[int], attempt: int | str | None) -> tuple[Indices, Indices]:
    """Return who takes part in the matches of one attempt, and who may start them; None: no two attempts are named."""

    def of(index: int) -> int | None:
        return case.sightings[index].actor.attempt

    if attempt is None:
        return tuple(pool), tuple(pool)
    if attempt == "unnamed":
        return tuple(pool), tuple(i for i in pool if of(i) is None)
    return tuple(i for i in pool if of(i) in (None, attempt)), tuple(i for i in pool if of(i) == attempt)


def originals(case: Case) -> list[int]:
    """Return the sightings without the streams that are whole copies of another stream of the same rank (4.3)."""
    streams: dict[tuple[Emitter, int | None], list[Sighting]] = {}
    for seen in case.sightings:
        streams.setdefault((seen.emitter, seen.actor.attempt), []).append(seen)

    def shows(stream: list[Sighting]) -> Counter[object]:
        return Counter((s.event, s.instant, frozenset(s.fields.items()), s.text) for s in stream)

    def is_copy(one: tuple[Emitter, int | None], two: tuple[Emitter, int | None]) -> bool:
        both = [*streams[one], *streams[two]]
        one_rank = len({s.actor.rank for s in both}) == 1 and both[0].actor.rank is not None
        one_job = len({s.actor.job for s in both} - {None}) <= 1 and len({s.actor.attempt for s in both} - {None}) <= 1
        return one_rank and one_job and one[0].source != two[0].source and shows(streams[one]) <= shows(streams[two])

    kept: list[tuple[Emitter, int | None]] = []
    for stream in sorted(streams, key=lambda s: (-len(streams[s]), s[0].source, s[0].label, s[1] or 0)):
        if not any(is_copy(stream, other) for other in kept):
            kept.append(stream)
    return [i for i, seen in enumerate(case.sightings) if (seen.emitter, seen.actor.attempt) in kept]


def without_copies(case: Case, indices: list[int]) -> list[int]:
    """Return sightings, those that several files hold once (4.3)."""
    kept: list[int] = []
    copies: dict[object, dict[Emitter, list[int]]] = {}
    for index in indices:
        seen = case.sightings[index]
        if seen.instant.known:
            face = (seen.event, seen.actor, seen.instant, frozenset(seen.fields.items()), seen.text)
            copies.setdefault(face, {}).setdefault(seen.emitter, []).append(index)
        else:
            kept.append(index)
    for by_emitter in copies.values():
        fullest = min(by_emitter, key=lambda e: (-len(by_emitter[e]), e.source, e.label))
        kept += by_emitter[fullest]
    return kept


def ordered(case: Case, indices: Iterable[int]) -> Indices:
    """Return sightings of one event in the order of 4.3."""

    def time(seen: Sighting) -> tuple[bool, int, int]:
        return (not seen.instant.known, seen.instant.lo, seen.instant.hi)

    def face(seen: Sighting) -> tuple[object, ...]:
        rank, host = seen.actor.rank, seen.actor.host
        return (rank is None, rank or 0, host is None, host or "", seen.text, seen.emitter.source, seen.emitter.label)

    lines = sorted(indices, key=lambda i: case.sightings[i].ordinal)
    heads: dict[object, Sighting] = {}  # the first line of each emitter among equal times
    for index in lines:
        seen = case.sightings[index]
        heads.setdefault((time(seen), seen.emitter), seen)

    def place(index: int) -> tuple[object, ...]:
        seen = case.sightings[index]
        return (time(seen), face(heads[time(seen), seen.emitter]))

    return tuple(sorted(lines, key=place))


def comes_first(scope: Scope, step: Step, a: int, b: int) -> bool:
    """Whether one sighting is certainly before another; after it, for `last` (4.8)."""
    earlier, later = (a, b) if step.pick == "first" else (b, a)
    return not_before(scope.point(earlier), scope.point(later), scope.case.skew) == F


def picked(scope: Scope, step: Step, indices: Indices) -> Indices:
    """Return ordered candidates in the order in which the step tries them; unknown instants come last either way."""
    if step.pick == "first":
        return indices
    known = [i for i in indices if scope[i].instant.known]
    return tuple(reversed(known)) + tuple(i for i in indices if i not in known)


# ------------------------------------------------------------------ 10. conditions


def field_of(seen: Sighting, name: str) -> Value | None:
    """Return a field of a sighting: a capture first, then a field of its actor."""
    if name in seen.fields:
        return seen.fields[name]
    value: Value | None = getattr(seen.actor, name) if name in ACTOR_FIELDS else None
    return value


def resolve(scope: Scope, expression: Expression, bound: Bound, own: int | None = None) -> Value | None:
    """Return the value of an expression, None where it is unknown; `own` is the candidate that a `where` speaks of."""
    if isinstance(expression, Constant):
        return expression.value
    if not isinstance(expression, Path):
        raise TypeError("built-in functions are outside the reference: give the let's value in the case")
    case = scope.case
    if expression.field is not None:
        held = bound.get(expression.name)
        return field_of(scope[held[0]], expression.field) if held else None
    if own is not None:
        captures = dict(case.events[scope[own].event].captures)
        if expression.name in captures or expression.name in ACTOR_FIELDS:
            return field_of(scope[own], expression.name)
    if expression.name in case.lets:
        return case.lets[expression.name]
    let = next(let for let in case.rule.lets if let.name == expression.name)
    return resolve(scope, let.value, bound)


ORDERINGS: Final[Mapping[str, Callable[[float, float], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def compare(operator: str, left: Value | None, right: Value | None) -> Truth:
    """Return the truth of a comparison; an unknown side leaves it undetermined."""
    if left is None or right is None:
        return U
    if operator in ORDERINGS:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            return U
        return T if ORDERINGS[operator](left, right) else F
    if isinstance(left, tuple) != isinstance(right, tuple):
        many, one = (left, right) if isinstance(left, tuple) else (right, left)
        equal = one in many  # type: ignore[operator]
    else:
        equal = left == right
    return T if equal == (operator == "==") else F


def one_process(case: Case, emitter: Emitter) -> bool:
    """Whether an emitter is one process: it is not the unlabelled rest of a source that shows several ranks (10)."""
    seen = {s.actor.rank for s in case.sightings if s.source == emitter.source}
    read = {a.actor.rank for _, a in activities(case) if a.emitter.source == emitter.source}
    return bool(emitter.label) or len((seen | read) - {None}) < 2


def speaker(scope: Scope, condition: Condition, bound: Bound) -> Emitter | None:
    """Return the emitter that stands for an unknown actor in `f == step.f` and `f != step.f` (10), None where none does."""
    left, right = condition.left, condition.right
    if condition.operator not in ("==", "!=") or not isinstance(left, Path) or not isinstance(right, Path):
        return None
    held = bound.get(right.name)
    if left.field is not None or right.field != left.name or left.name not in ("rank", "local_rank", "host", "pid") or not held:
        return None
    emitter = scope[held[0]].emitter
    return emitter if field_of(scope[held[0]], left.name) is None and one_process(scope.case, emitter) else None


def is_of_one_job(case: Case) -> bool:
    """Whether at most one job is named at all: all that was collected is of it (10)."""
    named = {s.actor.job for s in case.sightings} | {a.actor.job for _, a in activities(case)}
    return len(named - {None}) <= 1


def holds(scope: Scope, condition: Condition, index: int, bound: Bound) -> Truth:
    """Return the truth of a condition for a candidate (10)."""
    left, right = resolve(scope, condition.left, bound, index), resolve(scope, condition.right, bound, index)
    if left is None and right is None and speaker(scope, condition, bound) == scope[index].emitter:
        return T if condition.operator == "==" else F
    of_bound_step = isinstance(condition.right, Path) and condition.right.field == "job" and bound.get(condition.right.name)
    if None in (left, right) and of_bound_step and names_own(condition, "job") and is_of_one_job(scope.case):
        return T
    return compare(condition.operator, left, right)


# ------------------------------------------------------------------ 2.5 anchors, 3. windows


def moment_of(scope: Scope, index: int, name: str) -> Instant | None:
    """Return a sighting's time or named moment (2.6); None when a capture is missing."""
    seen = scope[index]
    if name == "time":
        return seen.instant
    instant = seen.instant
    for sign, term in next(m for m in scope.case.events[seen.event].moments if m.name == name).terms:
        value = term if isinstance(term, int) else seen.fields.get(term)
        if not isinstance(value, int):
            return None
        instant = instant.shift(sign * value)
    return instant


def anchor_point(scope: Scope, anchor: Anchor, bound: Bound) -> Point | None:
    """Return the point that an anchor stands for, None when it is unknown (2.5, 9)."""
    held = bound.get(anchor.step)
    if not held:
        return None
    instant = moment_of(scope, held[0], anchor.moment)
    offset = 0
    for sign, term in anchor.terms:
        value = term if isinstance(term, int) else resolve(scope, term, bound)
        if not isinstance(value, int):
            return None
        offset += sign * value
    if instant is None:
        return None
    exact = anchor.moment == "time" and offset == 0
    place = scope.point(held[0])
    return evolve(place, instant=instant.shift(offset), ordinal=place.ordinal if exact else None)


def in_window(scope: Scope, step: Step, index: int, bound: Bound) -> Truth:
    """Say whether a candidate lies in the step's window (3)."""
    if step.window is None:
        return T
    moment = moment_of(scope, index, step.window.moment)
    place = scope.point(index)
    exact = step.window.moment == "time"
    here = None if moment is None else evolve(place, instant=moment, ordinal=place.ordinal if exact else None)
    lo, hi, skew = step.window.lo, step.window.hi, scope.case.skew
    after = T if lo is None else not_before(here, anchor_point(scope, lo, bound), skew)
    before = T if hi is None else not_before(anchor_point(scope, hi, bound), here, skew)
    return all_of((after, before))


def fits(scope: Scope, step: Step, index: int, bound: Bound) -> Truth:
    """Say whether a sighting is what the step asks for: its `where` and its window."""
    return all_of((*(holds(scope, c, index, bound) for c in step.where), in_window(scope, step, index, bound)))


def refers_to_unbound(step: Step, bound: Bound) -> bool:
    """Whether the clause speaks of a step that has no sighting (9)."""
    anchors = [a for a in (step.window.lo, step.window.hi) if a] if step.window else []
    paths = [e for c in step.where for e in (c.left, c.right)] + [t for a in anchors for _, t in a.terms]
    names = {p.name for p in paths if isinstance(p, Path) and p.field is not None} | {a.step for a in anchors}
    return any(not bound.get(name) for name in names)


# ------------------------------------------------------------------ 5. absence


def activities(case: Case) -> list[tuple[SourceCoverage, Activity]]:
    """Return everything that was read, with the source it stands in."""
    return [(source, activity) for source in case.sources for activity in source.activities]


def kind_of(activity: Activity) -> str:
    """Return the kind of log that an activity stands in; lines of unknown kind are a rank's (5.3)."""
    return activity.kind or "rank"


def extent(case: Case, activity: Activity) -> tuple[int, int] | None:
    """Return the closed interval that an activity covers (5.3), None when it has no timed line."""
    if not activity.runs:
        return None
    first, last = activity.runs[0][0], activity.runs[-1][1]
    if kind_of(activity) not in ("rank", "agent"):
        return first, last
    together = [a for _, a in activities(case) if kind_of(a) in ("rank", "agent") and a.runs and a.frame.comparable(activity.frame)]
    if kind_of(activity) == "agent":
        first = min(a.runs[0][0] for a in together)
    return first, max(a.runs[-1][1] for a in together)


def intact(source: SourceCoverage) -> bool:
    """Whether a source can prove that something is not in it (5.4)."""
    return not source.truncated


def nothing_dropped(case: Case, event: str, source: SourceCoverage, activity: Activity, lo: Side, hi: Side) -> bool:
    """Whether no dropped sighting of an event and emitter may lie in a window (5.4)."""
    if source.evicted and not source.dropped:
        return False
    for lost in source.dropped:
        sides = [side for side in (lo, hi) if side is not None]
        known = sides and lost.instant.known and all(lost.instant.comparable(side) for side in sides)
        before = known and lo is not None and lost.instant.hi + case.skew < lo.lo
        after = known and hi is not None and lost.instant.lo - case.skew > hi.hi
        if lost.event == event and lost.label in (None, activity.emitter.label) and not before and not after:
            return False
    return True


def nothing_is_timed(case: Case) -> bool:
    """Whether no line of the whole input has a time (5.5)."""
    return not any(s.instant.known for s in case.sightings) and not any(a.runs for _, a in activities(case))


Side = Instant | None  # one side of a window; None: it reaches as far as was read


def sides(scope: Scope, step: Step, bound: Bound) -> tuple[Side, Side] | None:
    """Return the sides of the window in which absence is asked (5.1), None when one of them is unknown."""
    lo: Side = None
    hi: Side = None
    if step.verb == "require":
        trigger = scope[bound[scope.case.rule.trigger.name][0]].instant
        lo, hi = trigger.shift(-scope.case.rule.span_ns), trigger.shift(scope.case.rule.span_ns)
    if step.window and step.window.lo:
        point = anchor_point(scope, step.window.lo, bound)
        if point is None:
            return None
        lo = point.instant
    if step.window and step.window.hi:
        point = anchor_point(scope, step.window.hi, bound)
        if point is None:
            return None
        hi = point.instant
    return lo, hi


def line_order(scope: Scope, step: Step, bound: Bound) -> Emitter | None:
    """Return the emitter whose line order reaches into an open side (5.1): that of the one closed side's anchor."""
    anchors = [a for a in (step.window.lo, step.window.hi) if a] if step.window else []
    point = anchor_point(scope, anchors[0], bound) if len(anchors) == 1 and step.verb != "require" else None
    return point.emitter if point is not None and point.ordinal is not None else None


def covers(case: Case, activity: Activity, lo: Side, hi: Side) -> bool:
    """Whether what was read of an activity covers a window."""
    sides = [side for side in (lo, hi) if side is not None]
    if nothing_is_timed(case) or not sides:
        return True
    read = extent(case, activity)
    if read is None or not all(activity.frame.comparable(side) for side in sides):
        return False
    bounds = ([lo.lo] if lo else []) + ([hi.hi] if hi else [])
    return all(read[0] <= bound <= read[1] for bound in bounds)


def key_part(scope: Scope, name: str) -> Value | None:
    """Return one field of the key, None where the rule's key does not hold it."""
    return next((value for key, value in zip(scope.case.rule.keys, scope.key, strict=True) if key == name), None)


def names_own(condition: Condition, name: str) -> bool:
    """Whether a condition is `name == ...` on the step's own event."""
    left = condition.left
    return condition.operator == "==" and isinstance(left, Path) and left.field is None and left.name == name


@frozen
class Asked:
    """Whose logs a step asks for (5.2); None: anyone's."""

    ranks: frozenset[Value]
    hosts: frozenset[Value]
    emitters: frozenset[Emitter]
    job: Value | None

    def admits(self, activity: Activity) -> bool:
        """Whether an activity is of all that is asked for, and not of another job."""
        actor = activity.actor
        return (
            all(actor.rank == rank for rank in self.ranks)
            and all(actor.host == host for host in self.hosts)
            and all(activity.emitter == emitter for emitter in self.emitters)
            and (self.job is None or actor.job in (None, self.job))
        )


def asked(scope: Scope, step: Step, bound: Bound, *, by_key: bool) -> Asked | None:
    """Return whose logs a step asks for by its `where` and the rule's key, None where the actor is unknown."""
    named: dict[str, set[Value]] = {"rank": set(), "host": set()}
    emitters: set[Emitter] = set()
    for name, condition in product(named, step.where):
        if names_own(condition, name):
            value = resolve(scope, condition.right, bound)
            if isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            emitter = speaker(scope, condition, bound) if value is None else None
            if emitter is not None:
                emitters.add(emitter)
            elif value is None or isinstance(value, tuple):
                return None
            else:
                named[name].add(value)
    if by_key:
        for name in named:
            value = key_part(scope, name)
            named[name] |= set() if value is None else {value}
    return Asked(frozenset(named["rank"]), frozenset(named["host"]), frozenset(emitters), key_part(scope, "job"))


def whose(activity: Activity) -> object:
    """Return what a source of its kind stands for: a rank (else the emitter), a host (else the file) (5.3)."""
    rank, host = activity.actor.rank, activity.actor.host
    if kind_of(activity) == "rank":
        return activity.emitter if rank is None else rank
    return activity.emitter.source if host is None else host


def absence(scope: Scope, step: Step, bound: Bound) -> Truth:
    """Return false where it is proven that nothing fits the step, else undetermined (5)."""
    window, whom = sides(scope, step, bound), asked(scope, step, bound, by_key=True)
    if window is None or whom is None or refers_to_unbound(step, bound):
        return U
    kinds: set[str] = {*scope.case.events[step.event].kinds} or {kind_of(a) for _, a in activities(scope.case)}
    own = line_order(scope, step, bound)
    event = step.event
    return F if kinds and all(is_covered(scope.case, event, kind, whom, window, own) for kind in kinds) else U


def is_covered(case: Case, event: str, kind: str, whom: Asked, window: tuple[Side, Side], own: Emitter | None) -> bool:
    """Whether the sources of one kind that a step asks for cover a window (5.2)."""
    covered: dict[object, bool] = {}
    holes = set()
    for source, activity in activities(case):
        if kind_of(activity) == kind and whom.admits(activity):
            if not nothing_dropped(case, event, source, activity, *window):
                holes.add(whose(activity))
            proof = intact(source) and (activity.emitter == own or covers(case, activity, *window))
            covered[whose(activity)] = covered.get(whose(activity), False) or proof
    covered |= dict.fromkeys(holes, False)
    if nothing_is_timed(case):
        return any(covered.values())
    anyone = not whom.ranks and not whom.hosts and not whom.emitters
    expected = set(range(case.world_size)) if kind == "rank" and anyone and case.world_size is not None else set()
    return bool(covered) and all(covered.values()) and expected <= set(covered)


# ------------------------------------------------------------------ 7. counts


def known_values(scope: Scope, count: Count, indices: Iterable[int]) -> int:
    """Return how many the sightings count for: all of them, or the distinct known values of the counted field."""
    chosen = list(indices)
    if count.distinct is None:
        return len(chosen)
    return len({field_of(scope[i], count.distinct) for i in chosen} - {None})


def certainly_enough(scope: Scope, count: Count, indices: Indices) -> bool:
    """Whether enough of the sightings lie within the count's duration, whatever their exact instants are."""
    if count.span_ns is None:
        return known_values(scope, count, indices) >= count.least
    timed = [i for i in indices if scope[i].instant.known]
    for first in timed:
        start = scope[first].instant
        near = [i for i in timed if scope[i].instant.comparable(start) and scope[i].instant.lo >= start.lo]
        near = [i for i in near if scope[i].instant.hi - start.lo <= count.span_ns]
        if known_values(scope, count, near) >= count.least:
            return True
    return False


def possibly_enough(scope: Scope, count: Count, indices: Indices) -> bool:
    """Whether enough of the sightings may lie within the count's duration; unknown instants may lie anywhere."""
    if count.span_ns is None:
        return known_values(scope, count, indices) >= count.least
    span = count.span_ns
    anywhere = [i for i in indices if not scope[i].instant.known]
    clocks: list[list[int]] = []  # sightings with comparable instants
    for index in indices:
        if index not in anywhere:
            same = next((c for c in clocks if scope[c[0]].instant.comparable(scope[index].instant)), None)
            clocks.append([index]) if same is None else same.append(index)

    def near(clock: list[int]) -> list[list[int]]:
        ends = [scope[i].instant.hi for i in clock]
        return [[i for i in clock if scope[i].instant.hi >= end and scope[i].instant.lo - end <= span] for end in ends]

    choices = product(*(near(clock) for clock in clocks))
    return any(known_values(scope, count, anywhere + [i for part in parts for i in part]) >= count.least for parts in choices)


# ------------------------------------------------------------------ 8. silence


Run = tuple[int, int]


def runs_of(scope: Scope, timed: list[Activity], start: Point, length: int) -> tuple[list[Run], list[Run], list[Run], list[Run]]:
    """Return the actor's runs before, inside, after the interval, and those that may lie on either side of a bound."""
    before, inside, after, doubtful = [], [], [], []
    begin, end = start.instant.hi, start.instant.hi + length
    for activity in timed:
        place = Point(activity.frame, activity.actor.rank, activity.actor.host, activity.emitter)
        gap = margin(place, start, scope.case.skew)
        for lo, hi in activity.runs:
            wholly = lo > begin + gap and reaches(end - gap, hi)
            if wholly or min(hi, end - gap) - max(lo, begin + gap) > activity.floor:
                inside.append((lo, hi))
            elif reaches(begin, hi + gap):
                before.append((lo, hi))
            elif lo - gap > end:
                after.append((lo, hi))
            else:
                doubtful.append((lo, hi))
    return before, inside, after, doubtful


def silence(scope: Scope, step: Step, bound: Bound) -> Truth:
    """Say whether an actor was silent over `(A.hi, A.hi + D]` (8)."""
    start = anchor_point(scope, step.window.lo, bound) if step.window and step.window.lo else None
    whom = asked(scope, step, bound, by_key=False)
    mine = [(s, a) for s, a in activities(scope.case) if a.runs and whom is not None and whom.admits(a)]
    timed = [a for _, a in mine]
    if not mine or start is None or not start.instant.known:
        return U
    if not all(a.frame.comparable(start.instant) for a in timed):
        return U
    length = step.duration or 0
    before, inside, after, doubtful = runs_of(scope, timed, start, length)
    if inside:
        return F
    read_to = min(read[1] for a in timed if (read := extent(scope.case, a)))
    lost = any(s.merged or s.truncated or a.floor > length for s, a in mine)
    if lost or doubtful or read_to < start.instant.hi + length:
        return U
    if not before:
        return F
    resumed = min([lo for lo, _ in after], default=read_to)
    quiet = resumed - max(hi for _, hi in before)
    enough_lines = sum(a.lines - a.untimed for a in timed) >= MIN_LINES
    return T if enough_lines and quiet >= PATIENCE * longest_gap(before, max(a.floor for a in timed)) else U


def longest_gap(before: list[Run], floor: int) -> int:
    """Return the longest time between two lines of these runs."""
    gaps = [floor if any(lo < hi for lo, hi in before) else 0]
    end = min(before)[0]
    for lo, hi in sorted(before):
        gaps.append(lo - end)
        end = max(end, hi)
    return max(gaps)


# ------------------------------------------------------------------ 4.4, 4.5 assignments


def candidates(scope: Scope, step: Step, bound: Bound, taken: Iterable[int] = ()) -> tuple[Indices, Indices]:
    """Return the sightings that fit the step and those that may, in the order in which they are tried."""
    pool = picked(scope, step, tuple(i for i in scope.of(step.event) if i not in taken))
    truth = {i: fits(scope, step, i, bound) for i in pool}
    return tuple(i for i in pool if truth[i] == T), tuple(i for i in pool if truth[i] == U)


def clause(scope: Scope, step: Step, true: Indices, maybe: Indices, bound: Bound) -> Truth:
    """Return the truth of a step from its true and undetermined candidates."""
    if step.count is None:
        return T if true else U if maybe else absence(scope, step, bound)
    if certainly_enough(scope, step.count, true):
        return T
    if possibly_enough(scope, step.count, true + maybe):
        return U
    return absence(scope, step, bound)


def near_trigger(scope: Scope, indices: Indices, trigger: int) -> Indices:
    """Return those that lie within the rule's span of the trigger."""
    t, span = scope[trigger].instant, scope.case.rule.span_ns

    def near(instant: Instant) -> bool:
        apart = max(instant.lo - t.hi, t.lo - instant.hi)
        return not instant.known or not t.known or not instant.comparable(t) or apart <= span

    return tuple(i for i in indices if near(scope[i].instant))


def options(scope: Scope, step: Step, bound: Bound, *, strict: bool) -> Iterator[tuple[Indices, Truth]]:
    """Yield what a required step may be bound to, with its truth, in the order in which it is tried."""
    if step.event == SILENCE:
        truth = silence(scope, step, bound)
        if truth == T or (truth == U and not strict):
            yield (), truth
        return
    taken = {i for held in bound.values() for i in held}
    true, maybe = candidates(scope, step, bound, taken)
    if step.count is not None:
        trigger = bound[scope.case.rule.trigger.name][0]
        true, maybe = near_trigger(scope, true, trigger), near_trigger(scope, maybe, trigger)
        truth = clause(scope, step, true, maybe, bound)
        if truth == T or (truth == U and not strict):
            yield ordered(scope.case, true if truth == T else true + maybe), truth
        return
    yield from tried(true, T)
    if not strict:
        yield from tried(maybe, U)
        if not true and absence(scope, step, bound) == U:
            yield (), U


def tried(indices: Indices, truth: Truth) -> Iterator[tuple[Indices, Truth]]:
    """Yield each candidate alone: a failed one yields to the next (backtracking)."""
    for index in indices:
        yield (index,), truth


def starts(scope: Scope, trigger: int, episode: Indices, *, strict: bool) -> Iterator[tuple[Indices, Truth]]:
    """Yield what the trigger step is bound to when it starts at one sighting."""
    step = scope.case.rule.trigger
    truth = fits(scope, step, trigger, {})
    if step.count is None:
        if truth == T or (truth == U and not strict):
            yield (trigger,), truth
        return
    others = [i for i in episode if i != trigger and not comes_first(scope, step, i, trigger)]
    group = (trigger, *near_trigger(scope, tuple(others), trigger))
    true = tuple(i for i in group if fits(scope, step, i, {}) == T)
    maybe = tuple(i for i in group if fits(scope, step, i, {}) == U)
    truth = T if certainly_enough(scope, step.count, true) else U if possibly_enough(scope, step.count, true + maybe) else F
    held = true if truth == T else tuple(i for i in group if i in true + maybe)
    if trigger in held and (truth == T or (truth == U and not strict)):
        yield held, truth


def within_span(scope: Scope, bound: Bound) -> bool:
    """Whether the required sightings lie within the rule's total span (4.4)."""
    instants = [scope[held[0]].instant for held in bound.values() if held]
    known = [i for i in instants if i.known]
    return all(a.lo - b.hi <= scope.case.rule.span_ns for a, b in product(known, known) if a.comparable(b))


def guards(scope: Scope, bound: Bound) -> dict[str, Truth]:
    """Return the truth of every guard, decided over an assignment (6)."""
    return {s.name: negated(truth_of(scope, s, bound)[0]) for s in scope.case.rule.steps if s.verb == "unless"}


def truth_of(scope: Scope, step: Step, bound: Bound) -> tuple[Truth, Indices]:
    """Return the truth of a clause that consumes nothing, and the sightings that it binds when it is true."""
    if step.event == SILENCE:
        return silence(scope, step, bound), ()
    true, maybe = candidates(scope, step, bound)
    truth = clause(scope, step, true, maybe, bound)
    return truth, (ordered(scope.case, true) if step.count else true[:1]) if truth == T else ()


def assignments(scope: Scope, trigger: int, episode: Indices, *, strict: bool) -> Iterator[tuple[Bound, dict[str, Truth]]]:
    """Yield assignments that start at one trigger, in order, with the truth of every required clause; none is false."""
    first, *rest = scope.case.rule.required

    def extend(bound: Bound, truths: dict[str, Truth], steps: list[Step]) -> Iterator[tuple[Bound, dict[str, Truth]]]:
        if not steps:
            closed = truths | guards(scope, bound)
            if F not in closed.values() and within_span(scope, bound):
                yield bound, closed
            return
        step, *later = steps
        for held, truth in options(scope, step, bound, strict=strict):
            yield from extend({**bound, step.name: held}, truths | {step.name: truth}, later)

    for held, truth in starts(scope, trigger, episode, strict=strict):
        yield from extend({first.name: held}, {first.name: truth}, rest)


def best(scope: Scope, trigger: int, episode: Indices) -> tuple[Verdict, Bound, dict[str, Truth]]:
    """Return the outcome of the match that starts at one trigger (4.4 to 4.6)."""
    for bound, truths in assignments(scope, trigger, episode, strict=True):
        if all_of(truths.values()) == T:
            return "confirmed", bound, truths
    for bound, truths in assignments(scope, trigger, episode, strict=False):
        if all_of(truths.values()) == U:
            return "inconclusive", bound, truths
    return "quiet", {}, {}


# ------------------------------------------------------------------ 4.7 episodes, 4.8 rivals, 9. confirming clauses


def episodes(scope: Scope, triggers: Indices, quiet: int) -> list[Indices]:
    """Return the trigger's sightings split where more than the quiet time has passed; each clock has its own."""
    found: list[list[int]] = []
    for index in triggers:
        instant = scope[index].instant
        clocked = [e for e in found if scope[e[0]].instant.comparable(instant) and scope[e[0]].instant.known == instant.known]
        if clocked and (not instant.known or instant.lo - max(scope[i].instant.hi for i in clocked[-1]) <= quiet):
            clocked[-1].append(index)
        else:
            found.append([index])
    return [tuple(e) for e in found]


def minimal(scope: Scope, step: Step, indices: Indices) -> Indices:
    """Return those that no other certainly comes before."""
    return tuple(i for i in indices if not any(comes_first(scope, step, other, i) for other in indices if other != i))


def decide(scope: Scope, episode: Indices) -> Outcome:
    """Return the outcome of one episode."""
    step = scope.case.rule.trigger
    results = {i: best(scope, i, episode) for i in picked(scope, step, episode)}
    for verdict in ("confirmed", "inconclusive"):
        reaching: list[int] = []
        for index in results:
            if results[index][0] == verdict and not any(comes_first(scope, step, other, index) for other in reaching):
                reaching.append(index)
        first = minimal(scope, step, tuple(reaching))
        if first:
            _, bound, truths = results[first[0]]
            return completed(scope, verdict, bound, truths, min(len(first) - 1, MAX_RIVALS))
    return Outcome(scope.key, "quiet")


def completed(scope: Scope, verdict: Verdict, bound: Bound, truths: Mapping[str, Truth], rivals: int) -> Outcome:
    """Return the outcome with the confirming and refuting steps evaluated in written order (9)."""
    held, clauses = dict(bound), dict(truths)
    for step in scope.case.rule.steps:
        if step.verb in ("confirm", "refute"):
            clauses[step.name], found = truth_of(scope, step, held)
            if clauses[step.name] == T:
                held[step.name] = found
    return Outcome(scope.key, verdict, held, clauses, rivals)


def match(case: Case) -> list[Outcome]:
    """Return what the rule says about every key and episode."""
    outcomes = []
    for scope in scopes(case):
        step = case.rule.trigger
        triggers = tuple(i for i in scope.of(step.event) if i in scope.triggers and fits(scope, step, i, {}) != F)
        outcomes += [decide(scope, episode) for episode in episodes(scope, triggers, case.rule.quiet_ns)]
    return outcomes
