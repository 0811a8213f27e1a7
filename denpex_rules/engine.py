"""The whole way from logs to a report, and its halves apart: `sight` (bytes to sightings) and `correlate` (sightings to report).

Nothing here needs the parser: a Program that was compiled or loaded is all that a scan takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike

from attrs import Factory, define, evolve, field, frozen

from denpex_rules import blame, drift, relate, report, sources, timeline
from denpex_rules.calendar import Calendar
from denpex_rules.clock import SECOND
from denpex_rules.collection import Collection
from denpex_rules.correlator import Match, match_rule
from denpex_rules.errors import UsageError
from denpex_rules.finding import Explanation, Incident, Report
from denpex_rules.places import hints_for
from denpex_rules.program import Program
from denpex_rules.record import Hints
from denpex_rules.rule import PROGRESS
from denpex_rules.sighting import Emitter, Scan
from denpex_rules.sources import Source, Transcoder
from denpex_rules.timeline import Timeline


@frozen
class Options:
    """How a scan reads and judges.

    Args:
        year: year of stamps that have none.
        timezone: zone of stamps that have none (a tz database name).
        skew_ns: by how many ns the clocks of two hosts may differ.
        offsets: by how many ns each host's clock is ahead of true time.
        job: the job that all sources belong to.
        coverage: list every gap of every actor in the report.
    """

    year: int | None = None
    timezone: str | None = None
    skew_ns: int = 5 * SECOND
    offsets: Mapping[str, int] = field(factory=dict)
    job: str | None = None
    coverage: bool = False


DEFAULT = Options()


# ------------------------------------------------------------------ scan half


def sight(paths: Iterable[str | PathLike[str]], program: Program) -> Scan:
    """Read files and folders and return their sightings and coverage. Raises UsageError for a path that does not exist."""
    return _sight(sources.expand(paths), program)


def _sight(read: Iterable[Source], program: Program) -> Scan:
    collection = Collection(program)
    for source in read:
        collection.begin(source.name, source.hints, source.mtime_ns)
        for chunk in source.open():
            collection.feed(source.name, chunk)
        for text in source.notes:
            collection.note(source.name, text, truncated=source.truncated)
        collection.end(source.name)
    return collection.close()


# ------------------------------------------------------------------ correlate half


def correlate(scan: Scan, program: Program, options: Options = DEFAULT) -> Report:
    """Return the report of a scan; the order of its parts does not matter."""
    return _report(_timeline(scan, program, options), scan, program, options)


def _timeline(scan: Scan, program: Program, options: Options, until: int | None = None) -> Timeline:
    calendar = Calendar(options.year, options.timezone, options.offsets)
    identities = frozenset(e.id for e in program.events if e.identity)
    made = timeline.build(scan, identities, calendar, options.skew_ns, options.job, until)
    drift.widen(made, sorted(_progress(program)))
    return made


def _progress(program: Program) -> frozenset[str]:
    return frozenset(e.id for e in program.events if PROGRESS in e.id)


def matches(scan: Scan, program: Program, options: Options = DEFAULT) -> tuple[Match, ...]:
    """Return how every rule whose trigger was seen came out, quiet ones included, rule by rule."""
    return tuple(_matches(_timeline(scan, program, options), program))


def _matches(line: Timeline, program: Program) -> Iterator[Match]:
    events = {e.id: e for e in program.events}
    return (m for rule in program.rules if line.of(rule.trigger.event) for m in match_rule(rule, events, line))


def _report(line: Timeline, scan: Scan, program: Program, options: Options) -> Report:
    findings = [found for m in _matches(line, program) if (found := blame.attribute(m, line)) is not None]
    progress = _progress(program)
    symptoms = frozenset(c.id for c in program.classes if c.role == "symptom")
    nodes = relate.relate(findings, line, progress, symptoms)
    return report.build(nodes, report.Context(program, line), scan, gaps=options.coverage)


# ------------------------------------------------------------------ both


def scan(paths: Iterable[str | PathLike[str]], program: Program, options: Options = DEFAULT) -> Report:
    """Read files and folders and return the report. Raises UsageError for a path that does not exist."""
    return correlate(sight(paths, program), program, options)


def scan_bytes(logs: Mapping[str, bytes], program: Program, options: Options = DEFAULT) -> Report:
    """Return the report of logs that are in memory, by name; names are read like file names."""
    return correlate(_sight([sources.from_bytes(name, data) for name, data in sorted(logs.items())], program), program, options)


def scan_lines(logs: Mapping[str, Iterable[str | bytes]], program: Program, options: Options = DEFAULT) -> Report:
    """Return the report of logs given line by line, with or without their newlines."""
    session = Session(program, options)
    for name, lines in sorted(logs.items()):
        for line in lines:
            data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
            session.feed(name, data if data.endswith(b"\n") else data + b"\n")
    return session.close()


def explain(
    paths: Iterable[str | PathLike[str]], program: Program, rule_id: str, options: Options = DEFAULT
) -> tuple[Explanation, ...]:
    """Return how one rule came out, clause by clause, for each key and episode that its trigger was seen in.

    Raises UsageError for a path or a rule that does not exist.
    """
    rules = {name: r for r in program.rules for name in (r.id, r.qualified)}
    if rule_id not in rules:
        raise UsageError(f"unknown rule {rule_id!r}")
    line = _timeline(sight(paths, program), program, options)
    events = {e.id: e for e in program.events}
    return tuple(_explanation(m) for m in match_rule(rules[rule_id], events, line))


def _explanation(match: Match) -> Explanation:
    names = [f"{name} {value}" for name, value in zip(match.rule.keys, match.key, strict=False) if value is not None]
    if len(match.key) > len(match.rule.keys) and isinstance(match.key[-1], Emitter):
        names.append(f"in {match.key[-1].source}")
    evidence = tuple(report.evidence(step, s, match.scope) for step, s in blame.evidence(match))
    clauses = tuple(report.clause_result(c) for c in match.clauses)
    return Explanation(match.rule.qualified, ", ".join(names), match.outcome, clauses, evidence)


@define
class Session:
    """A scan of logs that are still being written.

    `feed` takes bytes as they come; `advance` says how far all sources were read and gives what is new or changed; `close` gives
    the same report as one scan over all that was fed. Incidents are given at least once per (id, revision).
    """

    program: Program
    options: Options = DEFAULT
    on_incident: Callable[[Incident], None] | None = None
    _collection: Collection = Factory(lambda self: Collection(self.program), takes_self=True)
    _transcoders: dict[str, Transcoder] = Factory(dict)
    _given: dict[str, Incident] = Factory(dict)
    _closed: bool = False

    def feed(self, source: str, data: bytes, hints: Hints | None = None) -> None:
        """Take the next bytes of a source, in any pieces. Raises UsageError on a closed session."""
        if self._closed:
            raise UsageError("the session is closed")
        if source not in self._transcoders:
            self._transcoders[source] = Transcoder()
            self._collection.begin(source, hints if hints is not None else hints_for(source))
        self._collection.feed(source, self._transcoders[source].feed(data))

    def advance(self, until: int | None = None) -> tuple[Incident, ...]:
        """Return the incidents that are new or changed since the last call.

        Args:
            until: ns UTC up to which all sources were read, silent ones too; None: as far as their lines go.
        """
        taken = self._collection.snapshot()
        line = _timeline(taken, self.program, self.options, until)
        return self._give(_report(line, taken, self.program, self.options))

    def close(self) -> Report:
        """End the session and return the whole report. Raises UsageError when it is closed already."""
        if self._closed:
            raise UsageError("the session is closed")
        self._closed = True
        for source, transcoder in self._transcoders.items():
            self._collection.feed(source, transcoder.finish())
            if transcoder.note:
                self._collection.note(source, transcoder.note, truncated=False)
        taken = self._collection.close()
        whole = correlate(taken, self.program, self.options)
        self._give(whole)
        return evolve(whole, incidents=tuple(self._given.get(i.id, i) for i in whole.incidents))

    def _give(self, found: Report) -> tuple[Incident, ...]:
        fresh = []
        for incident in found.incidents:
            before = self._given.get(incident.id)
            if before is None or evolve(before, revision=1) != incident:
                revised = evolve(incident, revision=before.revision + 1 if before else 1)
                self._given[incident.id] = revised
                fresh.append(revised)
                if self.on_incident is not None:
                    self.on_incident(revised)
        return tuple(fresh)
