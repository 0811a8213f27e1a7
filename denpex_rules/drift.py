"""Clocks that disagree: the ranks of a job end a step together, so lines of two hosts about one step should carry one time.

Where they differ by a constant of more than the skew bound, the bound is too small, and nothing may be concluded from an order
that lies within that constant. Clocks are not corrected: a bound that is too wide leaves something undecided, a wrong
correction accuses an innocent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import import_module

from denpex_rules.clock import SECOND, format_duration
from denpex_rules.timeline import Timeline

_FEW = 3  # shared steps that tell a constant from chance
_STEADY = 2 * SECOND  # by how much the difference may vary
_MOST = 64  # hosts that are compared
_STATISTICS = "statistics"  # imported where hosts are compared

Steps = Mapping[tuple[str, int], int]


def widen(timeline: Timeline, progress: Iterable[str]) -> None:
    """Raise the skew bound to what the steps show, and note it.

    Args:
        timeline: the timeline whose bound may be too small.
        progress: ids of the events that show a job's progress, with the number of the `step`.
    """
    hosts = _steps(timeline, progress)
    names = sorted(hosts)
    worst, pair = 0, ("", "")
    for place, one in enumerate(names[:_MOST]):
        for other in names[place + 1 : _MOST]:
            apart = _apart(hosts[one], hosts[other])
            if apart > worst:
                worst, pair = apart, (one, other)
    if worst > timeline.skew:
        timeline.skew = worst + _STEADY
        shown = f"the clocks of {pair[0]} and {pair[1]} differ by {format_duration(worst)}, as lines about the same steps show"
        timeline.notes = (*timeline.notes, f"{shown}: orders within that are not used")


def _steps(timeline: Timeline, progress: Iterable[str]) -> dict[str, Steps]:
    """Return for each host when each step was first said to have ended, but for steps that one emitter counted twice."""
    found: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
    seen: set[tuple[object, ...]] = set()
    twice: set[tuple[str, tuple[str, int]]] = set()
    for event in progress:
        for s in timeline.of(event):
            number, host = s.fields.get("step"), s.actor.host
            if host is None or not isinstance(number, int) or not s.instant.known or not s.instant.year:
                continue
            step = (event, number)
            if (s.emitter, step) in seen:
                twice.add((host, step))
            seen.add((s.emitter, step))
            found[host][step] = min(found[host].get(step, s.instant.lo), s.instant.lo)
    return {host: {k: v for k, v in steps.items() if (host, k) not in twice} for host, steps in found.items()}


def _apart(one: Steps, other: Steps) -> int:
    """Return by how much two hosts' clocks differ: 0 where their common steps don't show a constant.

    A second attempt on other hosts repeats the steps later: then the two never ran at one time.
    """
    shared = sorted(one.keys() & other.keys())
    if len(shared) < _FEW:
        return 0
    mine, theirs = [one[k] for k in shared], [other[k] for k in shared]
    if max(mine) < min(theirs) or max(theirs) < min(mine):
        return 0
    differences = [b - a for a, b in zip(mine, theirs, strict=True)]
    median = import_module(_STATISTICS).median
    middle = int(median(differences))
    usual = int(median(abs(d - middle) for d in differences))
    return abs(middle) if usual <= _STEADY else 0
