"""A step in a sentence, with its numbers resolved: for an author who asks what a clause means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from denpex_rules.clock import format_duration
from denpex_rules.mistake import listed
from denpex_rules.notation import anchor_text, expression_text
from denpex_rules.rule import SILENCE, Anchor, Condition, Constant, Step, Window

_VERBS: Final[Mapping[str, str]] = {
    "require": "Needed",
    "confirm": "Proof where it is there",
    "refute": "Speaks against the match where it is there",
    "unless": "The match holds only without it",
}
_OPERATORS: Final[Mapping[str, str]] = {
    "==": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}


def step_in_words(step: Step) -> str:
    """Return what a step asks for."""
    if step.event == SILENCE:
        return f"{_VERBS[step.verb]}: silence{_silent(step)}."
    event = step.event.rpartition("#")[2]
    parts = [f"{_VERBS[step.verb]}: {_counted(step, event)}"]
    if step.where:
        parts.append("whose " + listed([condition_in_words(c) for c in step.where], "and"))
    if step.window is not None:
        parts.append(window_in_words(step.window))
    return f"{', '.join(parts)}. It is called `{step.name}`."


def _counted(step: Step, event: str) -> str:
    count = step.count
    if count is None:
        return f"the {step.pick} sighting of `{event}`"
    within = f" within {format_duration(count.span_ns)}" if count.span_ns is not None else ""
    if count.distinct is not None:
        return f"sightings of `{event}` with at least {count.least} different `{count.distinct}`{within}"
    return f"at least {count.least} sightings of `{event}`{within}"


def _silent(step: Step) -> str:
    who = "".join(f" of {expression_text(c.left)} {_value(c)}" for c in step.where)
    start = step.window.lo if step.window is not None else None
    after = f" from {anchor_in_words(start)} on" if start is not None else ""
    return f"{who} for {format_duration(step.duration or 0)}{after}"


def condition_in_words(condition: Condition) -> str:
    """Return what a condition asks for."""
    if isinstance(condition.right, Constant) and condition.right.base == "bool":  # a predicate
        return f"`{expression_text(condition.left)}` holds"
    return f"`{expression_text(condition.left)}` {_OPERATORS[condition.operator]} {_value(condition)}"


def _value(condition: Condition) -> str:
    return f"`{expression_text(condition.right)}`"


def window_in_words(window: Window) -> str:
    """Return when the sighting lies."""
    what = "seen" if window.moment == "time" else f"whose `{window.moment}` is"
    if window.lo is None and window.hi is not None:
        return f"{what} not after {anchor_in_words(window.hi)}"
    if window.hi is None and window.lo is not None:
        return f"{what} not before {anchor_in_words(window.lo)}"
    if window.lo is None or window.hi is None:
        return f"{what} at any time"
    return f"{what} between {anchor_in_words(window.lo)} and {anchor_in_words(window.hi)}"


def anchor_in_words(anchor: Anchor) -> str:
    """Return an instant: how far from which step."""
    fixed = [(sign, amount) for sign, amount in anchor.terms if isinstance(amount, int)]
    if len(fixed) == 1 == len(anchor.terms):
        sign, amount = fixed[0]
        base = anchor_text(Anchor(anchor.step, anchor.moment))
        return f"{format_duration(amount)} {'after' if sign > 0 else 'before'} `{base}`"
    return f"`{anchor_text(anchor)}`"
