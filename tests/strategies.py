"""Random rules and random timelines, small enough to meet every boundary often: whole seconds, three ranks, four events."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve
from hypothesis import strategies as st

from case import Case
from denpex_rules.clock import SECOND, UNKNOWN, Instant, parse_time
from denpex_rules.rule import SILENCE, Anchor, Condition, Constant, Count, Event, Kind, Moment, Path, Rule, Step, Verb, Window
from denpex_rules.sighting import Activity, Actor, Dropped, Emitter, Sighting, SourceCoverage
from denpex_rules.values import Value

BASE: Final = parse_time("2026-11-30T10:00:00Z")
END: Final = 40  # all times lie in the first 40 seconds after BASE

EVENTS: Final = {
    e.id: e
    for e in (
        Event("v.a", "a", (), kinds=("rank",), captures=(("n", "int"),)),
        Event("v.b", "b", (), kinds=("rank", "agent"), captures=(("n", "int"), ("ran", "s"))),
        Event("v.c", "c", (), captures=(("ran", "s"),), moments=(Moment("stalled", ((-1, "ran"),)),)),
        Event("v.k", "k", (), kinds=("kernel",)),
    )
}
# who speaks where: emitter, actor, kind
STREAMS: Final[tuple[tuple[Emitter, Actor, Kind], ...]] = (
    (Emitter("r0"), Actor(rank=0, host="node-01"), "rank"),
    (Emitter("r1"), Actor(rank=1, host="node-01"), "rank"),
    (Emitter("r2"), Actor(rank=2, host="node-02"), "rank"),
    (Emitter("r2.err"), Actor(rank=2, host="node-02"), "rank"),
    (Emitter("all", "x"), Actor(host="node-01"), "rank"),
    (Emitter("all", "y"), Actor(rank=1), "rank"),
    (Emitter("agent"), Actor(host="node-02"), "agent"),
    (Emitter("kern"), Actor(host="node-01"), "kernel"),
)
seconds = st.integers(0, END)
durations = st.sampled_from([0, 1, 2, 5, 10]).map(lambda s: s * SECOND)


def mostly(common: Any, *rare: Any) -> st.SearchStrategy[Any]:
    """Return a strategy that gives the first value three times out of four, else one of the others."""
    return st.integers(0, 3).flatmap(lambda n: st.sampled_from(rare) if n == 3 else st.just(common))


# ------------------------------------------------------------------ rules


@st.composite
def conditions(draw: st.DrawFn, event: Event, names: list[str]) -> Condition:
    """Draw one condition on a step's own event; `names` are the steps above it."""
    captures = [name for name, _ in event.captures]
    name = draw(st.sampled_from(["rank", "rank", "host", *captures]))
    if name == "host":
        right: Path | Constant = Constant("node-01", "host")
        other = "host"
    else:
        right = Constant(draw(st.integers(0, 3)) * (SECOND if name == "ran" else 1), "duration" if name == "ran" else "int")
        other = name if name == "rank" else "n"
    if names and draw(st.sampled_from([False, True])):
        right = Path(draw(st.sampled_from(names)), other)
    operators = ["==", "==", "!="] if name in ("rank", "host") else ["==", "!=", "<", ">="]
    return Condition(Path(name), draw(st.sampled_from(operators)), right)


@st.composite
def anchors(draw: st.DrawFn, names: list[str]) -> Anchor:
    """Draw an anchor on one of the steps above."""
    name = draw(st.sampled_from(names))
    terms: list[tuple[int, int | Path]] = []
    if draw(st.booleans()):
        terms.append((draw(st.sampled_from([-1, 1])), draw(durations)))
    if draw(st.integers(0, 7)) == 7:
        terms.append((1, Path(name, "ran")))
    return Anchor(name, "time", tuple(terms))


@st.composite
def windows(draw: st.DrawFn, event: Event, names: list[str]) -> Window | None:
    """Draw a window around the steps above, None for no window."""
    if not names:
        return None
    moment = draw(st.sampled_from(["time", *(m.name for m in event.moments)]))
    lo = draw(st.none() | anchors(names))
    hi = draw(st.none() | anchors(names))
    if lo is not None and draw(st.booleans()):
        hi = evolve(lo, terms=(*lo.terms, (1, draw(durations))))
    return None if lo is None and hi is None else Window(lo, hi, moment)


@st.composite
def counts(draw: st.DrawFn, event: Event) -> Count:
    """Draw a count."""
    fields = ["rank", "host", *(name for name, _ in event.captures)]
    return Count(draw(st.integers(1, 3)), draw(st.none() | st.sampled_from(fields)), draw(st.none() | durations))


