"""The whole way from logs to a report, and its halves apart: `sight` (bytes to sightings) and `correlate` (sightings to report).

Nothing here needs the parser: a Program that was compiled or loaded is all that a scan takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from os import PathLike
from typing import Final

from denpex_rules import blame, report, sources
from denpex_rules.correlator import Match, match_rule
from denpex_rules.errors import UsageError
from denpex_rules.finding import Explanation, Reasoning, Report
from denpex_rules.garbage import kept_waiting
from denpex_rules.judgement import DEFAULT, Options, matches_on, related, report_on, timeline_of
from denpex_rules.missing import Context
from denpex_rules.program import Program
from denpex_rules.reading import OnRead, Reading, silent
from denpex_rules.session import Session
from denpex_rules.sighting import Emitter, Scan

__all__ = [
    "DEFAULT",
    "Options",
    "Session",
    "correlate",
    "explain",
    "matches",
    "reason",
    "scan",
    "scan_bytes",
    "scan_lines",
    "sight",
]

_REASONING: Final = "denpex_rules.reasoning"  # imported when it is asked for: a report needs none

# ------------------------------------------------------------------ scan half


def sight(
    paths: Iterable[str | PathLike[str]],
    program: Program,
    options: Options = DEFAULT,
    *,
    jobs: int = 1,
    on_read: OnRead = silent,
) -> Scan:
    """Read files and folders and return their sightings and coverage.

    Args:
        paths: files and folders; `-` is standard input.
        program: the events to look for.
        options: how the logs are read.
        jobs: how many processes read; 0: as many as there are processors, where the logs are large.
        on_read: is told of each number of bytes that was read, and of how many the files hold.

    Raises:
        UsageError: a path does not exist, or a process that reads was killed.
    """
    with kept_waiting():
        return Reading(program, options, jobs, on_read).scan(sources.expand(paths))


# ------------------------------------------------------------------ correlate half


def correlate(scan: Scan, program: Program, options: Options = DEFAULT) -> Report:
    """Return the report of a scan; the order of its parts does not matter."""
    return report_on(timeline_of(scan, program, options), scan, program, options)


def matches(scan: Scan, program: Program, options: Options = DEFAULT) -> tuple[Match, ...]:
    """Return how every rule whose trigger was seen came out, quiet ones included, rule by rule."""
    return tuple(matches_on(timeline_of(scan, program, options), program))


# ------------------------------------------------------------------ both


def scan(paths: Iterable[str | PathLike[str]], program: Program, options: Options = DEFAULT) -> Report:
    """Read files and folders and return the report. Raises UsageError for a path that does not exist."""
    with kept_waiting():
        return correlate(sight(paths, program, options), program, options)


def scan_bytes(logs: Mapping[str, bytes], program: Program, options: Options = DEFAULT) -> Report:
    """Return the report of logs that are in memory, by name; names are read like file names."""
    read = [source for name, data in sorted(logs.items()) for source in sources.held_in(name, data)]
    return correlate(Reading(program, options).scan(sources.joined(read)), program, options)


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
    line = timeline_of(sight(paths, program, options), program, options)
    events = {e.id: e for e in program.events}
    return tuple(_explanation(m) for m in match_rule(rules[rule_id], events, line))


def reason(scan: Scan, program: Program, options: Options = DEFAULT) -> tuple[Reasoning, ...]:
    """Return the whole reasoning of every incident that the report of a scan has, in its order."""
    line = timeline_of(scan, program, options)
    found = tuple(matches_on(line, program))
    nodes, context = related(found, line, program), Context(program, line)
    told: tuple[Reasoning, ...] = import_module(_REASONING).reason(
        nodes, found, context, report.build(nodes, context, scan, gaps=False)
    )
    return told


def _explanation(match: Match) -> Explanation:
    names = [f"{name} {value}" for name, value in zip(match.rule.keys, match.key, strict=False) if value is not None]
    if len(match.key) > len(match.rule.keys) and isinstance(match.key[-1], Emitter):
        names.append(f"in {match.key[-1].source}")
    evidence = tuple(report.evidence(step, s, match.scope) for step, s in blame.evidence(match))
    clauses = tuple(report.clause_result(c, near=True) for c in match.clauses)
    return Explanation(match.rule.qualified, ", ".join(names), match.outcome, clauses, evidence)
