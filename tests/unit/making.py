"""Short ways to make model objects in tests."""

from __future__ import annotations

from denpex_rules.clock import SECOND, UNKNOWN, Instant, parse_time
from denpex_rules.rule import Capture, Kind, Template
from denpex_rules.sighting import NOBODY, Activity, Actor, Emitter, Sighting, SourceCoverage
from denpex_rules.timeline import Timeline, assemble, presence_of
from denpex_rules.topology import Topology, build
from denpex_rules.values import Value


def template(text: str) -> Template:
    """Return the template of `literal {name:type} literal` (no escapes)."""
    pieces: list[str | Capture] = []
    for i, part in enumerate(text.replace("}", "{").split("{")):
        if i % 2:
            name, _, kind = part.partition(":")
            pieces.append(Capture(name, kind))
        elif part:
            pieces.append(part)
    return Template(tuple(pieces))


def at(text: str, until: str | None = None) -> Instant:
    """Return an instant of 2026-11-30 from "10:00:00" to `until` (the same by default)."""
    lo = parse_time(f"2026-11-30T{text}Z")
    return Instant(lo, parse_time(f"2026-11-30T{until}Z") if until else lo)


def sighting(
    event: str,
    when: Instant = UNKNOWN,
    *,
    source: str = "a.log",
    label: str = "",
    line: int = 1,
    actor: Actor = NOBODY,
    kind: Kind | None = None,
    text: str = "",
    **fields: Value,
) -> Sighting:
    """Return a sighting; its ordinal is its line."""
    return Sighting(event, Emitter(source, label), line, line, 0, 1, when, actor, fields, kind, None, text or event)


def activity(
    source: str,
    runs: list[tuple[str, str]],
    *,
    label: str = "",
    actor: Actor = NOBODY,
    kind: Kind | None = "rank",
    lines: int = 50,
    floor: int = SECOND,
) -> Activity:
    """Return an activity whose runs are given as pairs of times of 2026-11-30."""
    spans = tuple((at(lo).lo, at(hi).lo) for lo, hi in runs)
    frame = Instant(*spans[-1]) if spans else UNKNOWN
    return Activity(Emitter(source, label), actor, kind, lines, 0, floor, spans, frame)


def timeline(
    sightings: list[Sighting],
    activities: list[Activity],
    *,
    identities: frozenset[str] = frozenset(),
    skew: int = 5 * SECOND,
    topology: Topology | None = None,
) -> Timeline:
    """Return a timeline of resolved parts, with one source for each file that the activities name."""
    names = sorted({a.emitter.source for a in activities} | {s.source for s in sightings})
    sources = [SourceCoverage(n, activities=tuple(a for a in activities if a.emitter.source == n)) for n in names]
    joined = topology or build(sightings, activities, identities)
    return assemble(joined, skew, sightings, [presence_of(a) for a in activities], sources)
