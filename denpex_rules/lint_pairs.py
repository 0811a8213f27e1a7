"""Advice about several rules together: what one record starts twice, and comparisons with rules that do not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from denpex_rules.compiler import miss
from denpex_rules.errors import Diagnostic
from denpex_rules.pattern import EventPattern, Types, compile_event
from denpex_rules.rule import Rule, RuleSet, Step
from denpex_rules.usage import advice


def lint_pairs(rules: RuleSet, known: Collection[str], types: Types) -> Iterator[Diagnostic]:
    """Yield advice about rules in the light of each other.

    Args:
        rules: all rules that are looked at.
        known: `pack:path` of rules that exist, these or others.
        types: every capture type that patterns may name.
    """
    yield from _unknown(rules.rules, known)
    yield from _rivals(rules, types)


def _unknown(rules: Iterable[Rule], known: Collection[str]) -> Iterator[Diagnostic]:
    for rule in rules:
        for see in rule.see:
            name = see.rule if ":" in see.rule else f"{rule.pack}:{see.rule}"
            if name not in known:
                yield advice("L0109", f"rule `{rule.id}` is compared with `{see.rule}`, which does not exist", rule.span)


def _rivals(rules: RuleSet, types: Types) -> Iterator[Diagnostic]:
    """Yield advice about two rules that one record starts, although neither causes, guards against nor names the other."""
    events = {event.id: event for event in rules.events}
    patterns = {rule.trigger.event: compile_event(events[rule.trigger.event], types) for rule in rules.rules}
    for one, other in combinations(rules.rules, 2):
        if _related(one, other) or not _overlap(one.trigger, other.trigger):
            continue
        shared = _shared(patterns[one.trigger.event], patterns[other.trigger.event])
        if shared:
            message = f"one record starts both `{other.id}` and `{one.id}`, and nothing says how they differ"
            yield advice("L0105", message, other.span, f"{shared}; add `causes`, an `unless`, or `see` with the difference")


def _overlap(one: Step, other: Step) -> bool:
    """Whether what one trigger asks of its sighting is all that the other asks, and maybe more."""
    asked, also = ({(c.left, c.operator, c.right) for c in step.where} for step in (one, other))
    return asked <= also or also <= asked


def _shared(one: EventPattern, other: EventPattern) -> str:
    """Return how it is known that one record can be both events: it is one event, or an example of one is the other."""
    if one.event.id == other.event.id:
        return f"both require `{one.event.name}`"
    for pattern, example in [*((one, e) for e in other.event.like), *((other, e) for e in one.event.like)]:
        if not miss(pattern, example):
            return f"the record is: {example if len(example) <= 200 else example[:199] + '…'}"
    return ""


def _related(one: Rule, other: Rule) -> bool:
    if one.cls in other.causes or other.cls in one.causes:
        return True
    if any(see.rule in {b.id, b.qualified} for a, b in ((one, other), (other, one)) for see in a.see):
        return True
    return any(step.verb == "unless" for rule in (one, other) for step in rule.steps)
