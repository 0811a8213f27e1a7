"""Cause over symptom: which finding explains which. `causes` in a rule is the only relation between findings.

A cause explains a symptom when it does not come after the start of the stall, both are of one job, the symptom lies within the
cause's span, and the job made no progress in between. A cause whose order to the symptom can't be told explains it all the same,
as likely: nothing else may then be concluded from the order. Where each of the two may cause the other, the one that names
more explains the one that names less.

Two rules may see one fault from two sides (the kernel's Xid and the process's own CUDA error). Findings of one class that name
no different rank, host or device and lie close together are one fault: the one that names more stands for both.

What is explained accuses nobody whom its root does not: an echo names the device that it reached. Such accusations become
candidates; where the root names nobody, because a stop or its own words name nobody, only a stop silences them.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import Factory, define, evolve, frozen

from denpex_rules.blame import Finding
from denpex_rules.clock import MAX, MIN, MINUTE, SECOND, Instant, Order, format_duration
from denpex_rules.finding import Suspect
from denpex_rules.series import begin
from denpex_rules.sighting import Sighting
from denpex_rules.timeline import Point, Timeline, point_of

# Peers enter a collective up to a step before the fault that keeps one of them from joining it.
SLACK = MINUTE
# A handler logs that something failed a moment before it logs what failed.
ECHO = 5 * SECOND
# Two sides of one fault are logged within this time of each other.
TWICE = 2 * MINUTE


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


def relate(findings: Iterable[Finding], timeline: Timeline, progress: frozenset[str], symptoms: frozenset[str]) -> list[Node]:
    """Return the root findings, each with what it explains, in report order.

    Args:
        findings: all findings of one collection.
        timeline: where progress between cause and symptom is looked for.
        progress: ids of the events that show a job's progress.
        symptoms: the classes that are never causes.
    """
    ordered = sorted(findings, key=order_key)
    parents = _seen_twice(ordered)
    causes = _by_effect(ordered)
    for index, symptom in enumerate(ordered):
        if index in parents:
            continue
        links = [
            _Link(i, truth is Order.BEFORE)
            for i in causes.get(symptom.rule.cls, ())
            if i != index and isinstance(truth := relation(ordered[i], symptom, timeline, progress, symptoms), Order)
            if truth is Order.BEFORE or not _rather(relation(symptom, ordered[i], timeline, progress, symptoms), index, i, ordered)
        ]
        usable = [link for link in links if not _descends(link.cause, index, parents)]
        if usable:
            parents[index] = min(usable, key=lambda link: link.key(ordered))
    nodes = [Node(f) for f in ordered]
    for index, link in sorted(parents.items()):
        nodes[index].certain = link.certain
        nodes[link.cause].explains.append(nodes[index])
    roots = [node for index, node in enumerate(nodes) if index not in parents]
    for root in roots:
        _name(root)
        _silence(root, root.finding)
    return roots


def _by_effect(findings: Sequence[Finding]) -> Mapping[str, list[int]]:
    """Return for each class the findings of rules that may cause it."""
    found: dict[str, list[int]] = defaultdict(list)
    for index, finding in enumerate(findings):
        for effect in set(finding.rule.causes):
            found[effect].append(index)
    return found


def _name(root: Node) -> None:
    """Let a root whose lines tell no actor take over whom the findings that it directly explains agree on, as likely."""
    if not root.finding.anonymous:
        return
    named = [(child.finding.rule.id, s) for child in root.explains for s in child.finding.initiators]
    if named and all(_compatible(a, b) for _, a in named for _, b in named):
        rule, suspect = max(named, key=lambda item: sum(part is not None for part in (item[1].rank, item[1].host, item[1].device)))
        lifted = evolve(suspect, certainty="likely", reasons=(*suspect.reasons, f"named by {rule}, which this explains"))
        root.finding = evolve(root.finding, initiators=(lifted,))


def _silence(node: Node, root: Finding) -> None:
    """Turn the accusations below a root that contradict it into candidates."""
    for child in node.explains:
        own = child.finding.initiators
        kept = tuple(s for s in own if any(_compatible(s, r) for r in root.initiators))
        if root.initiators or root.rule.level == "stop":
            reason = f"explained by {root.rule.id}"
            lost = tuple(evolve(s, certainty="undecided", reasons=(*s.reasons, reason)) for s in own if s not in kept)
            child.finding = evolve(child.finding, initiators=kept, candidates=(*child.finding.candidates, *lost))
        _silence(child, root)


def _seen_twice(findings: Sequence[Finding]) -> dict[int, _Link]:
    """Return for each finding that is another one's fault seen again, which one stands for both."""
    ranked = sorted(range(len(findings)), key=lambda i: (-_named(findings[i]), i))
    found: dict[int, _Link] = {}
    before: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))  # by class and rule: place, index
    for place, index in enumerate(ranked):
        rule = findings[index].rule
        alike = before[rule.cls]
        for _, other in heapq.merge(*(others for name, others in alike.items() if name != rule.id)):
            if _one_fault(findings[other], findings[index]):
                found[index] = _Link(other, certain=False)
                break
        else:
            alike[rule.id].append((place, index))
    return found


