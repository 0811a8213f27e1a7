"""Reads the conformance vectors: TOML files of rules, sightings and coverage beside the outcome that the specification asks for.

A file may give `events` that its vectors share. A vector has `says`, `spec` (a section of docs/explanation/semantics.md), `rule`
(the statements between the braces), and tables of one row a line:

    sightings:  event  time  file:line     attributes       a  10:00:05..10:00:06  r0:3  rank=0 host=node-01 ran=60000
    coverage:   kind   time,time  file     attributes       rank  09:00:00..10:30:00  r0  rank=0 lines=50 floor=1s truncated

A time is `HH:MM:SS[.fff]` of 2026-11-30 UTC, a range `..` of two, or `?` for none. Attributes are actor fields, captures, and
`label`, `text`, `clock`, `domain`, `year=unknown`; in coverage `lines`, `untimed`, `floor`, `merged`, `evicted`, `truncated`,
`dropped=event@time` (sightings of an event that were dropped of this emitter), and the kind `unknown`. All rows of one file in
coverage are one source. `expect` lists outcomes: `bind` names sightings by `file:line` (or `file[label]:line`), `clauses` names
those that are not true, `key` writes `-` for an unknown field; without `key` all of it is unknown.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from attrs import evolve, field, frozen

from case import Case, Outcome, Truth
from denpex_rules.clock import UNKNOWN, Instant, parse_duration, parse_time
from denpex_rules.library import load_text
from denpex_rules.rule import Event, Kind
from denpex_rules.sighting import Activity, Actor, Dropped, Emitter, Sighting, SourceCoverage
from denpex_rules.values import BUILTIN, Value

FOLDER: Final = Path(__file__).parent / "vectors"
TODAY: Final = "2026-11-30"
HEADER: Final = 'language 1\nrule vectors.case {{\n  title "vector"\n  class gpu.fell_off_bus\n{body}\n}}\n'
NUMBERS: Final = frozenset({"rank", "local_rank", "pid", "attempt"})


@frozen
class Vector:
    """One conformance vector; `name` is `file/says`."""

    name: str
    spec: str
    case: Case
    expect: tuple[Outcome, ...]
    places: Mapping[int, str] = field(factory=dict)

    def show(self, outcomes: list[Outcome]) -> list[dict[str, object]]:
        """Return outcomes in the words of the vector files, in an order of their own, so that two lists compare."""
        shown: list[dict[str, object]] = [
            {
                "key": list(o.key),
                "outcome": o.outcome,
                "bind": {step: sorted(self.places[i] for i in held) for step, held in o.bindings.items() if held},
                "clauses": {step: truth for step, truth in o.clauses.items() if truth != "true"},
                "rivals": o.rivals,
            }
            for o in outcomes
        ]
        return sorted(shown, key=repr)


def attributes(words: list[str]) -> dict[str, str]:
    """Return `name=value` words; a bare word is a flag."""
    return {name: value if equals else "yes" for name, equals, value in (w.partition("=") for w in words)}


def at(text: str) -> int:
    """Return a time of day in ns UTC."""
    return parse_time(f"{TODAY}T{text}Z")


def instant_of(text: str, options: dict[str, str]) -> Instant:
    """Return the instant that a table's time column stands for; takes the clock's attributes away."""
    clock, domain, year = options.pop("clock", "wall"), options.pop("domain", ""), options.pop("year", "known")
    if text == "?":
        return UNKNOWN
    lo, _, hi = text.partition("..")
    return Instant(at(lo), at(hi or lo), cast("Any", clock), domain, year == "known")


def actor_of(options: dict[str, str]) -> Actor:
    """Return the actor of a row; takes its attributes away."""
    names = ("rank", "local_rank", "host", "device", "pid", "job", "attempt")
    parts: dict[str, Any] = {n: int(options[n]) if n in NUMBERS else options[n] for n in names if n in options}
    for name in parts:
        options.pop(name)
    return Actor(**parts)


def sighting_of(row: str, events: Mapping[str, Event]) -> Sighting:
    """Return the sighting of one row."""
    name, time, place, *words = row.split()
    source, _, line = place.rpartition(":")
    options = attributes(words)
    label, text = options.pop("label", ""), options.pop("text", f"{name} {place}")
    instant, captures = instant_of(time, options), dict(events[name].captures)
    fields: dict[str, Value] = {}
    for capture in [c for c in captures if c in options]:
        value = BUILTIN[captures[capture]].parse(options.pop(capture))
        assert value is not None
        fields[capture] = value
    actor, number = actor_of(options), int(line)
    assert not options, f"unknown attributes in {row!r}: {options}"
    kinds = events[name].kinds
    kind = kinds[0] if kinds else None
    return Sighting(
        event=events[name].id,
        emitter=Emitter(source, label),
        ordinal=number,
        line=number,
        start=number * 100,
        end=number * 100 + 50,
        instant=instant,
        actor=actor,
        fields=fields,
        kind=kind,
        text=text,
    )


def sources_of(table: str, events: Mapping[str, Event]) -> tuple[SourceCoverage, ...]:
    """Return the coverage of a table, one source a file."""
    sources: dict[str, SourceCoverage] = {}
    for row in rows(table):
        kind, times, name, *words = row.split()
        options = attributes(words)
        frame = instant_of("?" if times == "?" else times.rpartition(",")[2], options)
        runs = [] if times == "?" else [instant_of(t, {}) for t in times.split(",")]
        source = sources.setdefault(name, SourceCoverage(name))
        source = evolve(
            source,
            truncated=source.truncated or "truncated" in options,
            merged=int(options.pop("merged", source.merged)),
            evicted=int(options.pop("evicted", source.evicted)),
        )
        options.pop("truncated", None)
        lost = options.pop("dropped", "")
        if lost:
            event, _, when = lost.partition("@")
            span = Dropped(events[event].id, options.get("label", ""), 1, instant_of(when, {}))
            source = evolve(source, evicted=source.evicted + 1, dropped=(*source.dropped, span))
        floor = parse_duration(options.pop("floor", "1s"))
        assert floor is not None
        activity = Activity(
            emitter=Emitter(name, options.pop("label", "")),
            actor=actor_of(options),
            kind=None if kind == "unknown" else cast("Kind", kind),
            lines=int(options.pop("lines", "100")),
            untimed=int(options.pop("untimed", "0")),
            floor=floor,
            runs=tuple((r.lo, r.hi) for r in runs),
            frame=frame,
        )
        assert not options, f"unknown attributes in {row!r}: {options}"
        sources[name] = evolve(source, activities=(*source.activities, activity))
    return tuple(sources.values())


def rows(table: str) -> list[str]:
    """Return a table's lines without comments and blank lines."""
    lines = (line.split("#")[0].strip() for line in table.splitlines())
    return [line for line in lines if line]


