"""Three-valued evaluation of expressions, conditions and windows. The one evaluator: engine, explain and tests use it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache

from attrs import Factory, define, frozen

from denpex_rules import attribution
from denpex_rules.attribution import Bound, Known, Result, Unknown
from denpex_rules.clock import MAX, MIN, SECOND, Instant, Order, format_duration
from denpex_rules.rule import Anchor, Call, Condition, Constant, Event, Expression, Path, Step, Window
from denpex_rules.sighting import Emitter, Sighting
from denpex_rules.timeline import Need, Point, Timeline, point_of


class Truth(Enum):
    """How a clause came out."""

    TRUE = "true"
    FALSE = "false"
    UNDETERMINED = "undetermined"


@frozen
class Ruling:
    """A truth with its reason, and what would have to be read to decide an undetermined one."""

    truth: Truth
    reason: str = ""
    needs: tuple[Need, ...] = ()


TRUE = Ruling(Truth.TRUE)
FALSE = Ruling(Truth.FALSE)


def all_of(rulings: Iterable[Ruling]) -> Ruling:
    """Return the conjunction: the first false one, else the first undetermined one, else true."""
    undetermined: Ruling | None = None
    for ruling in rulings:
        if ruling.truth is Truth.FALSE:
            return ruling
        if ruling.truth is Truth.UNDETERMINED and undetermined is None:
            undetermined = ruling
    return undetermined or TRUE


@define
class Scope:
    """The names that clauses may refer to: bound steps and lets. Binding makes a new scope."""

    timeline: Timeline
    events: Mapping[str, Event]
    lets: Mapping[str, Expression]
    bindings: Mapping[str, Bound]
    step_events: Mapping[str, str]  # step name -> event id
    gather: Callable[[str, Scope], Bound]  # all sightings for which a bound step is true
    _known: dict[str, Result] = Factory(dict)
    _anchors: dict[Anchor, Point | None] = Factory(dict)

    def bind(self, name: str, sightings: Bound) -> Scope:
        """Return a scope in which a step is bound; no sightings mean that it is absent."""
        return Scope(self.timeline, self.events, self.lets, {**self.bindings, name: sightings}, self.step_events, self.gather)

    def everything(self, name: str) -> Bound:
        """Return all sightings for which a step is true, () when it is not bound."""
        return self.gather(name, self) if self.bindings.get(name) else ()

    def value(self, expression: Expression, own: Sighting | None = None) -> Result:
        """Return an expression's value; a bare name is a field of `own` when it has one, else a let."""
        if isinstance(expression, Path):
            if expression.field is not None:
                return self._field(expression)
            if own is not None and expression.name not in self.lets:
                return field_of(own, expression.name)
            return self._let(expression.name)
        return Known(expression.value) if isinstance(expression, Constant) else self._call(expression, own)

    def _field(self, path: Path) -> Result:
        bound = self.bindings.get(path.name, ())
        if not bound:
            return Unknown(f"`{path.name}` was not seen")
        return field_of(bound[0], path.field or "")

    def _let(self, name: str) -> Result:
        if name not in self._known:
            self._known[name] = self.value(self.lets[name]) if name in self.lets else Unknown(f"`{name}` is not known")
        return self._known[name]

    def _call(self, expression: Call, own: Sighting | None) -> Result:
        args: list[attribution.Argument] = []
        for arg in expression.args:
            if isinstance(arg, Path) and arg.field is None and arg.name in self.step_events:
                bound = self.everything(arg.name)
                args.append(bound or Unknown(f"`{arg.name}` was not seen"))
            elif isinstance(arg, Path) and arg.field is not None and expression.function in _CAPTURE_FUNCTIONS:
                bound = self.everything(arg.name)
                args.append((bound, arg.field) if bound else Unknown(f"`{arg.name}` was not seen"))
            else:
                args.append(self.value(arg, own))
        return attribution.call(self.timeline, expression.function, tuple(args))

    # ---- time

    def anchor(self, anchor: Anchor) -> Point | None:
        """Return the instant and place that an anchor stands for, None when its step is absent or a term of it is unknown."""
        if anchor not in self._anchors:
            self._anchors[anchor] = self._anchor(anchor)
        return self._anchors[anchor]

    def _anchor(self, anchor: Anchor) -> Point | None:
        bound = self.bindings.get(anchor.step, ())
        if not bound:
            return None
        point = self.moment(bound[0], anchor.moment)
        total = 0
        for sign, term in anchor.terms:
            shift = term if isinstance(term, int) else _duration(self._field(term))
            if shift is None:
                return None
            total += sign * shift
        return point.shift(total) if point is not None else None

    def moment(self, sighting: Sighting, name: str) -> Point | None:
        """Return a sighting's time or named moment, None when a capture that it needs is missing."""
        point = point_of(sighting)
        if name == "time":
            return point
        moment = self.events[sighting.event].moment(name)
        if moment is None:
            return None
        total = 0
        for sign, term in moment.terms:
            shift = term if isinstance(term, int) else sighting.fields.get(term)
            if not isinstance(shift, int):
                return None
            total += sign * shift
        # Line order tells about the line's own time only, not about a moment that the line speaks of.
        return Point(point.instant.shift(total), point.host, point.emitter, None, point.rank)

    # ---- judging one sighting for one step

    def where(self, step: Step, sighting: Sighting) -> Ruling:
        """Return whether a sighting meets a step's conditions."""
        if len(step.where) < 2:
            return self.condition(step.where[0], sighting) if step.where else TRUE
        return all_of(self.condition(c, sighting) for c in step.where)

    def condition(self, condition: Condition, own: Sighting | None) -> Ruling:
        """Return whether a condition holds; an unknown side makes it undetermined."""
        left, right = self.value(condition.left, own), self.value(condition.right, own)
        if (isinstance(left, Unknown) or isinstance(right, Unknown)) and self._one_job(condition):
            return TRUE
        if own is not None and isinstance(left, Unknown) and isinstance(right, Unknown):
            speaker = self.speaker(condition)
            if speaker is not None and speaker == own.emitter:
                return TRUE if condition.operator == "==" else FALSE
        for side in (left, right):
            if isinstance(side, Unknown):
                return Ruling(Truth.UNDETERMINED, side.reason, side.needs)
        assert isinstance(left, Known)
        assert isinstance(right, Known)
        return TRUE if _compare(left, condition.operator, right) else FALSE

    def _one_job(self, condition: Condition) -> bool:
        """Whether `job == step.job` holds for lines that name no job: where at most one job is named, all are of it."""
        named = isinstance(condition.left, Path) and condition.left.name == "job"
        return named and condition.operator == "==" and len(self.timeline.jobs) <= 1

    def speaker(self, condition: Condition) -> Emitter | None:
        """Return the emitter that stands for an unknown actor: `rank == step.rank` where the step's line tells no rank.

        One emitter is one process, so what both sides leave unknown is equal within it; None where this does not apply.
        """
        emitter = self._stand_in(condition)
        return emitter if emitter is not None and self.timeline.one_process(emitter) else None

    def _stand_in(self, condition: Condition) -> Emitter | None:
        left, right = condition.left, condition.right
        if not (isinstance(left, Path) and left.field is None and isinstance(right, Path) and right.field == left.name):
            return None
        bound = self.bindings.get(right.name, ())
        if left.name not in _OF_PROCESS or condition.operator not in {"==", "!="} or not bound:
            return None
        return bound[0].emitter if bound[0].told(left.name) is None else None

    def window(self, window: Window | None, sighting: Sighting) -> Ruling:
        """Return whether a sighting's moment lies in a window."""
        if window is None:
            return TRUE
        point = self.moment(sighting, window.moment)
        if point is None:
            return Ruling(Truth.UNDETERMINED, f"the line does not tell its `{window.moment}`")
        sides = []
        if window.lo is not None:
            sides.append(self._not_before(point, window.lo))
        if window.hi is not None:
            sides.append(self._not_after(point, window.hi))
        return all_of(sides)

    def _not_before(self, point: Point, anchor: Anchor) -> Ruling:
        bound = self.anchor(anchor)
        return _unknown_anchor(anchor) if bound is None else not_before(self.timeline, point, bound, anchor.step)

    def _not_after(self, point: Point, anchor: Anchor) -> Ruling:
        bound = self.anchor(anchor)
        return _unknown_anchor(anchor) if bound is None else not_before(self.timeline, bound, point, anchor.step)

    def judge(self, step: Step, sighting: Sighting) -> Ruling:
        """Return whether a sighting is what a step asks for."""
        ruling = self.where(step, sighting)
        if step.window is None or ruling.truth is Truth.FALSE:
            return ruling
        return all_of((ruling, self.window(step.window, sighting)))

    def premises(self, step: Step) -> tuple[object, ...] | None:
        """Return all in this scope that `judge` takes for a step: scopes in which it is equal judge each sighting alike.

        None where a `let` or a built-in takes part: these are worked out only when a sighting needs them.
        """
        found: list[object] = []
        for condition in step.where:
            for side in (condition.left, condition.right):
                if isinstance(side, Call) or (isinstance(side, Path) and side.field is None and side.name in self.lets):
                    return None
                if isinstance(side, Path) and side.field is not None:
                    found.append(self._field(side))
            found.append(self._stand_in(condition))
        if step.window is not None:
            found += [self.anchor(a) for a in (step.window.lo, step.window.hi) if a is not None]
        return tuple(found)

    def miss(self, window: Window, sighting: Sighting) -> float | None:
        """Return by how many seconds a sighting's moment misses a window (its nearest points), None when nothing tells."""
        point = self.moment(sighting, window.moment)
        if point is None or point.instant.lo == MIN or point.instant.hi == MAX:
            return None
        miss = 0
        for anchor, side in ((window.lo, 1), (window.hi, -1)):
            bound = self.anchor(anchor) if anchor is not None else None
            if bound is None or not bound.instant.comparable(point.instant):
                continue
            gap = bound.instant.lo - point.instant.hi if side > 0 else point.instant.lo - bound.instant.hi
            miss = max(miss, gap)
        return miss / SECOND


