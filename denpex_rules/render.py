"""A report as text for the person on call, as JSON and as JSON lines; other forms come from plug-ins.

The text leads with the verdict, then says who failed first and since when, why, by which lines, who merely reported it, what
to do, and which fact is missing. What is too long for a screen is counted, never dropped in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Protocol, cast

from denpex_rules import plugins, schema
from denpex_rules.clock import format_duration, parse_time
from denpex_rules.errors import UsageError
from denpex_rules.finding import (
    ClauseResult,
    CoverageReport,
    Evidence,
    Explanation,
    Group,
    Incident,
    Interval,
    MissingFact,
    Moment,
    Recurrence,
    Report,
    Suspect,
    Unexplained,
    Who,
)
from denpex_rules.page import LABEL_WIDTH, Page
from denpex_rules.wording import format_interval, format_moment, name_actor, name_group, nearest_miss, plural

ROOT_EVIDENCE: Final = 3  # records of one step that the text shows
NESTED_EVIDENCE: Final = 1  # as many of one step of a finding that another explains
UNEXPLAINED: Final = 10  # unexplained shapes that the text shows
GAPS: Final = 5  # gaps of one actor that the text shows, the longest
ELSEWHERE: Final = "--format json shows all"


class Renderer(Protocol):
    """What an entry point of the group `denpex_rules.renderers` must be: it turns a report into text."""

    def __call__(self, report: Report, /) -> str:
        """Return the report in this form."""


# ------------------------------------------------------------------ the report


def report_page(report: Report, *, coverage: bool = False) -> Page:
    """Return the report as a page.

    Args:
        report: the report.
        coverage: append everything that was read, per actor and source, instead of one line about it.
    """
    page = Page()
    verdict = "NO FAILURE SEEN" if _open(report) and report.verdict == "healthy" else _VERDICTS[report.verdict]
    page.add(_headline(report), lead=f"{verdict}: ", style="bold", lead_style=_STYLES[report.verdict])
    for number, incident in enumerate(report.incidents, 1):
        if number > 1:
            page.blank()
            lead = f"[{number} of {len(report.incidents)}] {_LEVELS[incident.level]}: "
            page.add(incident.title, lead=lead, style="bold", lead_style="bold")
        _incident(page, incident, 2, ROOT_EVIDENCE)
    if report.recurrences:
        page.blank()
        _recurrences(page, report.recurrences)
    if report.unexplained:
        page.blank()
        _unexplained(page, report.unexplained)
    if _open(report):
        page.blank()
        _ending(page, report)
    page.blank()
    page.add(coverage_line(report.coverage), lead="Read: ", lead_style="dim")
    if coverage:
        page.blank()
        _coverage(page, report.coverage)
    return page


def incident_page(incident: Incident) -> Page:
    """Return one incident with its id and revision, as it is given while logs are followed."""
    page = Page()
    lead = f"{_LEVELS[incident.level]} {incident.id}, revision {incident.revision}: "
    page.add(incident.title, lead=lead, style="bold", lead_style="bold")
    _incident(page, incident, 2, ROOT_EVIDENCE)
    page.blank()
    return page


_VERDICTS: Final = {
    "failed": "FAILED",
    "stopped": "STOPPED",
    "warning": "WARNING",
    "undecided": "UNDECIDED",
    "healthy": "HEALTHY",
    "no_data": "NO DATA",
}
_STYLES: Final = {
    "failed": "bold red",
    "stopped": "bold yellow",
    "warning": "bold yellow",
    "undecided": "bold magenta",
    "healthy": "bold green",
    "no_data": "bold magenta",
}
_LEVELS: Final = {"failure": "FAILURE", "stop": "STOP", "warning": "WARNING", "info": "NOTE"}


def _headline(report: Report) -> str:
    if report.incidents:
        others = len(report.incidents) - 1
        return report.incidents[0].title + (f" (and {plural(others, 'further incident')})" if others else "")
    if report.verdict == "no_data":
        return "nothing that could be read as a log"
    if report.ending is not None and report.ending.state == "cut_off":
        return f"{plural(report.ending.stopped.count, 'rank')} stopped in the middle of its work, while others went on"
    if report.unexplained:
        return f"{plural(len(report.unexplained), 'kind')} of error records that no rule explains"
    return "no rule found a failure"


def _open(report: Report) -> bool:
    """Whether nothing failed in the logs of a job, and no line says that its work is done."""
    return report.ending is not None and report.ending.state != "ended"


def _ending(page: Page, report: Report) -> None:
    """Say how the logs of a job without a failure end: what was killed as a whole looks like what still runs."""
    if report.ending is None:
        return
    last = f" at {format_moment(Moment(report.ending.last, report.ending.last, 'wall'))}" if report.ending.last else ""
    page.add(f"The logs end{last} without an end of the job: whether it still runs or was killed they don't tell.")
    page.items(report.ending.reasons, indent=2)
    add_missing(page, report.ending.missing, 2)


def _recurrences(page: Page, found: tuple[Recurrence, ...]) -> None:
    page.add("Failed first more than once:", style="bold")
    for one in found:
        attempts = f", of attempts {', '.join(map(str, one.attempts))}" if one.attempts else ""
        text = f"{name_actor(one.who)}: {plural(len(one.incidents), 'incident')}{attempts} ({', '.join(one.incidents)})"
        page.add(text, lead="- ", indent=2)


def _incident(page: Page, incident: Incident, indent: int, limit: int) -> None:
    """Add one incident below its title, with at most `limit` records a step."""
    _who_and_when(page, incident, indent)
    _reasons(page, incident, indent)
    _evidence(page, incident.evidence, indent, limit)
    if incident.reporters.count:
        page.label("only reported", name_group(incident.reporters), indent=indent)
    if incident.victims.count:
        page.label("victims", name_group(incident.victims), indent=indent)
    _remedy(page, incident, indent)
    if incident.against:
        page.add("speaks against it:", indent=indent)
        for clause in incident.against:
            page.add(clause.text + (f": {clause.reason}" if clause.reason else ""), lead="- ", indent=indent + 2)
    add_missing(page, incident.missing, indent)
    if incident.explains:
        page.add(f"explains {plural(len(incident.explains), 'further finding')}:", indent=indent)
        for nested in incident.explains:
            page.add(nested.title, lead="> ", indent=indent + 2, style="bold")
            _incident(page, nested, indent + 4, NESTED_EVIDENCE)


def _who_and_when(page: Page, incident: Incident, indent: int) -> None:
    for suspect in incident.initiators:
        page.label("failed first", f"{name_actor(suspect)} ({suspect.certainty})", indent=indent, style="bold red")
    if not incident.initiators:
        page.label("failed first", "undecided" if incident.candidates or incident.missing else "nobody is accused", indent=indent)
    for alike in _alike(incident.candidates):
        page.label("possible", f"{_named(alike)} (undecided: not an accusation)", indent=indent)
    zone = "(zone unknown)" if any(e.instant.clock == "local" for e in incident.evidence) else "UTC"
    page.label("since", format_interval(incident.onset, zone) if incident.onset else "unknown", indent=indent)
    job = f", job {incident.job}" if incident.job is not None else ""
    finding = f"{incident.outcome}, {incident.cls}, impact {incident.impact}{job}"
    for note in incident.notes:
        page.label("note", note, indent=indent)
    page.label("finding", f"{finding}; {incident.rule}; id {incident.id} revision {incident.revision}", indent=indent)


def _reasons(page: Page, incident: Incident, indent: int) -> None:
    for alike in (*_alike(incident.initiators), *_alike(incident.candidates)):
        if alike[0].reasons:
            page.add(f"why {_named(alike)}:", indent=indent)
            page.items(alike[0].reasons, indent=indent + 2)


def _alike(suspects: Iterable[Suspect]) -> list[list[Suspect]]:
    """Return suspects in groups of those for whom the same speaks."""
    groups: dict[tuple[str, ...], list[Suspect]] = {}
    for suspect in suspects:
        groups.setdefault(suspect.reasons, []).append(suspect)
    return [*groups.values()]


def _named(suspects: list[Suspect]) -> str:
    """Return one suspect by all its parts, several by rank and host or one after the other."""
    if len(suspects) == 1:
        return name_actor(suspects[0])
    actors = tuple(Who(s.rank, s.host, s.device) for s in suspects)
    return name_group(Group(len(actors), actors)).partition(": ")[2]


def _evidence(page: Page, evidence: tuple[Evidence, ...], indent: int, limit: int) -> None:
    if evidence:
        page.add("evidence:", indent=indent)
        _records(page, evidence, indent + 2, limit)


def _records(page: Page, evidence: tuple[Evidence, ...], indent: int, limit: int) -> None:
    """Add each record once, with all steps that it speaks for; of one step at most `limit` records, the rest is counted."""
    records: dict[tuple[str, int], list[Evidence]] = {}
    for item in evidence:
        records.setdefault((item.source, item.line), []).append(item)
    shown: Counter[str] = Counter()
    left = 0
    for items in records.values():
        steps = dict.fromkeys(item.step for item in items)
        if all(shown[step] >= limit for step in steps):
            left += 1
            continue
        shown.update(steps.keys())
        _record(page, items, ", ".join(steps), indent)
    if left:
        page.add(f"and {plural(left, 'more record')} ({ELSEWHERE})", indent=indent)


def _record(page: Page, items: list[Evidence], steps: str, indent: int) -> None:
    first = items[0]
    moments = {name: seconds for item in items for name, seconds in sorted(item.moments.items())}
    shifted = "".join(f", {name} {abs(s):g} s {'earlier' if s < 0 else 'later'}" for name, s in moments.items())
    head = f"{first.source}:{first.line}  {format_moment(first.instant)}{shifted}  {name_actor(first.actor)}  [{steps}]"
    page.add(head, indent=indent, style="cyan")
    page.add(first.text, lead="| ", indent=indent + 2, lead_style="dim")


def _remedy(page: Page, incident: Incident, indent: int) -> None:
    remedy = incident.remedy
    if remedy.why:
        page.label("what happened", " ".join(remedy.why.split("\n")), indent=indent)
    if remedy.do:
        page.add("what to do:", indent=indent)
        page.items(remedy.do, indent=indent + 2, numbered=True)
    if remedy.verify:
        page.add("how to check:", indent=indent)
        for check in remedy.verify:
            where = f"on {check.host}: " if check.host else "$ "
            page.add(check.command, lead=where, indent=indent + 2, wrap=False)
    for reference in remedy.references:
        page.label("see", reference, indent=indent)


def add_missing(page: Page, facts: Iterable[MissingFact], indent: int) -> None:
    """Add the facts that are missing, why each matters, and the command that fetches it; nothing where there are none."""
    for number, fact in enumerate(facts):
        if number == 0:
            page.add("what is missing:", indent=indent, style="bold yellow")
        page.add(fact.fact, lead="- ", indent=indent + 2)
        if fact.why:
            page.add(fact.why, lead="why: ", indent=indent + 4)
        if fact.command:
            page.add(fact.command, lead="get it: ", indent=indent + 4, wrap=False)


def _unexplained(page: Page, records: tuple[Unexplained, ...]) -> None:
    page.add(f"{plural(len(records), 'kind')} of error records that no rule explains:", style="bold")
    for record in records[:UNEXPLAINED]:
        times = f"  {record.count:,} times" if record.count > 1 else ""
        head = f"{record.source}:{record.line}  {format_moment(record.instant)}  {name_actor(record.actor)}{times}"
        page.add(head, indent=2, style="cyan")
        page.add(record.text, lead="| ", indent=4, lead_style="dim")
    if len(records) > UNEXPLAINED:
        page.add(f"and {plural(len(records) - UNEXPLAINED, 'more kind')} ({ELSEWHERE})", indent=2)


# ------------------------------------------------------------------ coverage


def coverage_line(coverage: CoverageReport) -> str:
    """Return what was read in one sentence: sources, actors, interval, skew bound, and what was cut, merged or lost."""
    lines = sum(source.lines for source in coverage.sources)
    parts = [f"{plural(len(coverage.sources), 'source')} ({plural(lines, 'line')})"]
    if coverage.world_size is not None:
        parts.append(f"{coverage.ranks_seen} of {plural(coverage.world_size, 'rank')}")
    elif coverage.ranks_seen:
        parts.append(plural(coverage.ranks_seen, "rank"))
    parts.append(plural(len(coverage.actors), "actor"))
    firsts = [a.first for a in coverage.actors if a.first is not None]
    lasts = [a.last for a in coverage.actors if a.last is not None]
    if firsts and lasts:
        parts.append(format_interval(Interval(min(firsts, key=parse_time), max(lasts, key=parse_time))))
    parts.append(f"clocks of hosts within {coverage.skew_s:g} s")
    truncated = sum(source.truncated for source in coverage.sources)
    losses = [
        (truncated, f"{plural(truncated, 'source')} cut"),
        (n := sum(s.merged for s in coverage.sources), f"{plural(n, 'line')} merged by a source"),
        (n := sum(s.evicted for s in coverage.sources), f"{plural(n, 'sighting')} dropped"),
        (n := len(coverage.notes) + sum(len(s.notes) for s in coverage.sources), f"{plural(n, 'note')} (see --coverage)"),
    ]
    parts += [text for count, text in losses if count]
    return "; ".join(parts)


def coverage_page(coverage: CoverageReport) -> Page:
    """Return all that was read, per actor and kind, then per source."""
    page = Page()
    _coverage(page, coverage)
    return page


def _width(gap: Interval) -> int:
    return parse_time(gap.hi) - parse_time(gap.lo)


def _coverage(page: Page, coverage: CoverageReport) -> None:
    page.add("Coverage by actor and kind of log:", style="bold")
    for actor in coverage.actors:
        page.add(f"{name_actor(actor.actor)}, {actor.kind or 'unknown kind'}", lead="- ", indent=2)
        times = format_interval(Interval(actor.first, actor.last)) if actor.first and actor.last else "no line with a time"
        untimed = f", {actor.untimed:,} without a time" if actor.untimed else ""
        state = ("; cut" if actor.truncated else "") + ("; repeats merged" if actor.merged else "")
        page.add(f"{times}; {plural(actor.lines, 'line')}{untimed}{state}; in {', '.join(actor.sources)}", indent=4)
        if actor.silent_since is not None:
            since = format_interval(Interval(actor.silent_since, actor.silent_since))
            page.add(f"silent since {since}, while others go on", indent=4, style="yellow")
        longest = sorted(actor.gaps, key=_width, reverse=True)[:GAPS]
        for gap in (gap for gap in actor.gaps if gap in longest):
            page.add(f"silent {format_interval(gap)} ({format_duration(_width(gap))})", indent=4, style="yellow")
        if len(actor.gaps) > GAPS:
            page.add(f"{plural(len(actor.gaps) - GAPS, 'shorter gap')}; {ELSEWHERE}", indent=4)
    if coverage.unread:
        page.add("Not read:", style="bold")
        for unread in coverage.unread:
            page.add(f"the {unread.kind} log of {name_actor(unread.actor)}", lead="- ", indent=2)
        if coverage.unread_count > len(coverage.unread):
            page.add(f"and {coverage.unread_count - len(coverage.unread):,} more", lead="- ", indent=2)
    page.add("Coverage by source:", style="bold")
    for source in coverage.sources:
        page.add(f"{source.source}  {source.layout or 'plain lines'}", lead="- ", indent=2)
        flags = [f"{plural(source.lines, 'line')}", f"{plural(source.bytes, 'byte')}"]
        flags += ["cut"] if source.truncated else []
        flags += [f"{source.merged:,} lines merged"] if source.merged else []
        flags += [f"{source.evicted:,} sightings dropped"] if source.evicted else []
        page.add(", ".join((*flags, *source.notes)), indent=4)
    page.items(coverage.notes, indent=2)


# ------------------------------------------------------------------ explanations


def explanation_page(explanations: Iterable[Explanation]) -> Page:
    """Return how a rule came out, clause by clause: its truth, the reason, the nearest miss, the evidence."""
    page = Page()
    for explanation in explanations:
        page.blank()
        key = f" for {explanation.key}" if explanation.key else ""
        page.add(f"{explanation.rule}{key}: {explanation.outcome}", style="bold")
        for clause in explanation.clauses:
            add_clause(page, clause, 2)
            own = tuple(e for e in explanation.evidence if e.step == clause.step)
            _records(page, own, 2 + LABEL_WIDTH, ROOT_EVIDENCE)
    return page


def add_clause(page: Page, clause: ClauseResult, indent: int) -> None:
    """Add how one clause came out: its truth, its words, the reason and the nearest miss."""
    page.add(clause.text, lead=clause.truth.ljust(LABEL_WIDTH), indent=indent, lead_style=_TRUTHS[clause.truth])
    why = "; ".join(filter(None, (clause.reason, nearest_miss(clause))))
    if why:
        page.add(why, indent=indent + LABEL_WIDTH)


_TRUTHS: Final = {"true": "bold green", "false": "bold red", "undetermined": "bold yellow"}


# ------------------------------------------------------------------ forms


def render_text(report: Report) -> str:
    """Return the report as text without styles."""
    return report_page(report).plain()


def render_json(report: Report) -> str:
    """Return the report as one indented JSON document."""
    return schema.to_json(report) + "\n"


def render_jsonl(report: Report) -> str:
    """Return one line for each root incident, then one line with verdict, unexplained errors and coverage.

    Each line has a `type` (`incident` or `report`) and the `schema` of the report that it is part of.
    """
    body = schema.to_dict(report)
    incidents = body.pop("incidents")
    rows = [{"type": "incident", "schema": report.schema, **incident} for incident in incidents]
    return "".join(schema.dump(row) + "\n" for row in (*rows, {"type": "report", **body}))


BUILTIN: Final[Mapping[str, Renderer]] = {"text": render_text, "json": render_json, "jsonl": render_jsonl}


def find_renderer(name: str) -> Renderer:
    """Return a renderer by name: a built-in one, or the plug-in that is registered under that name.

    Raises:
        UsageError: there is none of that name.
        PluginError: a plug-in does not load or can't be called.
    """
    if name in BUILTIN:
        return BUILTIN[name]
    offered = plugins.load(plugins.RENDERERS)
    if name not in offered:
        raise UsageError(f"unknown format {name!r}; known: {', '.join((*BUILTIN, *offered))}")
    return cast("Renderer", offered[name])
