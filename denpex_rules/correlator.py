"""The step machines: sightings of one timeline to matches of one rule.

The meaning is specified in docs/explanation/semantics.md; section numbers below refer to it. A machine is the rule's required
steps in written order; its state is the assignment built so far. It tries candidates in canonical order and backtracks, with a
budget, so that live state and work stay bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from attrs import Factory, define, evolve, field, frozen

from denpex_rules.attribution import Bound, Unknown
from denpex_rules.clock import SECOND, Instant, Order, format_duration
from denpex_rules.count import enough, may_be_enough
from denpex_rules.coverage import Sought, absence, silence, sought
from denpex_rules.evaluate import FALSE, TRUE, Ruling, Scope, Truth, all_of
from denpex_rules.panel import Panels, Whom
from denpex_rules.pool import KeyValue, Pool, episodes_of, pools
from denpex_rules.rule import SILENCE, Call, Event, Expression, Path, Rule, Step
from denpex_rules.sighting import Sighting
from denpex_rules.timeline import Need, Timeline, point_of

Outcome = Literal["confirmed", "inconclusive", "quiet"]
MINIMAL_TRIED = 8  # triggers that may all have been first, and are each tried (4.8)
BUDGET = 20_000  # judged candidates per episode; beyond it the match is inconclusive


@frozen
class Clause:
    """How one step of a match came out.

    `sightings` are what it is bound to, `miss` the nearest miss in seconds, `near` the sighting that missed so little, or that
    a guard saw.
    """

    step: Step
    truth: Truth
    reason: str = ""
    sightings: Bound = ()
    needs: tuple[Need, ...] = ()
    miss: float | None = None
    near: Sighting | None = None


@frozen
class Match:
    """One rule matched (or nearly) in one episode of one key.

    `triggers` are all sightings of the episode that satisfy the trigger's own conditions; `rivals` are matches of other triggers
    that may have been first.
    """

    rule: Rule
    key: KeyValue
    outcome: Outcome
    scope: Scope = field(eq=False, repr=False)
    clauses: tuple[Clause, ...] = ()
    triggers: Bound = ()
    rivals: tuple[Match, ...] = ()

    @property
    def bindings(self) -> Mapping[str, Bound]:
        """The sightings that each bound step stands for."""
        return {name: bound for name, bound in self.scope.bindings.items() if bound}

    def clause(self, name: str) -> Clause | None:
        """Return the clause of a step by its name."""
        return next((c for c in self.clauses if c.step.name == name), None)


@frozen
class _Weighed:
    """The candidates of a step under some premises (`Scope.premises`): how many were judged, the true and the open ones."""

    premises: tuple[object, ...]
    judged: int
    true: Bound
    open: list[tuple[Sighting, Ruling]]


class _OverBudgetError(Exception):
    """The search for an assignment was cut off."""


def match_rule(rule: Rule, events: Mapping[str, Event], timeline: Timeline) -> list[Match]:
    """Return a rule's matches, one for each episode of each key, quiet ones included, in canonical order.

    Args:
        rule: the rule.
        events: all events by id.
        timeline: the resolved sightings and coverage.
    """
    matches, panels = [], Panels(timeline)
    for key, pool in pools(rule, timeline):
        machine = _Machine(rule, events, timeline, key, pool, panels)
        matches += [evolve(machine, episode=episode, judged=0).run() for episode in episodes_of(rule, machine.triggers())]
    return matches


@define
class _Machine:
    """Finds the first assignment of one episode."""

    rule: Rule
    events: Mapping[str, Event]
    timeline: Timeline
    key: KeyValue
    pool: Pool
    panels: Panels
    episode: Bound = ()
    judged: int = 0
    # What was found last, for the next trigger is often like the one before: candidates by what a step asks, absence by its name.
    _last: dict[object, _Weighed] = Factory(dict)
    _absent: dict[str, tuple[Sought, Ruling]] = Factory(dict)

    @cached_property
    def _budget(self) -> int:
        """How many candidates may be judged: a guard over many progress lines is looked at again for each trigger."""
        return BUDGET + 50 * max(len(self.pool.of(step.event)) for step in self.rule.steps)

    def triggers(self) -> Bound:
        """Return the trigger's sightings that its own conditions do not exclude."""
        scope = self._empty()
        found = self.pool.triggers(self.rule.trigger.event)
        return tuple(s for s in found if scope.where(self.rule.trigger, s).truth is not Truth.FALSE)

    def run(self) -> Match:
        """Return the episode's match: confirmed, else inconclusive, else quiet."""
        try:
            for strict in (True, False):
                reaching = self._reaching(strict=strict)
                if reaching:
                    return self._of_rivals(reaching)
        except _OverBudgetError:
            return self._cut_off()
        return self._quiet()

    def _reaching(self, *, strict: bool) -> list[tuple[Scope, tuple[Clause, ...]]]:
        """Return the first assignment of each trigger that reaches one and may have been the first to (4.8)."""
        reaching: list[tuple[Scope, tuple[Clause, ...]]] = []
        for trigger in _picked(self.rule.trigger, self.episode):
            if len(reaching) > MINIMAL_TRIED or self._beaten(trigger, reaching):
                continue
            found = next(self._assign(0, self._empty(), (), trigger, strict=strict), None)
            if found is not None:
                reaching.append(found)
        return [r for r in reaching if not self._beaten(self._trigger(r[0]), reaching)]

    def _beaten(self, trigger: Sighting, reaching: list[tuple[Scope, tuple[Clause, ...]]]) -> bool:
        wanted = Order.BEFORE if self.rule.trigger.pick == "first" else Order.AFTER
        points = (point_of(self._trigger(scope)) for scope, _ in reaching)
        return any(self.timeline.order(other, point_of(trigger)) is wanted for other in points)

    def _of_rivals(self, reaching: list[tuple[Scope, tuple[Clause, ...]]]) -> Match:
        true = all(c.truth is Truth.TRUE for c in reaching[0][1])
        outcome: Outcome = "confirmed" if true else "inconclusive"
        first, *others = (self._match(outcome, found) for found in reaching[: MINIMAL_TRIED + 1])
        return evolve(first, rivals=tuple(others))

    def _empty(self) -> Scope:
        lets = {let.name: let.value for let in self.rule.lets}
        names = {step.name: step.event for step in self.rule.steps}
        return Scope(self.timeline, self.events, lets, {}, names, self._gather)

    def _gather(self, name: str, scope: Scope) -> Bound:
        """Return all sightings for which a step is true: what `victim` and built-ins take (7)."""
        step = next(s for s in self.rule.steps if s.name == name)
        if step.event == SILENCE:
            return ()
        true, _ = self._candidates(step, scope, frozenset())
        return true or scope.bindings.get(name, ())

    def _assign(
        self, index: int, scope: Scope, clauses: tuple[Clause, ...], trigger: Sighting, *, strict: bool
    ) -> Iterator[tuple[Scope, tuple[Clause, ...]]]:
        """Yield a trigger's assignments in order (4.4, 4.5); guards are asked as soon as all that they refer to is bound."""
        required = self.rule.required
        if index == len(required):
            span = self._span(scope)
            if span.truth is not Truth.FALSE:
                yield scope, clauses
            return
        step = required[index]
        used = frozenset(id(s) for c in clauses for s in c.sightings)
        for clause in self._bindings(step, scope, used, trigger if index == 0 else None, strict=strict):
            bound = scope.bind(step.name, clause.sightings)
            guards = tuple(self._guard(g, bound) for g in self._guards[index])
            verdict = all_of(Ruling(g.truth) for g in guards).truth
            if verdict is Truth.FALSE or (strict and verdict is not Truth.TRUE):
                continue
            yield from self._assign(index + 1, bound, (*clauses, clause, *guards), trigger, strict=strict)

    @cached_property
    def _guards(self) -> Sequence[Sequence[Step]]:
        """The guards of each required step: it is the last of those that they refer to."""
        names = [s.name for s in self.rule.required]
        found: list[list[Step]] = [[] for _ in names]
        for guard in (s for s in self.rule.steps if s.verb == "unless"):
            needed = [names.index(n) for n in references(guard, self.rule) if n in names]
            found[max(needed, default=0)].append(guard)
        return found

    def _span(self, scope: Scope) -> Ruling:
        clocks: dict[object, list[Instant]] = defaultdict(list)
        for step in self.rule.required:
            for sighting in scope.bindings.get(step.name, ())[:1]:
                if sighting.instant.known:
                    clocks[sighting.instant.frame].append(sighting.instant)
        far = (max(i.lo for i in found) - min(i.hi for i in found) > self.rule.span_ns for found in clocks.values())
        return FALSE if any(far) else TRUE

    # ---- candidates of one step

    def _bindings(
        self, step: Step, scope: Scope, used: frozenset[int], trigger: Sighting | None, *, strict: bool
    ) -> Iterator[Clause]:
        if step.event == SILENCE:
            ruling = silence(step, scope, self._job())
            if ruling.truth is Truth.TRUE or (not strict and ruling.truth is Truth.UNDETERMINED):
                yield Clause(step, ruling.truth, ruling.reason, (), ruling.needs)
            return
        if step.count is not None:
            clause = self._count(step, scope, self._countable(step, scope, trigger), used)
            # what others suffice for is their match, not that of this trigger
            own = trigger is None or any(s is trigger for s in clause.sightings)
            if own and (clause.truth is Truth.TRUE or (not strict and clause.truth is Truth.UNDETERMINED)):
                yield clause
            return
        true, open_ = self._candidates(step, scope, used, (trigger,) if trigger else None)
        for sighting in _picked(step, true):
            yield Clause(step, Truth.TRUE, "", (sighting,))
        if strict:
            return
        for sighting in _picked(step, tuple(s for s, _ in open_)):
            ruling = next(r for s, r in open_ if s is sighting)
            yield Clause(step, Truth.UNDETERMINED, ruling.reason, (sighting,), ruling.needs)
        if not true and trigger is None:
            ruling = self._absence(step, scope)
            if ruling.truth is Truth.UNDETERMINED:
                yield Clause(step, Truth.UNDETERMINED, ruling.reason, (), ruling.needs)

    def _countable(self, step: Step, scope: Scope, trigger: Sighting | None) -> Bound:
        """Return what a counting step may take: candidates within the span of the trigger, a trigger and those after it."""
        first = trigger or self._trigger(scope)
        pool = self._from(trigger) if trigger else self._narrowed(step, scope)
        return tuple(s for s in pool if _within(self.rule.span_ns, first, s))

    def _from(self, trigger: Sighting) -> Bound:
        """Return what a counting trigger may take from one of its sightings on: that one, and those not certainly before it."""
        wrong = Order.BEFORE if self.rule.trigger.pick == "first" else Order.AFTER
        point = point_of(trigger)
        rest = (s for s in self.episode if s is not trigger and self.timeline.order(point_of(s), point) is not wrong)
        return (trigger, *rest)

    def _count(self, step: Step, scope: Scope, pool: Bound | None = None, used: frozenset[int] = frozenset()) -> Clause:
        """Return how a counting step came out over a pool, None: all candidates; what it is bound to keeps the pool's order."""
        assert step.count is not None
        true, open_ = self._candidates(step, scope, used, pool)
        if enough(step.count, true):
            return Clause(step, Truth.TRUE, "", true)
        taken = {id(s) for s in (*true, *(s for s, _ in open_))}
        both = tuple(s for s in (self._narrowed(step, scope) if pool is None else pool) if id(s) in taken)
        if may_be_enough(step.count, both):
            reason = open_[0][1].reason if open_ else "they may lie further apart than their clocks tell"
            return Clause(step, Truth.UNDETERMINED, reason, both, open_[0][1].needs if open_ else ())
        seen = step is self.rule.trigger  # what nobody read starts no match
        ruling = FALSE if seen else self._absence(step, scope)
        reason = ruling.reason if ruling.truth is Truth.UNDETERMINED else f"{len(true)} of {step.count.least} were seen"
        return Clause(step, ruling.truth, reason, both, ruling.needs)

    def _candidates(
        self, step: Step, scope: Scope, used: frozenset[int], triggers: Bound | None = None
    ) -> tuple[Bound, list[tuple[Sighting, Ruling]]]:
        """Return the true candidates and the undetermined ones, in canonical order."""
        premises = None if used or triggers is not None else scope.premises(step)
        if premises is None:
            pool = triggers if triggers is not None else self._narrowed(step, scope)
            return self._weigh(step, scope, [s for s in pool if id(s) not in used] if used else pool)
        question = step.event, step.where, step.window
        last = self._last.get(question)
        if last is not None and last.premises == premises:
            self._spend(last.judged)
        else:
            pool = self._narrowed(step, scope)
            last = self._last[question] = _Weighed(premises, len(pool), *self._weigh(step, scope, pool))
        return last.true, last.open

    def _weigh(self, step: Step, scope: Scope, pool: Sequence[Sighting]) -> tuple[Bound, list[tuple[Sighting, Ruling]]]:
        self._spend(len(pool))
        true: list[Sighting] = []
        open_: list[tuple[Sighting, Ruling]] = []
        for sighting in pool:
            ruling = scope.judge(step, sighting)
            if ruling.truth is Truth.TRUE:
                true.append(sighting)
            elif ruling.truth is Truth.UNDETERMINED:
                open_.append((sighting, ruling))
        return tuple(true), open_

    def _spend(self, candidates: int) -> None:
        self.judged += candidates
        if self.judged > self._budget:
            raise _OverBudgetError

    def _narrowed(self, step: Step, scope: Scope) -> Bound:
        """Return the sightings that a condition on an own field leaves: the join, by index instead of by scan."""
        for condition in step.where:
            left = condition.left
            if condition.operator == "==" and isinstance(left, Path) and left.field is None and left.name not in scope.lets:
                value = getattr(scope.value(condition.right), "value", None)
                if isinstance(value, int | str):
                    own_type = dict(self.events[step.event].captures).get(left.name)
                    if own_type != "ranks":
                        return self.pool.where(step.event, left.name, value)
        return self.pool.of(step.event)

    def _trigger(self, scope: Scope) -> Sighting:
        return scope.bindings[self.rule.trigger.name][0]

    # ---- guards and confirming clauses (6, 9)

    def _guard(self, step: Step, scope: Scope) -> Clause:
        clause = self._ask(step, scope)
        flipped = {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(clause.truth, clause.truth)
        reason = clause.reason or (f"`{step.name}` was seen" if flipped is Truth.FALSE else "")
        seen = clause.sightings[0] if flipped is Truth.FALSE and clause.sightings else None
        return Clause(step, flipped, reason, (), clause.needs, near=seen)

    def _ask(self, step: Step, scope: Scope) -> Clause:
        """Return how a step that consumes nothing came out."""
        if step.event == SILENCE:
            ruling = silence(step, scope, self._job())
            return Clause(step, ruling.truth, ruling.reason, (), ruling.needs)
        if step.count is not None:
            return self._count(step, scope)
        true, open_ = self._candidates(step, scope, frozenset())
        if true:
            return Clause(step, Truth.TRUE, "", (_picked(step, true)[0],))
        if open_:
            sighting, ruling = open_[0]
            return Clause(step, Truth.UNDETERMINED, ruling.reason, (sighting,), ruling.needs)
        ruling = self._absence(step, scope)
        return Clause(step, ruling.truth, ruling.reason, (), ruling.needs, *self._miss(step, scope))

    def _job(self) -> str | None:
        job = dict(self.pool.fields).get("job")
        return job if isinstance(job, str) else None

    @cached_property
    def _named(self) -> Mapping[str, frozenset[str]]:
        """The steps that each step itself refers to."""
        return {step.name: references(step, self.rule, lets=False) for step in self.rule.steps}

    def _absence(self, step: Step, scope: Scope) -> Ruling:
        unbound = sorted(n for n in self._named[step.name] if not scope.bindings.get(n))
        if unbound:
            return Ruling(Truth.UNDETERMINED, f"`{unbound[0]}` was not seen")
        keyed = dict(self.pool.fields)
        rank, host = keyed.get("rank"), keyed.get("host")
        named = Whom(rank if isinstance(rank, int) else None, host if isinstance(host, str) else None, self._job())
        where = sought(self.rule, step, scope, self._trigger(scope), named)
        if isinstance(where, Unknown):
            return Ruling(Truth.UNDETERMINED, where.reason, where.needs)
        last = self._absent.get(step.name)
        if last is None or last[0] != where:
            last = self._absent[step.name] = where, absence(step, scope, where, self.panels)
        return last[1]

    def _confirming(self, scope: Scope) -> tuple[Scope, tuple[Clause, ...]]:
        clauses = []
        for step in self.rule.steps:
            if step.verb in {"confirm", "refute"}:
                clause = self._ask(step, scope)
                clauses.append(clause)
                if clause.truth is Truth.TRUE:
                    scope = scope.bind(step.name, clause.sightings)
        return scope, tuple(clauses)

    def _miss(self, step: Step, scope: Scope) -> tuple[float | None, Sighting | None]:
        """Return by how many seconds the nearest sighting that meets the conditions misses the window, and that sighting."""
        if step.window is None:
            return None, None
        window = step.window
        fitting = [s for s in self._narrowed(step, scope) if scope.where(step, s).truth is not Truth.FALSE]
        misses = ((m, s) for s in fitting if (m := scope.miss(window, s)) is not None)
        return min(misses, key=lambda miss: miss[0], default=(None, None))

    # ---- results

    def _match(self, outcome: Outcome, found: tuple[Scope, tuple[Clause, ...]]) -> Match:
        scope, clauses = found
        clauses = tuple(self._nearest(c, scope) for c in clauses)
        scope, confirming = self._confirming(scope)
        order = {step.name: i for i, step in enumerate(self.rule.steps)}
        ordered = tuple(sorted((*clauses, *confirming), key=lambda c: order[c.step.name]))
        return Match(self.rule, self.key, outcome, scope, ordered, self._own(scope))

    def _nearest(self, clause: Clause, scope: Scope) -> Clause:
        """Return a clause that nobody could decide with what came nearest: that may be what its author meant."""
        if clause.truth is not Truth.UNDETERMINED or clause.sightings or clause.step.event == SILENCE:
            return clause
        miss, near = self._miss(clause.step, scope)
        return clause if near is None else evolve(clause, miss=miss, near=near)

    def _own(self, scope: Scope) -> Bound:
        if not self.rule.trigger.where:
            return self.episode
        return tuple(s for s in self.episode if scope.where(self.rule.trigger, s).truth is Truth.TRUE)

    def _quiet(self) -> Match:
        """Return the quiet match with the clauses of the attempt that gets furthest, for explanations."""
        scope, clauses = self._empty(), [self._attempt(self._empty())]
        scope = scope.bind(self.rule.trigger.name, clauses[0].sightings or self.episode[:1])
        for step in self.rule.required[1:]:
            clause = self._ask(step, scope)
            clauses.append(clause)
            scope = scope.bind(step.name, clause.sightings)
        clauses += [self._guard(g, scope) for g in self.rule.steps if g.verb == "unless"]
        scope, confirming = self._confirming(scope)
        return Match(self.rule, self.key, "quiet", scope, (*clauses, *confirming), self._own(scope))

    def _attempt(self, scope: Scope) -> Clause:
        """Return how the trigger itself came out at its best."""
        step, first = self.rule.trigger, _picked(self.rule.trigger, self.episode)[0]
        if step.count is not None:
            return self._count(step, scope, self._countable(step, scope, self.episode[0]))
        ruling = scope.judge(step, first)
        return Clause(step, ruling.truth, ruling.reason, (first,), ruling.needs)

    def _cut_off(self) -> Match:
        step = self.rule.trigger
        scope = self._empty().bind(step.name, self.episode[:1])
        reason = f"the search was cut off after {BUDGET} candidates"
        clause = Clause(step, Truth.UNDETERMINED, reason, self.episode[:1])
        return Match(self.rule, self.key, "inconclusive", scope, (clause,), self._own(scope))


def _picked(step: Step, sightings: Bound) -> Bound:
    """Return candidates in the order in which a step takes them (4.3)."""
    if step.pick == "first":
        return sightings
    known = [s for s in sightings if s.instant.known]
    return (*reversed(known), *(s for s in sightings if not s.instant.known))


def _within(span_ns: int, trigger: Sighting, sighting: Sighting) -> bool:
    a, b = trigger.instant, sighting.instant
    if not a.known or not b.known or not a.comparable(b):
        return True
    return b.lo - a.hi <= span_ns and a.lo - b.hi <= span_ns


def references(step: Step, rule: Rule, *, lets: bool = True) -> frozenset[str]:
    """Return the names of the steps that a step's conditions and window refer to; with `lets`, through lets too."""
    names: set[str] = set()
    values = {let.name: let.value for let in rule.lets} if lets else {}
    if step.window is not None:
        for anchor in (step.window.lo, step.window.hi):
            if anchor is not None:
                names.add(anchor.step)
                names.update(term.name for _, term in anchor.terms if isinstance(term, Path))
    pending: list[Expression] = [side for c in step.where for side in (c.left, c.right)]
    while pending:
        expression = pending.pop()
        if isinstance(expression, Call):
            names.update(a.name for a in expression.args if isinstance(a, Path) and a.field is None and a.name not in values)
            pending.extend(expression.args)
        elif isinstance(expression, Path) and expression.field is not None:
            names.add(expression.name)
        elif isinstance(expression, Path) and expression.name in values:
            pending.append(values.pop(expression.name))
    return frozenset(names) & frozenset(s.name for s in rule.steps)


def describe_miss(miss: float) -> str:
    """Return a nearest miss in words."""
    return f"nearest miss: {format_duration(round(miss * SECOND))} outside"
