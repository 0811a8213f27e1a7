"""From related findings to the report: incidents in words, missing facts with their commands, coverage, unexplained errors."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from attrs import evolve

from denpex_rules import finding as out
from denpex_rules import ledger
from denpex_rules.attribution import Known
from denpex_rules.blame import Finding
from denpex_rules.clock import MAX, MIN, SECOND, Instant, format_time
from denpex_rules.correlator import Clause
from denpex_rules.ending import ending
from denpex_rules.evaluate import Scope
from denpex_rules.missing import Context, facts, missing_fact, uncleared
from denpex_rules.notation import clause_text
from denpex_rules.recurrence import recurrences
from denpex_rules.relate import Node
from denpex_rules.rule import LEVELS, Expression, Level, Path, Rule, Text
from denpex_rules.sighting import Actor, ErrorLine, Scan, Sighting
from denpex_rules.timeline import Timeline
from denpex_rules.topology import claim_of
from denpex_rules.values import format_value

LISTED = 32  # actors named per role; all are counted
EVIDENCE = 50  # records shown per incident
UNEXPLAINED = 20


def build(nodes: Iterable[Node], context: Context, scan: Scan, *, gaps: bool) -> out.Report:
    """Return the report of related findings.

    Args:
        nodes: root findings with what they explain.
        context: program and timeline.
        scan: what was sighted; its error records outside all evidence are listed.
        gaps: whether coverage lists every gap of every actor.
    """
    nodes = list(nodes)
    incidents = tuple(sorted((_incident(n, context, root=True) for n in nodes), key=lambda i: _rank(i, context)))
    coverage = ledger.coverage(context.timeline, gaps=gaps)
    unexplained = _unexplained(scan, nodes, context)
    failed = any(i.level in {"failure", "stop"} for i in incidents)
    how = None if failed else _ending(context)
    verdict = _verdict(incidents, context)
    if how is not None and how.state == "cut_off":
        verdict = "undecided"
    return out.Report(verdict, incidents, unexplained, coverage, ending=how, recurrences=recurrences(incidents))


def _ending(context: Context) -> out.Ending | None:
    """Return how the job's logs end, None where no log of it was read."""
    found = ending(context.timeline, [e.id for e in context.program.events])
    if found is None:
        return None
    last = moment(found.last)
    stopped = _group(found.stopped)
    return out.Ending(found.state, last.hi, stopped, found.reasons, tuple(missing_fact(lack) for lack in found.lacks))


def _rank(incident: out.Incident, context: Context) -> tuple[object, ...]:
    symptom = context.roles.get(incident.cls) == "symptom"
    onset = incident.onset.lo if incident.onset else "~"
    return (LEVELS.index(incident.level), incident.outcome == "inconclusive", symptom, onset, incident.rule, incident.id)


def _verdict(incidents: tuple[out.Incident, ...], context: Context) -> out.Verdict:
    if not incidents:
        return "healthy" if any(p.activity.lines for p in context.timeline.presences) else "no_data"
    levels = {i.level for i in incidents if i.outcome == "confirmed"}
    if "failure" in levels:
        decided = any(
            i.initiators or context.roles.get(i.cls) == "cause"
            for i in incidents
            if i.outcome == "confirmed" and i.level == "failure"
        )
        return "failed" if decided else "undecided"
    if "stop" in levels:
        return "stopped"
    if any(i.level in {"failure", "stop"} for i in incidents):
        return "undecided"
    return "warning" if any(i.level == "warning" for i in incidents) else "healthy"


# ------------------------------------------------------------------ incidents


def _incident(node: Node, context: Context, *, root: bool) -> out.Incident:
    found = node.finding
    rule, match = found.rule, found.match
    shown = found.evidence[:EVIDENCE]
    explains = tuple(_incident(n, context, root=False) for n in node.explains)
    outcome: Literal["confirmed", "inconclusive"] = "confirmed" if match.outcome == "confirmed" else "inconclusive"
    return out.Incident(
        id=identity(found),
        revision=1,
        rule=rule.qualified,
        cls=rule.cls,
        title=rule.title,
        level=_level(rule.level, explains),
        outcome=outcome,
        job=found.job,
        initiators=found.initiators,
        candidates=found.candidates or (uncleared(found, context) if root else ()),
        onset=interval(found.onset),
        evidence=tuple(evidence(step, s, match.scope) for step, s in shown),
        against=tuple(clause_result(c) for c in found.against),
        reporters=_group(found.reporters),
        victims=_group(found.victims),
        explains=explains,
        missing=facts(node, context, root=root),
        remedy=_remedy(rule, match.scope),
        impact=rule.impact,
        clauses=tuple(clause_result(c) for c in match.clauses),
        attempt=found.attempt,
        notes=found.notes,
    )


def _level(own: Level, explains: Iterable[out.Incident]) -> Level:
    """Return an incident's level: a warning that explains a failure is one; a job's own end stays one, whatever broke in it."""
    if own in {"failure", "stop"}:
        return own
    return min((own, *(e.level for e in explains if e.outcome == "confirmed")), key=LEVELS.index)


