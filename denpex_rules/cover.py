"""What the cases leave open: events that none of them shows, steps that came out one way only, outcomes that none reaches.

A step that decides (`require`, `unless`) must have come out true and false, and one that only adds must have come out true and
not true. A trigger is false in a case that is about its rule and does not show it: a near miss. An outcome that a rule can't
reach is asked of nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from attrs import Factory, define, frozen

from denpex_rules import engine
from denpex_rules.cases import Case
from denpex_rules.correlator import Match, Outcome
from denpex_rules.evaluate import Truth
from denpex_rules.notation import clause_text
from denpex_rules.program import Program
from denpex_rules.rule import (
    Alternative,
    Capture,
    Constant,
    Event,
    Expression,
    Path,
    Rule,
    Status,
    Step,
    Template,
)

OUTCOMES: Final[tuple[Outcome, ...]] = ("confirmed", "inconclusive", "quiet")
DECISIVE: Final = frozenset({"require", "unless"})

What = Literal["event", "step", "outcome"]


@frozen
class Untried:
    """One thing that no case exercises: `name` is the event, the step or the outcome, `text` says what is lacking."""

    rule: str
    status: Status
    what: What
    name: str
    text: str


@define
class _Seen:
    """What the cases exercised so far."""

    events: set[str] = Factory(set)
    truths: dict[tuple[str, str], set[Truth]] = Factory(lambda: defaultdict(set))
    outcomes: dict[str, set[Outcome]] = Factory(lambda: defaultdict(set))

    def take(self, case: Case, program: Program) -> None:
        """Scan one case and note what every rule made of it."""
        scan = engine.sight(case.logs, program)
        self.events.update(s.event for s in scan.sightings)
        about = case.expected.rule
        reached = set()
        for match in engine.matches(scan, program, case.expected.options):
            reached.add(match.rule.qualified)
            self._note(match)
        for rule in program.rules:
            if about in {rule.id, rule.qualified} and rule.qualified not in reached:
                self.truths[rule.qualified, rule.trigger.name].add(Truth.FALSE)

    def _note(self, match: Match) -> None:
        rule = match.rule.qualified
        self.outcomes[rule].add(match.outcome)
        for clause in match.clauses:
            self.truths[rule, clause.step.name].add(clause.truth)


def untried(cases: Iterable[Case], program: Program) -> list[Untried]:
    """Return what no case exercises, by rule in the order of the program.

    Args:
        cases: the cases; each is scanned once, and every rule of the program looks at it.
        program: the rules that must be exercised.
    """
    seen = _Seen()
    for case in cases:
        seen.take(case, program)
    events = {event.id: event for event in program.events}
    return [one for rule in program.rules for one in _untried(rule, events, seen)]


def _untried(rule: Rule, events: Mapping[str, Event], seen: _Seen) -> Iterator[Untried]:
    def one(what: What, name: str, text: str) -> Untried:
        return Untried(rule.qualified, rule.status, what, name, text)

    for event in rule.events:
        if event not in seen.events:
            yield one("event", event, "never seen")
    for step in rule.steps:
        truths = seen.truths.get((rule.qualified, step.name), set())
        yield from (one("step", step.name, f"never {lacking}: {clause_text(step)}") for lacking in _lacking(step, truths))
    for outcome in OUTCOMES:
        if outcome in reachable(rule, events) and outcome not in seen.outcomes.get(rule.qualified, set()):
            yield one("outcome", outcome, f"never {outcome}" + (" with its trigger seen" if outcome == "quiet" else ""))


def _lacking(step: Step, truths: set[Truth]) -> Iterator[str]:
    if Truth.TRUE not in truths:
        yield "true"
    if step.verb in DECISIVE and Truth.FALSE not in truths:
        yield "false"
    if step.verb not in DECISIVE and not truths - {Truth.TRUE}:
        yield "other than true"


# ------------------------------------------------------------------ which outcomes a rule can reach


def reachable(rule: Rule, events: Mapping[str, Event]) -> frozenset[Outcome]:
    """Return the outcomes that some log could bring a rule to once its trigger is seen.

    A rule of one step without a condition is confirmed by every trigger. A second required step or a guard may fail or stay
    open; a count may stay too small; a trigger's condition may stay open where it asks for what a line need not tell.
    """
    others = len(rule.required) > 1 or any(step.verb == "unless" for step in rule.steps)
    trigger = rule.trigger
    open_ = others or any(_may_be_unknown(side, trigger, rule, events) for c in trigger.where for side in (c.left, c.right))
    found: set[Outcome] = {"confirmed"}
    if open_ or (trigger.count is not None and (trigger.count.span_ns is not None or trigger.count.distinct is not None)):
        found.add("inconclusive")
    if others or trigger.count is not None:
        found.add("quiet")
    return frozenset(found)


def _may_be_unknown(expression: Expression, step: Step, rule: Rule, events: Mapping[str, Event]) -> bool:
    """Whether a side of a trigger's condition can lack a value: all but constants and captures of every alternative can."""
    if isinstance(expression, Path) and expression.name not in {let.name for let in rule.lets}:
        return not all(expression.name in _captures(alternative) for alternative in events[step.event].alternatives)
    return not isinstance(expression, Constant)


def _captures(alternative: Alternative) -> frozenset[str]:
    """Return the captures of an alternative that stand in templates: a group of a regex may take no part in a match."""
    templates = (part for sequence in alternative.sequences for part in sequence.parts if isinstance(part, Template))
    return frozenset(piece.name for template in templates for piece in template.pieces if isinstance(piece, Capture))
