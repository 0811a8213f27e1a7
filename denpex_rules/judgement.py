"""How a scan is judged: the options of the caller, and the steps from what was sighted to a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve, field, frozen

from denpex_rules import blame, drift, garbage, relate, report, timeline
from denpex_rules.calendar import Calendar
from denpex_rules.clock import SECOND
from denpex_rules.correlator import Match, match_rule
from denpex_rules.finding import Report
from denpex_rules.missing import Context
from denpex_rules.program import Program
from denpex_rules.record import Hints, LineFormat
from denpex_rules.relate import Node
from denpex_rules.rule import PROGRESS
from denpex_rules.sighting import Scan
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
        formats: log formats of the caller's own, tried in front of all others.
        wrappers: names of weak wrappers that all sources are known to use, such as `srun_label`.
    """

    year: int | None = None
    timezone: str | None = None
    skew_ns: int = 5 * SECOND
    offsets: Mapping[str, int] = field(factory=dict)
    job: str | None = None
    coverage: bool = False
    formats: tuple[LineFormat, ...] = ()
    wrappers: frozenset[str] = frozenset()

    def hinted(self, hints: Hints) -> Hints:
        """Return what a source's place claims, with what the caller says of all sources."""
        if not self.formats and not self.wrappers:
            return hints
        return evolve(hints, formats=self.formats, wrappers=hints.wrappers | self.wrappers)


DEFAULT = Options()


def calendar_of(options: Options) -> Calendar:
    """Return what the caller knows about stamps."""
    return Calendar(options.year, options.timezone, options.offsets)


@garbage.kept_waiting()
def timeline_of(scan: Scan, program: Program, options: Options, until: int | None = None) -> Timeline:
    """Return the timeline of a scan; `until` is the time in ns UTC up to which all sources were read, where that is known."""
    identities = frozenset(e.id for e in program.events if e.identity)
    known = calendar_of(options)
    made = timeline.build(scan, identities, known, options.skew_ns, options.job, until)
    clocks = drift.compare(made, sorted(_progress(program)), options.offsets)
    if not clocks.ahead:
        return evolve(made, clocks=clocks, notes=(*made.notes, *clocks.notes))
    return timeline.build(scan, identities, evolve(known, clocks=clocks), options.skew_ns, options.job, until)


def _progress(program: Program) -> frozenset[str]:
    return frozenset(e.id for e in program.events if PROGRESS in e.id)


def matches_on(line: Timeline, program: Program) -> Iterator[Match]:
    """Yield how every rule whose trigger was seen came out, rule by rule."""
    events = {e.id: e for e in program.events}
    return (m for rule in program.rules if line.of(rule.trigger.event) for m in match_rule(rule, events, line))


@garbage.kept_waiting()
def report_on(line: Timeline, scan: Scan, program: Program, options: Options) -> Report:
    """Return the report of a timeline and of the scan that it was made of."""
    nodes = related(matches_on(line, program), line, program)
    return report.build(nodes, Context(program, line), scan, gaps=options.coverage)


def related(found: Iterable[Match], line: Timeline, program: Program) -> list[Node]:
    """Return the root findings of matches, with what each explains."""
    findings = [finding for m in found if (finding := blame.attribute(m, line)) is not None]
    symptoms = frozenset(c.id for c in program.classes if c.role == "symptom")
    return relate.relate(findings, line, _progress(program), symptoms)
