"""What the lines of each clock say about what several hosts did together: steps of the job, communicators, rendezvous, waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from attrs import define, field, frozen

from denpex_rules.calendar import ClockKey
from denpex_rules.clock import MAX, MIN, Frame, Instant
from denpex_rules.sighting import Emitter, Sighting
from denpex_rules.timeline import Timeline

COMES: Final = "lib.meeting#comes"  # the event of a rank that joins the set-up of a communicator
LEAVES: Final = "lib.meeting#leaves"  # and of one that is through
JOINS: Final = "lib.meeting#joins"  # the event of an agent that joins a round of the rendezvous
JOINED: Final = "lib.meeting#joined"  # and of one that learns what it came to
LAST: Final = 200  # steps of a clock that are compared
ROUND: Final = "round"
COMMUNICATOR: Final = "communicator"

Meeting = tuple[object, ...]  # what its stamps are compared by, a round or a communicator, and what tells it from others
Step = tuple[Frame, str, int]  # what its stamps are compared by, the event of the line, the step's number


@frozen
class Span:
    """When the lines of one clock about one step were written."""

    first: int  # the lower end of the first instant
    earliest: int  # the smallest upper end
    latest: int  # the largest lower end


@define
class Host:
    """One clock and what it stamped: lines of ranks about steps, and how they came to meetings and left them (ns)."""

    key: ClockKey
    ranks: set[int | None] = field(factory=set)
    steps: dict[Step, Span] = field(factory=dict)
    comes: dict[Meeting, int] = field(factory=dict)  # the lower end of the last instant at which one came
    leaves: dict[Meeting, int] = field(factory=dict)  # the upper end of the first instant at which one left

    def beside(self, other: Host) -> bool:
        """Whether both hosts certainly ran ranks of one job at one time: all ranks are known, and none is on both."""
        return None not in self.ranks | other.ranks and not self.ranks & other.ranks


def hosts_of(timeline: Timeline, progress: Iterable[str]) -> Iterable[Host]:
    """Return the clocks that stamped lines about steps and meetings.

    Args:
        timeline: what was read.
        progress: ids of the events that show a job's progress, with the number of the `step`.
    """
    hosts: dict[ClockKey, Host] = {}
    _take_steps(hosts, timeline, progress)
    for key, meeting, came, left in (*_communicators(timeline), *_rounds(timeline)):
        host = hosts.setdefault(key, Host(key))
        if came is not None:
            host.comes[meeting] = max(host.comes.get(meeting, came), came)
        if left is not None:
            host.leaves[meeting] = min(host.leaves.get(meeting, left), left)
    return hosts.values()


_Presence = tuple[ClockKey, Meeting, int | None, int | None]  # who, where, when one came at the earliest and left at the latest


def _communicators(timeline: Timeline) -> Iterator[_Presence]:
    for event in timeline.events:
        if event.endswith((COMES, LEAVES)):
            for s in timeline.of(event):
                if s.actor.host is not None and _is_dated(s.instant):
                    meeting = (s.instant.frame, COMMUNICATOR, s.fields.get("meeting"))
                    came = event.endswith(COMES)
                    yield (s.actor.host, s.instant.clock), meeting, *((s.instant.lo, None) if came else (None, s.instant.hi))


def _rounds(timeline: Timeline) -> Iterator[_Presence]:
    """Yield for each agent that learned what a round came to when it joined and when it learned it."""
    lines = [s for event in timeline.events if event.endswith((JOINS, JOINED)) for s in timeline.of(event)]
    joins: dict[Emitter, Sighting] = {}
    for s in sorted(lines, key=lambda s: (s.source, s.emitter.label, s.ordinal)):
        if s.event.endswith(JOINS):
            joins[s.emitter] = s
            continue
        began = joins.pop(s.emitter, None)
        if began is not None and s.actor.host is not None and s.instant.frame == began.instant.frame and _is_dated(s.instant):
            meeting = (s.instant.frame, ROUND, *(s.fields.get(name) for name in ("round", "address", "port")))
            if _is_dated(began.instant):
                yield (s.actor.host, s.instant.clock), meeting, began.instant.lo, s.instant.hi


def _take_steps(hosts: dict[ClockKey, Host], timeline: Timeline, progress: Iterable[str]) -> None:
    """Take the lines about the last steps, without steps that one emitter counted twice or a host repeated."""
    seen: set[tuple[object, Step]] = set()
    twice: set[tuple[ClockKey, Step]] = set()
    for event in progress:
        for s in timeline.of(event):
            number, host, at = s.fields.get("step"), s.actor.host, s.instant
            if host is None or not isinstance(number, int) or not _is_dated(at):
                continue
            key, step = (host, at.clock), (at.frame, event, number)
            if (s.emitter, step) in seen:
                twice.add((key, step))
            seen.add((s.emitter, step))
            one = hosts.setdefault(key, Host(key))
            one.ranks.add(s.actor.rank)
            span = one.steps.get(step, Span(at.lo, at.hi, at.lo))
            one.steps[step] = Span(min(span.first, at.lo), min(span.earliest, at.hi), max(span.latest, at.lo))
    for one in hosts.values():
        steps = {step: span for step, span in one.steps.items() if (one.key, step) not in twice}
        repeated = {k for a, b in following_steps(steps, steps) if steps[a].latest > steps[b].earliest for k in (a, b)}
        kept = sorted((span.first, step) for step, span in steps.items() if step not in repeated)[-LAST:]
        one.steps = {step: steps[step] for _, step in kept}


def following_steps(one: Mapping[Step, Span], other: Mapping[Step, Span]) -> list[tuple[Step, Step]]:
    """Return the steps that both have, each with the next one of the same event."""
    return [(a, b) for a, b in pairwise(sorted(one.keys() & other.keys())) if a[:2] == b[:2]]


def wait_of(sighting: Sighting) -> tuple[int, int] | None:
    """Return when a rank began to wait in the collective whose limit a line reports."""
    ran, at = sighting.fields.get("ran"), sighting.instant
    if not isinstance(ran, int) or sighting.fields.get("seq") is None or not _is_dated(at):
        return None
    return at.lo - ran, at.hi - ran


def _is_dated(instant: Instant) -> bool:
    """Whether both ends of an instant are known on the axis of days."""
    return instant.clock != "monotonic" and instant.year and instant.lo > MIN and instant.hi < MAX
