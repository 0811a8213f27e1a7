"""Who spoke and when: actors as the topology joins them, and instants on the common axis, for all that the scan half read.

Lines of one process and sightings of one record have their actor and their instant in common, so each is worked out once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from denpex_rules.calendar import Resolver
from denpex_rules.clock import Instant
from denpex_rules.rule import RESTART, Kind
from denpex_rules.sighting import Activity, Actor, Dropped, Emitter, ErrorLine, Sighting, SourceCoverage, by_line
from denpex_rules.topology import Topology, subject_of

# Rank and agent logs of a job are collected in one go, so the last line of any of them shows how far all of them reach.
COLLECTED: Final[frozenset[Kind]] = frozenset({"rank", "agent"})


Stream = tuple[str, str | None]  # a source and a label in it; None: of any emitter
Place = Callable[[str, Dropped], Instant]


class Resolution:
    """Resolves one collection.

    Args:
        topology: who is who.
        resolver: what stamps mean.
        job: the job that every source belongs to, when the caller knows it.
    """

    def __init__(self, topology: Topology, resolver: Resolver, job: str | None) -> None:
        self._topology = topology
        self._resolver = resolver
        self._job = job
        self._printers: dict[tuple[Emitter, Actor], tuple[Actor, Actor]] = {}
        self._subjects: dict[tuple[Emitter, Actor], Actor] = {}
        self._instants: dict[tuple[Instant, str, str | None], Instant] = {}

    def sightings(self, sightings: Iterable[Sighting]) -> list[Sighting]:
        """Return sightings of whom their lines name, else of who printed them."""
        found = []
        for together in by_line(sightings):
            emitter = together[0].emitter
            printer, own = self._printer(emitter, together[0].actor)
            instant = self.instant(together[0].instant, emitter.source, printer.host)
            for sighting in together:
                fields = sighting.fields
                named = subject_of(printer, fields, sighting.kind) if fields else printer
                subject = own if named is printer else self._subject(emitter, named)
                found.append(sighting.placed(instant, subject))
        return found

    def error(self, error: ErrorLine) -> ErrorLine:
        """Return an error record of who printed it."""
        actor, _ = self._printer(error.emitter, error.actor)
        return evolve(error, actor=actor, instant=self.instant(error.instant, error.emitter.source, actor.host))

    def activity(self, activity: Activity) -> Activity:
        """Return an activity with its runs on the common axis."""
        actor, source, frame = self._subject(activity.emitter, activity.actor), activity.emitter.source, activity.frame
        at = [self._resolver.resolve(frame.bounded(lo, hi), source, actor.host) for lo, hi in activity.runs]
        runs = tuple((i.lo, i.hi) for i in at)
        return activity.placed(self.instant(frame, source, actor.host), actor, runs)

    def losses(self, activities: Iterable[Activity]) -> Place:
        """Return what puts the instants of what was dropped on the common axis; `activities` are resolved already."""
        hosts = {(a.emitter.source, a.emitter.label): a.actor.host for a in activities}
        return lambda source, lost: self.instant(lost.instant, source, hosts.get((source, lost.label or "")))

    def instant(self, instant: Instant, source: str, host: str | None) -> Instant:
        """Return an instant that stands in a source and was printed on a host on the common axis."""
        key = instant, source, host
        found = self._instants.get(key)
        if found is None:
            found = self._instants[key] = self._resolver.resolve(instant, source, host)
        return found

    def _printer(self, emitter: Emitter, actor: Actor) -> tuple[Actor, Actor]:
        """Return who printed lines of an emitter that show this actor, and whom they are about where they name nobody."""
        key = emitter, actor
        found = self._printers.get(key)
        if found is None:
            printer = self._topology.resolve(actor, emitter)
            found = self._printers[key] = printer, self._subject(emitter, printer)
        return found

    def _subject(self, emitter: Emitter, actor: Actor) -> Actor:
        """Return whom lines of an emitter that name this actor are about."""
        key = emitter, actor
        found = self._subjects.get(key)
        if found is None:
            found = self._topology.resolve(actor, emitter)
            found = self._subjects[key] = found if self._job is None else evolve(found, job=self._job)
        return found


class Losses:
    """What was dropped of a collection, with its instants on the common axis: those of an event when it is asked for."""

    def __init__(self, sources: Iterable[SourceCoverage], place: Place) -> None:
        """Take what the sources dropped; `place` puts an instant on the common axis."""
        self._place = place
        self._dropped: dict[str, list[tuple[str, Dropped]]] = defaultdict(list)
        for source in sources:
            for dropped in source.dropped:
                self._dropped[dropped.event].append((source.source, dropped))
        self._found: dict[str, dict[Stream, list[Instant]]] = {}

    def of(self, event: str) -> Mapping[Stream, Sequence[Instant]]:
        """Return what the dropped sightings of an event lie in, by their emitters."""
        found = self._found.get(event)
        if found is None:
            found = self._found[event] = defaultdict(list)
            for source, dropped in self._dropped.get(event, ()):
                found[source, dropped.label].append(self._place(source, dropped))
        return found


def as_it_is(source: str, dropped: Dropped) -> Instant:
    """Return the instant of what was dropped, where it is on the common axis already."""
    del source
    return dropped.instant


def in_attempts(sightings: Sequence[Sighting]) -> Sequence[Sighting]:
    """Give what a launcher's console shows the attempt that it is of: the launcher says when it starts the next one.

    A restart tells its number by the attempts that are left. Only ranks and the launcher itself have attempts.
    """
    restarts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for sighting in sightings:
        if sighting.event.endswith(RESTART):
            left, most = sighting.fields.get("left"), sighting.fields.get("all")
            if isinstance(left, int) and isinstance(most, int) and left <= most:
                restarts[sighting.source].append((sighting.line, most - left + 1))
    if not restarts:
        return sightings

    def placed(sighting: Sighting) -> Sighting:
        turns = restarts.get(sighting.source)
        if not turns or sighting.actor.attempt is not None or (sighting.kind or "rank") not in COLLECTED:
            return sighting
        begun = bisect_left(turns, sighting.line, key=lambda turn: turn[0])
        attempt = turns[begun - 1][1] if begun else turns[0][1] - 1
        return evolve(sighting, actor=evolve(sighting.actor, attempt=attempt))

    for turns in restarts.values():
        turns.sort()
    return [placed(s) for s in sightings]
