"""What one case shows of one rule: its incident, and its evidence as a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from denpex_rules import engine
from denpex_rules.cases import Case
from denpex_rules.finding import Evidence, Incident
from denpex_rules.program import Program
from denpex_rules.wording import format_moment, name_actor


@frozen
class Line:
    """One line of evidence: when, of whom, where it stands (`file:line` below the case), and the rule and step that use it."""

    when: str
    who: str
    where: str
    rule: str
    step: str
    text: str


@frozen
class Story:
    """One case of a rule; without an incident of the rule (a quiet case) only the case itself."""

    case: Case
    name: str
    incident: Incident | None = None
    lines: tuple[Line, ...] = ()


def tell(cases: Iterable[Case], program: Program) -> Mapping[str, tuple[Story, ...]]:
    """Return the stories of each rule by its `pack:path`, in the order of the cases; the logs of quiet cases are not scanned."""
    stories: dict[str, list[Story]] = {}
    for case in cases:
        if case.expected.rule is not None:
            stories.setdefault(program.rule(case.expected.rule).qualified, []).append(_story(case, program))
    return {rule: tuple(found) for rule, found in stories.items()}


def _story(case: Case, program: Program) -> Story:
    name, expected = case.folder.name, case.expected
    if expected.outcome == "quiet" or expected.rule is None:
        return Story(case, name)
    rule = program.rule(expected.rule).qualified
    report = engine.scan(case.logs, program, expected.options)
    own = next((i for root in report.incidents for i in _all(root) if i.rule == rule and i.outcome == expected.outcome), None)
    return Story(case, name) if own is None else Story(case, name, own, _lines(own, case))


def _all(incident: Incident) -> Iterator[Incident]:
    yield incident
    for one in incident.explains:
        yield from _all(one)


def _lines(incident: Incident, case: Case) -> tuple[Line, ...]:
    """Return an incident's evidence by time (what has none last), and of what it explains each rule's first line of each actor."""
    own = {(e.source, e.line): (incident.rule, e) for e in incident.evidence}
    first: dict[tuple[str, str], tuple[str, Evidence]] = {}
    for one in _all(incident):
        for e in one.evidence:
            if (e.source, e.line) not in own:
                first.setdefault((one.rule, name_actor(e.actor)), (one.rule, e))
    found = [*own.values(), *first.values()]
    ordered = sorted(found, key=lambda pair: (pair[1].instant.lo or "~", pair[1].source, pair[1].line))
    return tuple(_line(rule, e, case) for rule, e in ordered)


def _line(rule: str, evidence: Evidence, case: Case) -> Line:
    source = evidence.source.removeprefix(f"{case.folder.as_posix()}/").removeprefix(f"{case.folder.resolve().as_posix()}/")
    when, who = format_moment(evidence.instant), name_actor(evidence.actor)
    return Line(when, who, f"{source}:{evidence.line}", rule, evidence.step, evidence.text)