def identity(found: Finding) -> str:
    """Return an incident's id: the same over runs, file layouts and later evidence, different for another fault."""
    trigger = found.match.scope.bindings[found.rule.trigger.name][0]
    parts = (found.rule.qualified, str(found.match.key), str(trigger.instant.lo), claim_of(trigger).label(), trigger.text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def interval(instant: Instant | None) -> out.Interval | None:
    """Return an instant as ISO texts, None where it is unbounded or its year is unknown."""
    if instant is None or not instant.year or instant.lo == MIN or instant.hi == MAX or instant.clock in {"monotonic", "none"}:
        return None
    return out.Interval(format_time(instant.lo), format_time(instant.hi))


def moment(instant: Instant) -> out.Moment:
    """Return an instant with its clock; an unbounded side, or all of it without a year, is None."""
    dated = instant.year and instant.clock not in {"monotonic", "none"}
    lo = format_time(instant.lo) if dated and instant.lo > MIN else None
    hi = format_time(instant.hi) if dated and instant.hi < MAX else None
    return out.Moment(lo, hi, instant.clock)


def who(actor: Actor) -> out.Who:
    """Return an actor as the report shows it."""
    return out.Who(actor.rank, actor.host, actor.device, actor.local_rank, actor.pid)


def evidence(step: str, sighting: Sighting, scope: Scope) -> out.Evidence:
    """Return one record of the evidence, with the named moments of its event in seconds relative to it."""
    moments = {}
    for named in scope.events[sighting.event].moments:
        terms = [(sign, t if isinstance(t, int) else sighting.fields.get(t)) for sign, t in named.terms]
        shifts = [sign * t for sign, t in terms if isinstance(t, int)]
        if len(shifts) == len(terms):
            moments[named.name] = sum(shifts) / SECOND
    source, line, span = scope.timeline.locate(sighting.source, sighting.line, sighting.start, sighting.end)
    return out.Evidence(
        event=sighting.event,
        step=step,
        source=source,
        line=line,
        bytes=span,
        instant=moment(sighting.instant),
        actor=who(claim_of(sighting)),
        text=sighting.text,
        moments=moments,
    )


def clause_result(clause: Clause, *, near: bool = False) -> out.ClauseResult:
    """Return a clause with its words, truth, reason and nearest miss.

    Args:
        clause: how a step came out.
        near: say too which line came nearest; a report does not, because it is the same however its logs are laid out.
    """
    nearest = f"{clause.near.source}:{clause.near.line}" if near and clause.near is not None else None
    return out.ClauseResult(
        clause.step.verb, clause.step.name, clause_text(clause.step), clause.truth.value, clause.reason, clause.miss, nearest
    )


def _group(actors: tuple[Actor, ...]) -> out.Group:
    people = tuple(dict.fromkeys(who(a) for a in actors))
    return out.Group(len(people), people[:LISTED])


def _remedy(rule: Rule, scope: Scope) -> out.Remedy:
    checks = tuple(out.Check(fill(v.command, scope), _host(v.on, scope)) for v in rule.verify)
    return out.Remedy(fill(rule.why, scope), tuple(fill(t, scope) for t in rule.do), checks, rule.references)


def fill(text: Text, scope: Scope) -> str:
    """Return a text with its placeholders filled; what is not known is shown as <name>."""
    return "".join(p if isinstance(p, str) else _filled(p, scope) for p in text.pieces)


def _filled(path: Path, scope: Scope) -> str:
    value = scope.value(path)
    return format_value(value.value) if isinstance(value, Known) else f"<{path.field or path.name}>"


def _host(expression: Expression | None, scope: Scope) -> str | None:
    value = scope.value(expression) if expression is not None else None
    return str(value.value) if isinstance(value, Known) else None


# ------------------------------------------------------------------ coverage and unexplained errors


def _unexplained(scan: Scan, nodes: list[Node], context: Context) -> tuple[out.Unexplained, ...]:
    """Return the error records outside all evidence, rarest and earliest first; a copy of a record of the evidence is explained."""
    errors = context.timeline.errors
    shown_lines = {(s.event, s.text) for node in _walk(nodes) for _, s in node.finding.evidence}
    identities = {e.id for e in context.program.events if e.identity}
    numbers = {e.ordinal for e in errors}
    beside = (s for s in scan.sightings if s.ordinal in numbers)
    explained = {(s.emitter, s.ordinal) for s in beside if (s.event, s.text) in shown_lines or s.event in identities}
    merged: dict[str, list[ErrorLine]] = defaultdict(list)
    for error in errors:
        if (error.emitter, error.ordinal) not in explained:
            merged[error.template].append(error)
    shown: list[ErrorLine] = []
    for alike in merged.values():
        first = min(alike, key=lambda e: (e.instant.lo == MIN, e.instant.lo, e.text, e.emitter.source, e.line))
        shown.append(evolve(first, count=sum(e.count for e in alike)))
    shown.sort(key=lambda e: (e.count, e.instant.lo == MIN, e.instant.lo, e.text))
    return tuple(_error(e, context.timeline) for e in shown[:UNEXPLAINED])


def _error(error: ErrorLine, timeline: Timeline) -> out.Unexplained:
    source, line, span = timeline.locate(error.emitter.source, error.line, error.start, error.end)
    return out.Unexplained(source, line, span, moment(error.instant), who(error.actor), error.text, error.count)


def _walk(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        yield node
        yield from _walk(node.explains)
