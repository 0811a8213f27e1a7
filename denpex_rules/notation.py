"""Rules in words: a step as the author would write it, with resolved numbers. Explanations, hovers and pages use it."""

from __future__ import annotations

from denpex_rules.clock import format_duration
from denpex_rules.rule import SILENCE, Anchor, Blame, Call, Condition, Constant, Expression, Path, Step, Window


def clause_text(step: Step) -> str:
    """Return a step in the rule language, in its canonical form."""
    event = SILENCE if step.event == SILENCE else step.event.rpartition("#")[2]
    parts: list[str] = [step.verb]
    if step.name != event:
        parts.append(f"{step.name} =")
    if step.pick == "last":
        parts.append("last")
    parts.append(event)
    if step.where:
        parts.append("where " + " and ".join(condition_text(c) for c in step.where))
    if step.count is not None:
        what = f"distinct {step.count.distinct}" if step.count.distinct else "count"
        span = f" in {format_duration(step.count.span_ns)}" if step.count.span_ns is not None else ""
        parts.append(f"{what} >= {step.count.least}{span}")
    if step.duration is not None:
        parts.append(f"for {format_duration(step.duration)}")
    if step.window is not None:
        parts.append(window_text(step.window))
    return " ".join(parts)


def condition_text(condition: Condition) -> str:
    """Return a condition in the rule language."""
    return f"{expression_text(condition.left)} {condition.operator} {expression_text(condition.right)}"


def expression_text(expression: Expression) -> str:
    """Return an expression in the rule language."""
    if isinstance(expression, Path):
        return f"{expression.name}.{expression.field}" if expression.field else expression.name
    if isinstance(expression, Call):
        return f"{expression.function}({', '.join(expression_text(a) for a in expression.args)})"
    return _constant_text(expression)


def _constant_text(constant: Constant) -> str:
    if constant.base == "duration" and isinstance(constant.value, int):
        return format_duration(constant.value)
    return f'"{constant.value}"' if isinstance(constant.value, str) else str(constant.value)


def window_text(window: Window) -> str:
    """Return a window in the rule language."""
    moment = "" if window.moment == "time" else f"{window.moment} "
    if window.lo is None and window.hi is not None:
        return f"{moment}before {anchor_text(window.hi)}"
    if window.hi is None and window.lo is not None:
        return f"{moment}after {anchor_text(window.lo)}"
    if window.lo is None or window.hi is None:
        return ""
    return f"{moment}between {anchor_text(window.lo)} and {anchor_text(window.hi)}"


def anchor_text(anchor: Anchor) -> str:
    """Return an anchor in the rule language."""
    base = anchor.step if anchor.moment == "time" else f"{anchor.step}.{anchor.moment}"
    terms = ""
    for sign, term in anchor.terms:
        shift = format_duration(term) if isinstance(term, int) else expression_text(term)
        terms += f" {'+' if sign > 0 else '-'} {shift}"
    return base + terms


def blame_text(blame: Blame) -> str:
    """Return one alternative of a rule's `blame` in the rule language."""
    parts = ["each"] if blame.each else []
    parts.append(", ".join(f"{role.role} {expression_text(role.value)}" for role in blame.roles) or "none")
    parts += ["likely"] if blame.roles and blame.certainty == "likely" else []
    parts += ["when " + " and ".join(blame.when)] if blame.when else []
    return " ".join(parts)
