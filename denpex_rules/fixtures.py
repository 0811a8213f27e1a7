"""Running fixture cases: scan the logs, compare the report with what the case says, and tell why it differs.

`innocent` is checked against every incident, whichever rule gave it, and by default the files are also scanned in another
order, which must change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from denpex_rules import engine, schema
from denpex_rules.cases import CASE_FILE, Case
from denpex_rules.difference import LONGEST, compare, evidence_difference, of_rule, wrong_accusations
from denpex_rules.errors import UsageError
from denpex_rules.finding import Explanation, Report
from denpex_rules.judgement import Options
from denpex_rules.program import Program
from denpex_rules.record import LineFormat
from denpex_rules.wording import nearest_miss

EXPLAINED_KEYS: Final = 3  # keys of a rule whose clauses are shown when the expected finding did not come
DECISIVE: Final = frozenset({"require", "unless"})  # the clauses that decide an outcome; all others only add to it


@frozen
class CaseResult:
    """How one case came out.

    `differences` is empty when it passed. `evidence` are the lines that were missed (`- file:line  text`) and that are extra
    (`+ …`); `why` tells how the clauses of the rule came out that kept an expected finding away, or gave one that was not.
    """

    case: Case
    differences: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the case came out as it says."""
        return not self.differences

    def text(self) -> str:
        """Return why the case failed, for a person: what it says, what differs, lines of evidence, clauses; "" when it passed."""
        if self.passed:
            return ""
        lines = [f"says: {self.case.expected.says}", *(f"- {difference}" for difference in self.differences)]
        how = f"how {self.case.expected.rule or 'this'} came out:"
        for head, found in (("evidence, missed and extra:", self.evidence), (how, self.why)):
            lines += [head, *(f"  {line}" for line in found)] if found else []
        return "\n".join(lines)


# ------------------------------------------------------------------ running cases


def run_case(case: Case, program: Program, *, shuffle: bool = True, formats: tuple[LineFormat, ...] = ()) -> CaseResult:
    """Scan a case's logs and compare the report with what the case says.

    Args:
        case: the case.
        program: the compiled rules.
        shuffle: scan a second time with the files in another order; the reports must be equal.
        formats: log formats of the project's own.

    Returns:
        The differences, and for an expected finding that did not come, the clauses that kept it away.

    Raises:
        UsageError: the case names a rule that the program does not have.
    """
    expected, options = case.expected, evolve(case.expected.options, formats=formats)
    if expected.rule is not None and not _knows(program, expected.rule):
        raise UsageError(f"{case.folder / CASE_FILE}: unknown rule {expected.rule}")
    report = engine.scan(case.logs, program, options)
    differences = list(compare(case, report))
    if shuffle and len(case.logs) > 1:
        again = engine.scan((*case.logs[1::2][::-1], *case.logs[::2]), program, options)
        if again != report:
            changed = _first_change(schema.to_dict(report), schema.to_dict(again), "report")
            differences.append(f"the order of the files changes the result: {changed}")
    if not differences:
        return CaseResult(case)
    return CaseResult(case, tuple(differences), tuple(_why(case, program, report, options)), evidence_difference(case, report))


def _why(case: Case, program: Program, report: Report, options: Options) -> Iterator[str]:
    """Give the reasons of wrong accusations, and how the rule of a case came out where it should have come out otherwise."""
    expected = case.expected
    yield from wrong_accusations(case, report)
    if expected.rule is None:
        return
    outcomes = {incident.outcome for incident in of_rule(report, expected.rule)}
    if expected.outcome in outcomes or (expected.outcome == "quiet" and not outcomes):
        return
    explanations = engine.explain(case.logs, program, expected.rule, options)
    wanted = dict(_examples(program, expected.rule))
    yield from (line.replace(f"{case.folder.as_posix()}/", "") for line in _clauses(explanations, wanted, expected.outcome))


def _examples(program: Program, name: str) -> Iterator[tuple[str, str]]:
    """Give each step of a rule that sees an event, and a line that it would have liked; the trigger first."""
    rule = next(rule for rule in program.rules if name in {rule.id, rule.qualified})
    events = {event.id: event for event in program.events}
    for step in sorted(rule.steps, key=lambda step: step.verb != "require"):
        event = events.get(step.event)
        if event is not None and event.like:
            yield step.name, event.like[0]


def _knows(program: Program, rule: str) -> bool:
    return any(rule in {known.id, known.qualified} for known in program.rules)


# ------------------------------------------------------------------ words


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


def _clauses(explanations: Sequence[Explanation], wanted: Mapping[str, str], outcome: str) -> Iterator[str]:
    """Give the clauses that kept a finding away, or that all were true where none should be.

    Args:
        explanations: how the rule came out for each key.
        wanted: by step, a line that it would have liked.
        outcome: what should have come out.
    """
    if not explanations:
        yield "its trigger was not seen" + next((f": no line is like `{_cut(line)}`" for line in wanted.values()), "")
    guilty = {"true"} if outcome == "quiet" else {"false", "undetermined"}
    shown = [e for e in explanations if outcome != "quiet" or e.outcome != "quiet"] or explanations
    for number, explanation in enumerate(shown[:EXPLAINED_KEYS], 1):
        key = explanation.key or (f"match {number}" if len(shown) > 1 else "")
        for clause in explanation.clauses:
            if clause.truth in guilty and clause.verb in DECISIVE:
                unseen = clause.verb == "require" and clause.nearest is None and clause.truth != "true"
                line = f"no line is like `{_cut(wanted[clause.step])}`" if unseen and clause.step in wanted else ""
                reason = "; ".join(filter(None, (clause.reason, nearest_miss(clause), line)))
                head = f"{key}: " if key else ""
                yield f"{head}{clause.truth}: {clause.text}" + (f" ({reason})" if reason else "")


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
