"""The least time that a rule's required steps take together: windows that no time satisfies, or that outlast the span."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from denpex_rules.clock import format_duration
from denpex_rules.mistake import Mistakes
from denpex_rules.rule import Anchor, Step


def offset(anchor: Anchor) -> int | None:
    """Return the sum of an anchor's terms, None when one of them is read from a capture."""
    total = 0
    for sign, term in anchor.terms:
        if not isinstance(term, int):
            return None
        total += sign * term
    return total


def check_gaps(steps: Sequence[Step], span_ns: int, mistakes: Mistakes) -> None:
    """Report required steps whose minimum gaps add up to more than the rule's span, or that contradict each other.

    Each bound of a window on plain times says that one step is at least so long after another; the longest chain of these is
    the least time that the match takes.
    """
    required = [s for s in steps if s.verb == "require"]
    index = {s.name: i for i, s in enumerate(required)}
    least = [[0 if i == k else -sys.maxsize for k in range(len(required))] for i in range(len(required))]
    for i, step in enumerate(required):
        window = step.window
        if window is None or window.moment != "time":
            continue
        for anchor, sign in ((window.lo, 1), (window.hi, -1)):
            shift = offset(anchor) if anchor is not None and anchor.moment == "time" else None
            other = index.get(anchor.step) if anchor is not None else None
            if shift is not None and other is not None:
                early, late = (other, i) if sign > 0 else (i, other)
                least[early][late] = max(least[early][late], sign * shift)
    for k in range(len(required)):
        for i in range(len(required)):
            for j in range(len(required)):
                least[i][j] = max(least[i][j], least[i][k] + least[k][j])
    _report(required, least, span_ns, mistakes)


def _report(required: Sequence[Step], least: Sequence[Sequence[int]], span_ns: int, mistakes: Mistakes) -> None:
    """Report the first contradiction, else the first chain that is too long."""
    spans = [s.window.span if s.window is not None else s.span for s in required]
    for k in reversed(range(len(required))):
        if least[k][k] > 0:
            message = f"the windows of `{required[k].name}` contradict each other: no time satisfies all"
            mistakes.add("E0407", message, spans[k])
            return
    for k, step in enumerate(required):
        longest = max(row[k] for row in least)
        if longest > span_ns:
            message = f"`{step.name}` comes at least {format_duration(longest)} after another step"
            message += f", and the rule spans {format_duration(span_ns)}"
            mistakes.add("E0407", message, spans[k], "a longer `within`, or a shorter gap")
            return