def not_before(timeline: Timeline, a: Point, b: Point, name: str = "") -> Ruling:
    """Return whether `a >= b`, boundaries included, beyond the skew between their places."""
    if a.emitter is not None and a.emitter == b.emitter and a.ordinal is not None and b.ordinal is not None:
        return TRUE if a.ordinal >= b.ordinal else FALSE
    if not a.instant.comparable(b.instant):
        return Ruling(Truth.UNDETERMINED, _incomparable(a.instant, b.instant, name))
    skew = timeline.skew_between(a, b)
    if a.instant.lo - skew >= b.instant.hi:
        return TRUE
    if a.instant.hi + skew < b.instant.lo:
        return FALSE
    return Ruling(Truth.UNDETERMINED, f"the order against `{name}` can't be told: the times overlap within {_margin(a, b, skew)}")


def _margin(a: Point, b: Point, skew: int) -> str:
    width = max(a.instant.hi - a.instant.lo, b.instant.hi - b.instant.lo)
    return format_duration(skew) + " of clock skew" if skew >= width else "what their clocks resolve"


def _incomparable(a: Instant, b: Instant, name: str) -> str:
    if "none" in {a.clock, b.clock}:
        return f"the order against `{name}` can't be told: a line has no time"
    if "monotonic" in {a.clock, b.clock}:
        return f"the order against `{name}` can't be told: uptime and wall time have no common anchor"
    if a.year != b.year:
        return f"the order against `{name}` can't be told: the year of one clock is unknown"
    return f"the order against `{name}` can't be told: the clock has no zone"