@st.composite
def steps(draw: st.DrawFn, verb: Verb, name: str, names: list[str]) -> Step:
    """Draw one step."""
    if names and draw(st.integers(0, 5)) == 5:
        who = Condition(Path("rank"), "==", draw(st.just(Constant(2, "rank")) | st.just(Path(names[0], "rank"))))
        return Step(verb, name, SILENCE, (who,), Window(draw(anchors(names))), duration=draw(st.sampled_from([3, 8])) * SECOND)
    event = draw(st.sampled_from(list(EVENTS.values())))
    return Step(
        verb,
        name,
        event.id,
        tuple(draw(st.lists(conditions(event, names), max_size=1))),
        draw(windows(event, names)),
        draw(counts(event)) if draw(st.integers(0, 3)) == 3 else None,
        draw(mostly("first", "last")),
    )


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw a rule of one to three required steps and up to two others."""
    found: list[Step] = []
    bound: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        found.append(draw(steps("require", f"s{len(found)}", bound)))
        bound.append(found[-1].name)
    for _ in range(draw(st.integers(0, 2))):
        verb: Verb = draw(st.sampled_from(["unless", "confirm", "refute"]))
        found.append(draw(steps(verb, f"s{len(found)}", bound)))
        if verb != "unless":
            bound.append(found[-1].name)
    if found[0].count is not None and draw(st.booleans()):
        found[0] = evolve(found[0], count=None)
    return Rule(
        id="vectors.random",
        pack="test",
        title="random",
        cls="gpu.fell_off_bus",
        keys=draw(mostly(("job",), ("rank",), ("host",), ("job", "host"))),
        span_ns=draw(st.sampled_from([5, 15, 60])) * SECOND,
        steps=tuple(found),
        quiet_ns=draw(st.sampled_from([3, 10, 600])) * SECOND,
    )


# ------------------------------------------------------------------ timelines


@st.composite
def instants(draw: st.DrawFn) -> Instant:
    """Draw an instant: most are one to three seconds wide at most, some unknown or of another clock."""
    lo = BASE + draw(seconds) * SECOND
    hi = lo + draw(mostly(0, 1, 3, 12)) * SECOND
    clock = draw(st.integers(0, 19))
    if clock == 19:
        return UNKNOWN
    if clock == 18:
        return Instant(lo, hi, "monotonic", "boot-1")
    return Instant(lo, hi)


@st.composite
def sightings(draw: st.DrawFn) -> tuple[Sighting, ...]:
    """Draw up to ten sightings; the lines of one emitter stand in the order of their times, those without one anywhere."""
    found: list[Sighting] = []
    jobs = {emitter.source: draw(mostly(None, "41", "42")) for emitter, _, _ in STREAMS}
    attempts = {emitter.source: draw(mostly(None, 0, 1)) for emitter, _, _ in STREAMS}
    for number in range(draw(st.integers(1, 10))):
        emitter, actor, kind = draw(st.sampled_from(STREAMS))
        event = draw(st.sampled_from(list(EVENTS.values())))
        fields: dict[str, Value] = {}
        for name, _ in event.captures:
            value = draw(mostly(draw(st.integers(0, 3)), None))
            if isinstance(value, int):
                fields[name] = value * (SECOND if name == "ran" else 1)
        actor = evolve(actor, job=jobs[emitter.source], attempt=attempts[emitter.source])
        text = draw(st.sampled_from(["one", "two"]))
        found.append(Sighting(event.id, emitter, 0, 0, number, number, draw(instants()), actor, fields, kind, None, text))
    lines: dict[Emitter, list[Sighting]] = {}
    for seen in found:
        lines.setdefault(seen.emitter, []).append(seen)
    return tuple(evolve(s, ordinal=n, line=n) for stream in lines.values() for n, s in enumerate(in_time(stream), 1))


def in_time(stream: list[Sighting]) -> list[Sighting]:
    """Return a stream with its lines of known time in order; the others keep their places."""
    timed = iter(sorted((s for s in stream if s.instant.known), key=lambda s: (s.instant.lo, s.instant.hi)))
    return [next(timed) if s.instant.known else s for s in stream]


@st.composite
def activities(draw: st.DrawFn, emitter: Emitter, actor: Actor, kind: Kind) -> Activity:
    """Draw when one emitter spoke."""
    stops = sorted({*draw(st.lists(seconds, max_size=8)), *draw(mostly([0, END], []))})
    runs = [(BASE + s * SECOND, BASE + s * SECOND) for s in stops]
    if len(runs) > 1 and draw(st.booleans()):
        runs = [(runs[0][0], runs[1][1]), *runs[2:]]
    frame = Instant(runs[-1][0], runs[-1][1]) if runs else UNKNOWN
    floor = draw(st.sampled_from([1, 2, 5])) * SECOND
    job = draw(mostly(None, "41"))
    lines, untimed = draw(st.integers(3, 11)), draw(mostly(0, 2))
    return Activity(emitter, evolve(actor, job=job), kind, lines, untimed, floor, tuple(runs), frame)


@st.composite
def coverage(draw: st.DrawFn) -> tuple[SourceCoverage, ...]:
    """Draw what was read: most streams, most of them whole."""
    found: dict[str, SourceCoverage] = {}
    for emitter, actor, kind in STREAMS:
        if draw(st.integers(0, 3)) == 3:
            continue
        source = found.get(emitter.source) or SourceCoverage(
            emitter.source,
            truncated=bool(draw(mostly(False, True))) and draw(st.booleans()),
            merged=draw(st.sampled_from([0, 0, 0, 2])),
            evicted=draw(st.sampled_from([0, 0, 0, 0, 1])),
        )
        if draw(st.integers(0, 5)) == 5:
            at = BASE + draw(seconds) * SECOND
            span = draw(st.sampled_from([UNKNOWN, Instant(at, at), Instant(at, at + 3 * SECOND)]))
            lost = Dropped(draw(st.sampled_from(sorted(EVENTS))), draw(st.sampled_from([emitter.label, None])), 1, span)
            source = evolve(source, evicted=source.evicted + 1, dropped=(*source.dropped, lost))
        found[emitter.source] = evolve(source, activities=(*source.activities, draw(activities(emitter, actor, kind))))
    return tuple(found.values())


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a whole case."""
    seen, sources = draw(sightings()), draw(coverage())
    if not any(a.runs for source in sources for a in source.activities):  # then no line can have a time
        seen = tuple(evolve(s, instant=UNKNOWN) for s in seen)
    return Case(
        rule=draw(rules()),
        events=EVENTS,
        sightings=seen,
        sources=sources,
        world_size=draw(st.sampled_from([None, None, 2, 3])),
        skew=draw(st.sampled_from([0, 1, 5])) * SECOND,
    )
