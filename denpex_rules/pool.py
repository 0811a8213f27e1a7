"""Who takes part in a match: the sightings of one key and attempt, and the episodes of its trigger (specification 4.1 and 4.7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from attrs import Factory, define

from denpex_rules.attribution import Bound
from denpex_rules.rule import Key, Rule
from denpex_rules.sighting import Emitter, Sighting
from denpex_rules.timeline import Timeline
from denpex_rules.values import Value

KeyValue = tuple[object, ...]


@define
class Pool:
    """The sightings that take part under one key; looked up by event, and by event and field value.

    `attempts`: whether the rule's sightings name several attempts; the triggers are then those that name exactly `attempt`.
    """

    timeline: Timeline
    fields: tuple[tuple[Key, object], ...]
    emitter: Emitter | None
    attempts: bool = False
    attempt: int | None = None
    _by_event: dict[str, Bound] = Factory(dict)
    _by_field: dict[tuple[str, str], dict[object, list[Sighting]]] = Factory(dict)

    def of(self, event: str) -> Bound:
        """Return an event's sightings under this key, in canonical order."""
        if event not in self._by_event:
            self._by_event[event] = tuple(s for s in self._candidates(event) if self._admits(s))
        return self._by_event[event]

    def _candidates(self, event: str) -> Iterable[Sighting]:
        """Return an event's sightings that one part of the key leaves."""
        if self.emitter is not None:
            return self.timeline.by_emitter(event).get(self.emitter, ())
        named = next(((key, value) for key, value in self.fields if key != "job"), None)
        return self.timeline.of(event) if named is None else self.timeline.by_field(event, named[0]).get(named[1], ())

    def triggers(self, event: str) -> Bound:
        """Return the sightings of the trigger's event that start a match under this key, in canonical order."""
        found = self.of(event)
        return tuple(s for s in found if s.actor.attempt == self.attempt) if self.attempts else found

    def _admits(self, sighting: Sighting) -> bool:
        if self.attempt is not None and sighting.actor.attempt not in {None, self.attempt}:
            return False
        if self.emitter is not None and sighting.emitter != self.emitter:
            return False
        return all(_fits(key, value, sighting) for key, value in self.fields)

    def where(self, event: str, name: str, value: Value) -> Bound:
        """Return an event's sightings whose field is `value` or unknown, in canonical order."""
        table = self._by_field.get((event, name))
        if table is None:
            table = defaultdict(list)
            for sighting in self.of(event):
                table[sighting.told(name)].append(sighting)
            self._by_field[event, name] = table
        fitting, unknown = table.get(value, []), table.get(None, [])
        if not unknown:
            return tuple(fitting)
        wanted = {id(s) for s in (*fitting, *unknown)}
        return tuple(s for s in self.of(event) if id(s) in wanted)


def _fits(key: Key, value: object, sighting: Sighting) -> bool:
    own = sighting.told(key)
    return own == value or (key == "job" and own is None)


def pools(rule: Rule, timeline: Timeline) -> Iterator[tuple[KeyValue, Pool]]:
    """Yield each key of a rule with the sightings that take part under it, one attempt after the other, in a stable order."""
    used = [s for step in rule.steps for s in timeline.of(step.event)]
    attempts = len({s.actor.attempt for s in used} - {None}) > 1
    keys: dict[tuple[KeyValue, int | None], tuple[tuple[tuple[Key, object], ...], Emitter | None]] = {}
    jobs = _jobs(rule, used)
    for trigger in timeline.of(rule.trigger.event):
        # A key is the actor's field, or the capture that overrides it (`step.rank` means the same).
        own: tuple[tuple[Key, object], ...] = tuple((key, trigger.told(key)) for key in rule.keys)
        lone = trigger.emitter if any(value is None and key != "job" for key, value in own) else None
        others = tuple(value for key, value in own if key != "job")
        for job in sorted(jobs.get((others, lone), ())) or (None,):
            if trigger.actor.job not in {None, job}:
                continue
            fields = tuple((key, job if key == "job" else value) for key, value in own)
            value = tuple(value for _, value in fields) + ((lone,) if lone else ())
            keys.setdefault((value, trigger.actor.attempt if attempts else None), (fields, lone))
    for (value, attempt), (fields, lone) in sorted(keys.items(), key=lambda item: _order(*item[0])):
        yield value, Pool(timeline, fields, lone, attempts, attempt)


def _order(value: KeyValue, attempt: int | None) -> tuple[object, ...]:
    return (tuple(map(str, value)), attempt is not None, attempt or 0)


def _jobs(rule: Rule, used: Iterable[Sighting]) -> Mapping[tuple[KeyValue, Emitter | None], set[str]]:
    """Return the jobs that sightings name, by their other key fields: those of each emitter, and under None those of all."""
    found: dict[tuple[KeyValue, Emitter | None], set[str]] = defaultdict(set)
    for sighting in used:
        job = sighting.actor.job
        if job is not None:
            others = tuple(sighting.told(key) for key in rule.keys if key != "job")
            found[others, None].add(job)
            found[others, sighting.emitter].add(job)
    return found


def episodes_of(rule: Rule, triggers: Bound) -> list[Bound]:
    """Return a trigger's sightings cut where the rule's quiet time passed without one; each clock has episodes of its own."""
    found: dict[object, list[list[Sighting]]] = {}
    latest: dict[object, int] = {}
    for sighting in triggers:
        instant = sighting.instant
        frame = instant.frame if instant.known else None
        started = found.setdefault(frame, [])
        if not started or (instant.known and instant.lo > latest[frame] + rule.quiet_ns):
            started.append([])
            latest[frame] = instant.hi
        started[-1].append(sighting)
        latest[frame] = max(latest[frame], instant.hi)
    return [tuple(episode) for started in found.values() for episode in started]
