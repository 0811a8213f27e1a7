"""Running fixture cases: scan the logs, compare the report with what the case says, and tell why it differs.

`innocent` is checked against every incident, whichever rule gave it, and by default the files are also scanned in another
order, which must change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen

from denpex_rules import engine, schema
from denpex_rules.cases import CASE_FILE, Accused, Case, parse_onset
from denpex_rules.clock import parse_time
from denpex_rules.errors import UsageError
from denpex_rules.finding import Explanation, Incident, Report, Suspect
from denpex_rules.program import Program
from denpex_rules.wording import name_actor, nearest_miss

EXPLAINED_KEYS: Final = 3  # keys of a rule whose clauses are shown when the expected finding did not come
DECISIVE: Final = frozenset({"require", "unless"})  # the clauses that decide an outcome; all others only add to it


@frozen
class CaseResult:
    """How one case came out: `differences` is empty when it passed; `why` tells which clauses kept an expected finding away."""

    case: Case
    differences: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the case came out as it says."""
        return not self.differences


# ------------------------------------------------------------------ running cases


def run_case(case: Case, program: Program, *, shuffle: bool = True) -> CaseResult:
    """Scan a case's logs and compare the report with what the case says.

    Args:
        case: the case.
        program: the compiled rules.
        shuffle: scan a second time with the files in another order; the reports must be equal.

    Returns:
        The differences, and for an expected finding that did not come, the clauses that kept it away.

    Raises:
        UsageError: the case names a rule that the program does not have.
    """
    expected, options = case.expected, case.expected.options
    if expected.rule is not None and not _knows(program, expected.rule):
        raise UsageError(f"{case.folder / CASE_FILE}: unknown rule {expected.rule}")
    report = engine.scan(case.logs, program, options)
    differences = list(compare(case, report))
    if shuffle and len(case.logs) > 1:
        again = engine.scan((*case.logs[1::2][::-1], *case.logs[::2]), program, options)
        if again != report:
            changed = _first_change(schema.to_dict(report), schema.to_dict(again), "report")
            differences.append(f"the order of the files changes the result: {changed}")
    why: tuple[str, ...] = ()
    if expected.rule is not None and not any(i.outcome == expected.outcome for i in _of_rule(report, expected.rule)):
        why = tuple(_clauses(engine.explain(case.logs, program, expected.rule, options)))
    return CaseResult(case, tuple(differences), why if differences else ())


def _knows(program: Program, rule: str) -> bool:
    return any(rule in {known.id, known.qualified} for known in program.rules)


def compare(case: Case, report: Report) -> Iterator[str]:
    """Give every difference between a report and what the case says: what was missed and what is extra, nothing else."""
    expected = case.expected
    if expected.verdict is not None and report.verdict != expected.verdict:
        yield f"verdict: expected {expected.verdict}, got {report.verdict}"
    accusations = [(incident, suspect) for incident in _flatten(report.incidents) for suspect in incident.initiators]
    for incident, suspect in accusations:
        if any(innocent.fits(suspect) for innocent in expected.innocent):
            yield f"innocent, but accused by {incident.rule}: {_suspect(suspect)}"
    found = _of_rule(report, expected.rule)
    if expected.outcome == "quiet":
        for incident in found:
            yield f"extra: {_title(incident)}"
        return
    if not found:
        yield f"missed: no finding of {expected.rule}; the report is {_brief(report)}"
        return
    closest, *others = sorted(found, key=lambda incident: len(list(_compare_incident(case, incident))))
    yield from _compare_incident(case, closest)
    if expected.initiators is not None:
        strangers = dict.fromkeys(s for i in others for s in i.initiators if not any(a.fits(s) for a in expected.initiators))
        yield from (f"initiator extra, in another finding of the rule: {_suspect(s)}" for s in strangers)