def _named(finding: Finding) -> int:
    return max((sum(part is not None for part in (s.rank, s.host, s.device)) for s in finding.initiators), default=0)


def _one_fault(a: Finding, b: Finding) -> bool:
    """Whether two findings of different rules may be one fault: same class, one actor as far as both name it, close in time."""
    if a.rule.cls != b.rule.cls or a.rule.id == b.rule.id or not a.initiators or not b.initiators:
        return False
    if any(None not in pair and pair[0] != pair[1] for pair in ((a.job, b.job), (a.attempt, b.attempt))):
        return False
    pairs = [(x, y) for x in a.initiators for y in b.initiators]
    if not all(_compatible(x, y) for x, y in pairs):
        return False
    one, two = a.began.instant, b.began.instant
    if not one.comparable(two) or not one.known or not two.known:
        return True
    return one.lo - two.hi <= TWICE and two.lo - one.hi <= TWICE


def _compatible(a: Suspect, b: Suspect) -> bool:
    parts = ((a.rank, b.rank), (a.host, b.host), (a.device, b.device))
    return all(x is None or y is None or x == y for x, y in parts)


def _rather(back: Order | str, symptom: int, cause: int, findings: Sequence[Finding]) -> bool:
    """Whether the other way round is more likely: it is certain, or as open, and its cause names more or stands first."""
    if isinstance(back, str):
        return False
    return back is Order.BEFORE or (-_named(findings[symptom]), symptom) < (-_named(findings[cause]), cause)


def _descends(node: int, ancestor: int, parents: dict[int, _Link]) -> bool:
    """Whether `node` is already explained, directly or not, by `ancestor`: a relation back would close a circle."""
    while node in parents:
        node = parents[node].cause
        if node == ancestor:
            return True
    return False


def relation(
    cause: Finding, symptom: Finding, timeline: Timeline, progress: frozenset[str], symptoms: frozenset[str]
) -> Order | str:
    """Return BEFORE when the cause certainly came first, UNCERTAIN when that can't be told, else why they are not related."""
    if symptom.rule.cls not in cause.rule.causes:
        return f"{cause.rule.id} is not known to cause {symptom.rule.cls}"
    if cause.job is not None and symptom.job is not None and cause.job != symptom.job:
        return f"it is of job {cause.job}, the other of job {symptom.job}"
    if cause.attempt is not None and symptom.attempt is not None and cause.attempt != symptom.attempt:
        return f"it is of attempt {cause.attempt}, the other of attempt {symptom.attempt}"
    start, slack = (_start(symptom, timeline), SLACK) if symptom.rule.cls in symptoms else (symptom.began, ECHO)
    began = _began(cause, timeline)
    order = timeline.order(began, start)
    if order is Order.AFTER and timeline.order(began.shift(-slack), start) is Order.AFTER:
        return "it came later than what it would have to explain"
    if _too_far(began.instant, start.instant, cause.rule.span_ns):
        return f"it came more than {format_duration(cause.rule.span_ns)} earlier"
    if _progressed(cause.began, start, timeline, progress):
        return "the job made progress in between"
    return Order.BEFORE if order is Order.BEFORE else Order.UNCERTAIN


def _start(symptom: Finding, timeline: Timeline) -> Point:
    """Return when a symptom's stall started: its onset where the rule tells one, else its first sighting."""
    if symptom.onset is None or not symptom.rule.onset:
        return symptom.began
    return Point(symptom.onset, timeline.stamped(symptom.began))


def _began(cause: Finding, timeline: Timeline) -> Point:
    """Return when a cause began: its first sighting, or its onset where that is earlier (what was reported late)."""
    onset = cause.onset
    if onset is None or not onset.comparable(cause.began.instant) or onset.lo >= cause.began.instant.lo:
        return cause.began
    return Point(onset, timeline.stamped(cause.began), rank=cause.began.rank)


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
        for s in _between(after, start, timeline, event)
    )


def _between(after: Point, before: Point, timeline: Timeline, event: str) -> Iterator[Sighting]:
    """Yield all sightings of an event that may be certainly after one point and before the other, the likeliest first."""
    found = timeline.by_clock(event).get(after.instant.frame, ())
    if after.instant.comparable(before.instant):
        for margin in (timeline.bound, 0):
            first = bisect_right(found, after.instant.hi + margin, key=begin)
            yield from found[first : bisect_left(found, before.instant.lo - margin, key=begin)]
    if before.emitter is not None and before.ordinal is not None:  # line order tells more than time
        yield from timeline.by_emitter(event).get(before.emitter, ())
