"""From related findings to the report: incidents in words, missing facts with their commands, coverage, unexplained errors."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal

from attrs import evolve, frozen

from denpex_rules import finding as out
from denpex_rules.attribution import Known
from denpex_rules.blame import Finding, Lack
from denpex_rules.clock import MAX, MIN, MINUTE, SECOND, Instant, format_time
from denpex_rules.correlator import Clause
from denpex_rules.evaluate import Scope
from denpex_rules.notation import clause_text
from denpex_rules.program import Program
from denpex_rules.relate import Node
from denpex_rules.rule import LEVELS, Expression, Kind, Level, Path, Rule, Text
from denpex_rules.sighting import Actor, ErrorLine, Scan, Sighting
from denpex_rules.timeline import Need, Presence, Timeline
from denpex_rules.topology import claim_of
from denpex_rules.values import format_value

LISTED = 32  # actors named per role; all are counted
EVIDENCE = 50  # records shown per incident
UNEXPLAINED = 20


@frozen
class Context:
    """What incidents are described with."""

    program: Program
    timeline: Timeline

    @property
    def roles(self) -> Mapping[str, str]:
        """Cause or symptom, by class."""
        return {c.id: c.role for c in self.program.classes}


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
    coverage = _coverage(context.timeline, gaps=gaps)
    unexplained = _unexplained(scan, nodes, context)
    return out.Report(_verdict(incidents, context), incidents, unexplained, coverage)


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
        candidates=found.candidates,
        onset=interval(found.onset),
        evidence=tuple(evidence(step, s, match.scope) for step, s in shown),
        against=tuple(clause_result(c) for c in found.against),
        reporters=_group(found.reporters),
        victims=_group(found.victims),
        explains=explains,
        missing=tuple(missing_fact(lack) for lack in _all_lacks(node, context, root=root)),
        remedy=_remedy(rule, match.scope),
        impact=rule.impact,
        clauses=tuple(clause_result(c) for c in match.clauses),
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
    return out.Evidence(
        event=sighting.event,
        step=step,
        source=sighting.source,
        line=sighting.line,
        bytes=(sighting.start, sighting.end),
        instant=moment(sighting.instant),
        actor=who(claim_of(sighting)),
        text=sighting.text,
        moments=moments,
    )


def clause_result(clause: Clause) -> out.ClauseResult:
    """Return a clause with its words, truth, reason and nearest miss."""
    return out.ClauseResult(
        clause.step.verb, clause.step.name, clause_text(clause.step), clause.truth.value, clause.reason, clause.miss
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


# ------------------------------------------------------------------ missing facts


def _all_lacks(node: Node, context: Context, *, root: bool) -> list[Lack]:
    lacks = list(node.finding.lacks)
    if root and context.roles.get(node.finding.rule.cls) == "symptom":  # a named rank is not yet a cause
        lacks += _of_causes(node.finding, context)
    unique: dict[Need, Lack] = {}
    for lack in lacks:
        unique.setdefault(lack.need, lack)
    return list(unique.values())


def _of_causes(symptom: Finding, context: Context) -> list[Lack]:
    """Return the logs that would show the triggers of the rules that could explain a symptom, as far as they were not read."""
    timeline = context.timeline
    start = symptom.onset or symptom.began.instant
    events = {e.id: e for e in context.program.events}
    titles: dict[Kind, list[str]] = defaultdict(list)
    spans: dict[Kind, int] = defaultdict(int)
    for rule in context.program.rules:
        if symptom.rule.cls in rule.causes and rule.id != symptom.rule.id:
            for kind in events[rule.trigger.event].kinds:
                titles[kind].append(rule.title)
                spans[kind] = max(spans[kind], rule.span_ns)
    lacks = []
    for kind, names in sorted(titles.items()):
        why = f"it would show {_some(names)}"
        lo, hi = _around(start, spans[kind])
        lacks += [Lack(need, why) for need in _unread(kind, timeline, lo, hi)]
    suspected = {s.host for s in (*symptom.initiators, *symptom.candidates)} - {None}
    # What says most stands first: the suspect's own host, and there the kernel, which tells of devices.
    return sorted(lacks, key=lambda lack: (lack.need.host not in suspected, lack.need.kind != "kernel"))


def _around(start: Instant, span: int) -> tuple[int | None, int | None]:
    """Return the interval to look in: shortly before the stall started until shortly after it."""
    if start.lo == MIN or start.hi == MAX or not start.year or start.clock in {"monotonic", "none"}:
        return None, None
    return start.lo - min(span, 10 * MINUTE), start.hi + MINUTE


def _some(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    shown = "; ".join(f"“{n}”" for n in unique[:3])
    return shown + (f" or {len(unique) - 3} other causes" if len(unique) > 3 else "")


def _unread(kind: Kind, timeline: Timeline, lo: int | None, hi: int | None) -> list[Need]:
    topology = timeline.topology
    if kind == "rank":
        seen = {p.activity.actor.rank for p in timeline.present("rank")}
        expected = range(min(topology.world_size or 0, 100_000)) if topology.world_size else sorted(topology.ranks)
        absent = [r for r in expected if r not in seen]
        if absent:
            return [Need("rank", rank=r, lo=lo, hi=hi) for r in absent[:16]]
        return [] if topology.world_size else [Need("rank", lo=lo, hi=hi)]
    read = [p for p in timeline.present(kind) if lo is None or hi is None or _overlaps(p, timeline, lo, hi)]
    hosts = {p.activity.actor.host for p in read}
    if topology.hosts:
        return [Need(kind, host=h, lo=lo, hi=hi) for h in sorted(topology.hosts - hosts)[:16]]
    return [] if read else [Need(kind, lo=lo, hi=hi)]


def _overlaps(presence: Presence, timeline: Timeline, lo: int, hi: int) -> bool:
    reach = timeline.reach(presence)
    return reach is not None and reach[0] <= hi and lo <= reach[1]


def missing_fact(lack: Lack) -> out.MissingFact:
    """Return a missing fact with the command that fetches it."""
    need = lack.need
    lo = format_time(need.lo) if need.lo is not None and need.lo > MIN else "<start>"
    hi = format_time(need.hi) if need.hi is not None and need.hi < MAX else "<end>"
    host = need.host or "<host>"
    since = f"--since '{_journal(lo)}' --until '{_journal(hi)}'"
    commands = {
        "kernel": f"ssh {host} journalctl -k -o short-iso-precise --utc {since}",
        "fabric": f"ssh {host} cat /var/log/fabricmanager.log",
        "scheduler": "sacct -j <job> -o JobID,State,ExitCode,DerivedExitCode,NodeList,Start,End; "
        f"ssh {host} journalctl -u slurmd --utc {since}",
        "control": "kubectl get events -A --sort-by=.lastTimestamp",
        "agent": "collect the launcher's own output (stdout and stderr of torchrun or srun), and add it to the scan",
    }
    rank = "the ranks that are not in the scan" if need.rank is None else f"rank {need.rank}"
    command = commands.get(need.kind or "rank", f"collect stdout and stderr of {rank}, and add them to the scan")
    return out.MissingFact(need.text(), lack.why, command)


def _journal(iso: str) -> str:
    return iso.replace("T", " ").split(".")[0].rstrip("Z")


# ------------------------------------------------------------------ coverage and unexplained errors


def _coverage(timeline: Timeline, *, gaps: bool) -> out.CoverageReport:
    groups: dict[tuple[out.Who, str | None], list[Presence]] = defaultdict(list)
    for presence in timeline.presences:
        actor = presence.activity.actor
        key = out.Who(actor.rank, actor.host, actor.device, actor.local_rank if actor.rank is None else None)
        groups[key, presence.activity.kind].append(presence)
    actors = tuple(_actor_coverage(w, kind, found, gaps=gaps) for (w, kind), found in sorted(groups.items(), key=_coverage_key))
    sources = tuple(
        out.SourceSummary(s.source, s.layout, s.bytes, s.lines, s.truncated, s.merged, s.evicted, s.notes)
        for s in timeline.sources.values()
    )
    topology = timeline.topology
    return out.CoverageReport(actors, sources, topology.world_size, len(topology.ranks), timeline.skew / SECOND, timeline.notes)


def _coverage_key(item: tuple[tuple[out.Who, str | None], list[Presence]]) -> tuple[object, ...]:
    (actor, kind), _ = item
    return (actor.rank is None, actor.rank or 0, actor.host or "", actor.device or "", actor.local_rank or 0, kind or "")


def _actor_coverage(actor: out.Who, kind: str | None, found: list[Presence], *, gaps: bool) -> out.ActorCoverage:
    runs = sorted(run for p in found for run in p.activity.runs if p.activity.frame.year)
    listed: list[out.Interval] = []
    reached = runs[0][1] if runs else 0
    for lo, hi in runs:
        if gaps and lo > reached:
            listed.append(out.Interval(format_time(reached), format_time(lo)))
        reached = max(reached, hi)
    return out.ActorCoverage(
        actor,
        kind,
        tuple(sorted({p.activity.emitter.source for p in found})),
        sum(p.activity.lines for p in found),
        sum(p.activity.untimed for p in found),
        format_time(runs[0][0]) if runs else None,
        format_time(reached) if runs else None,
        tuple(listed),
    )


def _unexplained(scan: Scan, nodes: list[Node], context: Context) -> tuple[out.Unexplained, ...]:
    """Return the error records outside all evidence, rarest and earliest first; a copy of a record of the evidence is explained."""
    shown_lines = {(s.event, s.text) for node in _walk(nodes) for _, s in node.finding.evidence}
    identities = {e.id for e in context.program.events if e.identity}
    explained = {(s.emitter, s.ordinal) for s in scan.sightings if (s.event, s.text) in shown_lines or s.event in identities}
    merged: dict[str, list[ErrorLine]] = defaultdict(list)
    for error in context.timeline.errors:
        if (error.emitter, error.ordinal) not in explained:
            merged[error.template].append(error)
    shown: list[ErrorLine] = []
    for alike in merged.values():
        first = min(alike, key=lambda e: (e.instant.lo == MIN, e.instant.lo, e.text, e.emitter.source, e.line))
        shown.append(evolve(first, count=sum(e.count for e in alike)))
    shown.sort(key=lambda e: (e.count, e.instant.lo == MIN, e.instant.lo, e.text))
    return tuple(_error(e) for e in shown[:UNEXPLAINED])


def _error(error: ErrorLine) -> out.Unexplained:
    return out.Unexplained(
        error.emitter.source, error.line, (error.start, error.end), moment(error.instant), who(error.actor), error.text, error.count
    )


def _walk(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        yield node
        yield from _walk(node.explains)
