"""Advice about the steps of a rule: what they ask of clocks, and what they ask in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from denpex_rules.clock import SECOND, format_duration
from denpex_rules.errors import Diagnostic, Edit, Patch
from denpex_rules.notation import condition_text
from denpex_rules.rule import Condition, Constant, Path, Rule, Step
from denpex_rules.usage import advice, parts

CLOCK: Final = SECOND  # c10d, syslog and most launchers tell whole seconds
SKEW: Final = 5 * SECOND  # between the clocks of two hosts, unless a scan is told better
_SKEW: Final = format_duration(SKEW)


def lint_steps(rule: Rule) -> Iterator[Diagnostic]:
    """Yield advice about the steps of a rule."""
    for step in rule.steps:
        yield from _closeness(step)
        yield from _idle(step)
    if rule.trigger.pick == "last":
        message = f"the trigger `{rule.trigger.name}` keeps the last sighting, which hides the one that came first"
        yield advice("L0120", message, rule.trigger.span, "leave `last` out")
    for step in rule.required[1:]:
        if step.window is None and not any(s.window and _mentions(s, step.name) for s in rule.required):
            message = f"step `{step.name}` is required, and nothing says in which order with the trigger"
            yield advice("L0128", message, step.span, f"say `after {rule.trigger.name}` or `before {rule.trigger.name}`")


def _mentions(step: Step, name: str) -> bool:
    window = step.window
    return window is not None and any(anchor is not None and anchor.step == name for anchor in (window.lo, window.hi))


# ------------------------------------------------------------------ clocks


def _closeness(step: Step) -> Iterator[Diagnostic]:
    """Yield advice where a step asks for less time than stamps can tell apart; a window of no time asks for the same record."""
    count = step.count.span_ns if step.count else None
    for what, width in (("counts within", count), ("asks for silence of", step.duration), ("has a window of", _width(step))):
        if width is not None and 0 < width < CLOCK:
            message = f"step `{step.name}` {what} {format_duration(width)}, but many logs tell whole seconds only"
            yield advice("L0107", message, step.span, "allow for at least 1s")
    elsewhere = any(c.operator == "!=" and isinstance(c.left, Path) and c.left == Path("host") for c in step.where)
    width = _width(step)
    if elsewhere and width is not None and CLOCK <= width < 2 * SKEW:
        message = f"step `{step.name}` has a window of {format_duration(width)} on another host, whose clock may be {_SKEW} off"
        yield advice("L0107", message, step.span, f"no order is sure in less than {format_duration(2 * SKEW)}")


def _width(step: Step) -> int | None:
    """Return how long a step's window is, where one anchor bounds both its sides with fixed terms."""
    window = step.window
    if window is None or window.lo is None or window.hi is None:
        return None
    lo, hi = window.lo, window.hi
    terms = [amount for _, amount in (*lo.terms, *hi.terms)]
    if (lo.step, lo.moment) != (hi.step, hi.moment) or not all(isinstance(amount, int) for amount in terms):
        return None
    return sum(sign * int(str(amount)) for sign, amount in hi.terms) - sum(sign * int(str(amount)) for sign, amount in lo.terms)


# ------------------------------------------------------------------ in vain


def _idle(step: Step) -> Iterator[Diagnostic]:
    count = step.count
    if count is not None and count.least == 1 and count.distinct is None:
        patch = Patch("remove the count", (Edit(count.span, ""),), safe=True)
        message = f"step `{step.name}` counts to one, which every step does"
        yield advice("L0121", message, count.span, "leave the count out", patch)
    for condition, times in Counter(step.where).items():
        if times > 1:
            message = f"step `{step.name}` asks {times} times for `{condition_text(condition)}`"
            yield advice("L0122", message, condition.span, "ask once")
        if _foregone(condition):
            message = f"`{condition_text(condition)}` asks nothing of the log: it is always the same"
            yield advice("L0122", message, condition.span, "leave it out, or name a field of another step")


def _foregone(condition: Condition) -> bool:
    """Say whether a condition compares a value with itself, or constants with each other."""
    sides = (condition.left, condition.right)
    constant = all(isinstance(p, Constant) for side in sides for p in parts(side) if isinstance(p, Path | Constant))
    return condition.left == condition.right or (constant and not any(hasattr(side, "function") for side in sides))