def case_of(data: Mapping[str, Any], shared: str) -> Case:
    """Return the case that one vector describes."""
    rules = load_text(HEADER.format(body=shared + data["rule"]))
    events = {e.name: e for e in rules.events}
    skew, world_size = parse_duration(data.get("skew", "5s")), data.get("world_size")
    assert skew is not None
    return Case(
        rule=rules.rules[0],
        events={e.id: e for e in rules.events},
        sightings=tuple(sighting_of(row, events) for row in rows(data["sightings"])),
        sources=sources_of(data.get("coverage", ""), events),
        world_size=world_size,
        skew=skew,
        lets={name: tuple(v) if isinstance(v, list) else None if v == "?" else v for name, v in data.get("lets", {}).items()},
    )


def outcome_of(data: Mapping[str, Any], case: Case, places: Mapping[int, str]) -> Outcome:
    """Return one expected outcome."""
    unknown = set(data) - {"key", "outcome", "bind", "clauses", "rivals"}
    assert not unknown, f"unknown keys in expect: {unknown}"
    index = {place: i for i, place in places.items()}
    given, held = attributes(data.get("clauses", "").split()), attributes(data.get("bind", "").split())
    steps = [s.name for s in case.rule.steps] if data["outcome"] != "quiet" else []
    assert set(given) <= set(steps)
    return Outcome(
        key=tuple(None if part == "-" else part for part in data.get("key", ["-"] * len(case.rule.keys))),
        outcome=data["outcome"],
        bindings={step: tuple(index[p] for p in listed.split(",")) for step, listed in held.items()},
        clauses={step: cast("Truth", given.get(step, "true")) for step in steps},
        rivals=data.get("rivals", 0),
    )


def place_of(seen: Sighting) -> str:
    """Return the words by which a vector's outcome names a sighting."""
    label = f"[{seen.emitter.label}]" if seen.emitter.label else ""
    return f"{seen.source}{label}:{seen.ordinal}"


def load_vectors() -> list[Vector]:
    """Return all vectors of the folder."""
    vectors = []
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for item in data["vector"]:
            case = case_of(item, data.get("events", ""))
            places = {i: place_of(s) for i, s in enumerate(case.sightings)}
            assert len(set(places.values())) == len(places), f"two sightings on one line in {item['says']!r}"
            expect = tuple(outcome_of(o, case, places) for o in item["expect"])
            vectors.append(Vector(f"{path.stem}/{item['says']}", item["spec"], case, expect, places))
    return vectors