def _compare_incident(case: Case, incident: Incident) -> Iterator[str]:
    expected = case.expected
    if incident.outcome != expected.outcome:
        yield f"outcome: expected {expected.outcome}, got {incident.outcome}"
    if expected.initiators is not None:
        yield from _compare_initiators(expected.initiators, incident.initiators)
    if expected.first is not None:
        first = _place(case, incident)
        if first != expected.first:
            yield f"first evidence: expected {expected.first}, got {first}"
    if expected.onset is not None:
        onset = (parse_time(incident.onset.lo), parse_time(incident.onset.hi)) if incident.onset else None
        if onset != parse_onset(expected.onset):
            got = f"{incident.onset.lo}/{incident.onset.hi}" if incident.onset else "unknown"
            yield f"onset: expected {expected.onset}, got {got}"
    if expected.explains is not None:
        yield from _compare_explains(expected.explains, tuple(_flatten(incident.explains)))
    if expected.missing is not None:
        yield from _compare_missing(expected.missing, tuple(fact.fact for fact in incident.missing))


def _compare_initiators(expected: Sequence[Accused], actual: Sequence[Suspect]) -> Iterator[str]:
    left = list(actual)
    for accused in expected:
        match = next((suspect for suspect in left if accused.fits(suspect)), None)
        if match is None:
            yield f"initiator missed: {accused.label()}"
        else:
            left.remove(match)
    for suspect in left:
        yield f"initiator extra: {_suspect(suspect)}"


def _compare_explains(expected: Sequence[str], actual: Sequence[Incident]) -> Iterator[str]:
    for name in expected:
        if not any(name in _names(incident) for incident in actual):
            yield f"explains missed: {name}"
    for incident in actual:
        if not _names(incident) & set(expected):
            yield f"explains extra: {incident.rule}"


def _compare_missing(expected: Sequence[str], actual: Sequence[str]) -> Iterator[str]:
    for part in expected:
        if not any(part in fact for fact in actual):
            yield f"missing fact not reported: {part}"
    if not expected:
        for fact in actual:
            yield f"missing fact extra: {fact}"


# ------------------------------------------------------------------ words


def _flatten(incidents: Iterable[Incident]) -> Iterator[Incident]:
    for incident in incidents:
        yield incident
        yield from _flatten(incident.explains)


def _names(incident: Incident) -> set[str]:
    return {incident.rule, incident.rule.partition(":")[2], incident.cls}


def _of_rule(report: Report, rule: str | None) -> list[Incident]:
    """Return the incidents of one rule, nested ones too; all incidents where no rule is named."""
    return [i for i in _flatten(report.incidents) if rule is None or rule in {i.rule, i.rule.partition(":")[2]}]


def _place(case: Case, incident: Incident) -> str:
    """Return `file:line` of the first evidence, the file relative to the case's folder."""
    if not incident.evidence:
        return "no evidence"
    first = incident.evidence[0]
    source = first.source.removeprefix(f"{case.folder.as_posix()}/").removeprefix(f"{case.folder.resolve().as_posix()}/")
    return f"{source}:{first.line}"


def _suspect(suspect: Suspect) -> str:
    return f"{name_actor(suspect)} ({suspect.certainty})"


def _title(incident: Incident) -> str:
    accused = "; ".join(map(_suspect, incident.initiators)) or "nobody accused"
    return f"{incident.rule} {incident.outcome}, {accused}"


def _brief(report: Report) -> str:
    return f"{report.verdict} ({'; '.join(map(_title, report.incidents)) or 'no incident'})"


def _first_change(old: Any, new: Any, place: str) -> str:
    """Return where two plain values first differ, and both values there."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return next(_first_change(old[key], new[key], f"{place}.{key}") for key in old if old[key] != new[key])
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return next(_first_change(a, b, f"{place}[{n}]") for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    return f"{place} was {_short(old)}, became {_short(new)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _clauses(explanations: Sequence[Explanation]) -> Iterator[str]:
    """Give the clauses that kept a finding away, with the nearest miss of each."""
    if not explanations:
        yield "its trigger was not seen"
    for number, explanation in enumerate(explanations[:EXPLAINED_KEYS], 1):
        key = explanation.key or (f"match {number}" if len(explanations) > 1 else "")
        for clause in explanation.clauses:
            if clause.truth != "true" and clause.verb in DECISIVE:
                reason = "; ".join(filter(None, (clause.reason, nearest_miss(clause))))
                head = f"{key}: " if key else ""
                yield f"{head}{clause.truth}: {clause.text}" + (f" ({reason})" if reason else "")