def _unknown_anchor(anchor: Anchor) -> Ruling:
    return Ruling(Truth.UNDETERMINED, f"when `{anchor.step}` was is not known")


def field_of(sighting: Sighting, name: str) -> Result:
    """Return a sighting's capture, else its actor's field."""
    value = sighting.told(name)
    return _untold(sighting.event, name) if value is None else Known(value)


@lru_cache(maxsize=1024)
def _untold(event: str, name: str) -> Unknown:
    return Unknown(f"the line of `{event.rpartition('#')[2]}` does not tell its {name.replace('_', ' ')}")


def _duration(result: Result) -> int | None:
    return result.value if isinstance(result, Known) and isinstance(result.value, int) else None


def _compare(left: Known, op: str, right: Known) -> bool:
    a, b = left.value, right.value
    if isinstance(a, tuple) != isinstance(b, tuple):
        member = a in b if isinstance(b, tuple) else b in a if isinstance(a, tuple) else False
        return member if op == "==" else not member
    return bool(_OPERATORS[op](a, b))


_OPERATORS: Mapping[str, Callable[..., object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OF_PROCESS = frozenset({"rank", "local_rank", "host", "pid"})
_CAPTURE_FUNCTIONS = frozenset({"lowest", "odd_one_out"})


def certainly(timeline: Timeline, a: Point, b: Point) -> bool:
    """Whether `a` came before `b` beyond doubt."""
    return timeline.order(a, b) is Order.BEFORE
