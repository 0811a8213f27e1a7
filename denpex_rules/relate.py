"""Cause over symptom: which finding explains which. `causes` in a rule is the only relation between findings.

A cause explains a symptom when it does not come after the start of the stall, both are of one job, the symptom lies within the
cause's span, and the job made no progress in between. A cause whose order to the symptom can't be told explains it all the same,
as likely: nothing else may then be concluded from the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import Factory, define, frozen

from denpex_rules.blame import Finding
from denpex_rules.clock import MAX, MIN, MINUTE, Instant, Order
from denpex_rules.timeline import Point, Timeline, point_of

# Peers enter a collective up to a step before the fault that keeps one of them from joining it.
SLACK = MINUTE


@define
class Node:
    """A finding with the findings that it explains; `certain` is false where only the order could not be told."""

    finding: Finding
    explains: list[Node] = Factory(list)
    certain: bool = True


@frozen
class _Link:
    """A possible relation, with what decides between several: certain first, then the earliest cause."""

    cause: int
    certain: bool

    def key(self, findings: Sequence[Finding]) -> tuple[object, ...]:
        cause = findings[self.cause]
        return (cause.match.outcome != "confirmed", not self.certain, *order_key(cause))


def order_key(finding: Finding) -> tuple[object, ...]:
    """Return the order of findings in a report: by when they began, then by rule and evidence."""
    instant = finding.onset or finding.began.instant
    first = finding.evidence[0][1] if finding.evidence else None
    unknown = instant.lo == MIN
    return (unknown, instant.lo, finding.rule.qualified, first.text if first else "", str(finding.match.key))


def relate(findings: Iterable[Finding], timeline: Timeline, progress: frozenset[str]) -> list[Node]:
    """Return the root findings, each with what it explains, in report order.

    Args:
        findings: all findings of one collection.
        timeline: where progress between cause and symptom is looked for.
        progress: ids of the events that show a job's progress.
    """
    ordered = sorted(findings, key=order_key)
    parents: dict[int, _Link] = {}
    for index, symptom in enumerate(ordered):
        links = [
            _Link(i, truth is Order.BEFORE)
            for i, cause in enumerate(ordered)
            if i != index and (truth := _relation(cause, symptom, timeline, progress)) is not None
        ]
        usable = [link for link in links if not _descends(link.cause, index, parents)]
        if usable:
            parents[index] = min(usable, key=lambda link: link.key(ordered))
    nodes = [Node(f) for f in ordered]
    for index, link in sorted(parents.items()):
        nodes[index].certain = link.certain
        nodes[link.cause].explains.append(nodes[index])
    return [node for index, node in enumerate(nodes) if index not in parents]


def _descends(node: int, ancestor: int, parents: dict[int, _Link]) -> bool:
    """Whether `node` is already explained, directly or not, by `ancestor`: a relation back would close a circle."""
    while node in parents:
        node = parents[node].cause
        if node == ancestor:
            return True
    return False


def _relation(cause: Finding, symptom: Finding, timeline: Timeline, progress: frozenset[str]) -> Order | None:
    """Return BEFORE when the cause certainly came first, UNCERTAIN when that can't be told, None when they are not related."""
    if symptom.rule.cls not in cause.rule.causes:
        return None
    if cause.job is not None and symptom.job is not None and cause.job != symptom.job:
        return None
    start, began = _start(symptom), _began(cause)
    order = timeline.order(began, start)
    if order is Order.AFTER and timeline.order(began.shift(-SLACK), start) is Order.AFTER:
        return None
    if _too_far(began.instant, start.instant, cause.rule.span_ns):
        return None
    if _progressed(cause.began, start, timeline, progress):
        return None
    return Order.BEFORE if order is Order.BEFORE else Order.UNCERTAIN


def _start(symptom: Finding) -> Point:
    """Return when a symptom's stall started: its onset where the rule tells one, else its first sighting."""
    if symptom.onset is None or not symptom.rule.onset:
        return symptom.began
    return Point(symptom.onset, symptom.began.host)


def _began(cause: Finding) -> Point:
    """Return when a cause began: its first sighting, or its onset where that is earlier (what was reported late)."""
    onset = cause.onset
    if onset is None or not onset.comparable(cause.began.instant) or onset.lo >= cause.began.instant.lo:
        return cause.began
    return Point(onset, cause.began.host, rank=cause.began.rank)


def _too_far(cause: Instant, start: Instant, span_ns: int) -> bool:
    if not cause.comparable(start) or cause.hi == MAX or start.lo == MIN:
        return False
    return start.lo - cause.hi > span_ns


def _progressed(began: Point, start: Point, timeline: Timeline, progress: frozenset[str]) -> bool:
    """Whether the job certainly made progress after the cause (and its slack) and before the stall."""
    after = began.shift(SLACK)
    return any(
        timeline.order(after, point_of(s)) is Order.BEFORE and timeline.order(point_of(s), start) is Order.BEFORE
        for event in progress
        for s in timeline.of(event)
    )
