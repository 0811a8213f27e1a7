"""Running fixture cases, and telling why one fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from denpex_rules import compile_rules, fixtures, load_text
from denpex_rules.cases import Case, Expected
from denpex_rules.errors import UsageError
from denpex_rules.finding import ClauseResult, Explanation, Report
from denpex_rules.fixtures import CaseResult, run_case
from denpex_rules.program import Program
from denpex_rules.rule import Rule
from samples import evidence, incident, nested, report

RULE = "hardware.gpu.fell_off_bus"
PROGRAM = Program((Rule(RULE, "core", "title", "gpu.fell_off_bus", ("job",), 1, ()),), (), ())


def case(*logs: str, **expected: Any) -> Case:
    """Return a case in the folder `/cases/x` that expects what the sample report says, with changes."""
    fields: dict[str, Any] = {"says": "x", "outcome": "confirmed", "rule": RULE}
    folder = Path("/cases/x")
    return Case(folder, tuple(folder / log for log in logs or ("a.log",)), Expected(**{**fields, **expected}))


class Engine:
    """Stands in for the engine: gives prepared reports and remembers what it was asked."""

    def __init__(self, *reports: Report, explanations: list[Explanation] | None = None) -> None:
        self.reports = list(reports)
        self.explanations = explanations or []
        self.scans: list[tuple[Path, ...]] = []
        self.explained: list[str] = []

    def scan(self, paths: tuple[Path, ...], program: Program, options: object) -> Report:
        """Return the next prepared report."""
        assert program is PROGRAM
        self.scans.append(paths)
        return self.reports.pop(0)

    def explain(self, paths: tuple[Path, ...], program: Program, rule: str, options: object) -> list[Explanation]:
        """Return the prepared explanations."""
        self.explained.append(rule)
        return self.explanations


def test_run_case_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that comes out as it says passes, and nothing is explained."""
    engine = Engine(report())
    monkeypatch.setattr(fixtures, "engine", engine)
    result = run_case(case(), PROGRAM)
    assert (result.passed, result.differences, result.why) == (True, (), ())
    assert engine.explained == []


def test_run_case_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files are scanned twice, the second time in another order; on demand only once."""
    engine = Engine(report(), report(), report())
    monkeypatch.setattr(fixtures, "engine", engine)
    logs = case("a.log", "b.log", "c.log")
    assert run_case(logs, PROGRAM).passed
    first, second = engine.scans
    assert first != second
    assert sorted(first) == sorted(second)
    assert run_case(logs, PROGRAM, shuffle=False).passed
    assert engine.reports == []


def test_run_case_finds_dependence_on_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that changes with the order of the files fails the case."""
    monkeypatch.setattr(fixtures, "engine", Engine(report(), report(verdict="undecided")))
    result = run_case(case("a.log", "b.log"), PROGRAM)
    assert not result.passed
    assert result.differences == ("the order of the files changes the result: report.verdict was 'failed', became 'undecided'",)
    moved = report(incidents=(incident(evidence=(evidence(line=118), evidence(line=2))),))
    swapped = report(incidents=(incident(evidence=(evidence(line=118), evidence(line=3))),))
    monkeypatch.setattr(fixtures, "engine", Engine(moved, swapped))
    assert run_case(case("a.log", "b.log"), PROGRAM).differences == (
        "the order of the files changes the result: report.incidents[0].evidence[1].line was 2, became 3",
    )
    monkeypatch.setattr(fixtures, "engine", Engine(moved, report()))
    assert len(run_case(case("a.log", "b.log"), PROGRAM).differences[0]) < 1000


def test_run_case_explains_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an expected finding that did not come, the clauses that kept it away are told, with the nearest miss."""
    clauses = (
        ClauseResult("require", "lost", "require lost", "true"),
        ClauseResult("require", "timeout", "require timeout within 5m after lost", "false", "it came too late", 12.3),
        ClauseResult("unless", "silence", "unless silence for 60s", "undetermined", "the rank is unknown"),
        ClauseResult("confirm", "init", "confirm init", "undetermined", "it decides nothing"),
    )
    engine = Engine(Report("healthy"), explanations=[Explanation(RULE, "job 4711", "quiet", clauses)])
    monkeypatch.setattr(fixtures, "engine", engine)
    result = run_case(case(), PROGRAM)
    assert result.differences == (f"missed: no finding of {RULE}; the report is healthy (no incident)",)
    assert result.why == (
        "job 4711: false: require timeout within 5m after lost (it came too late; nearest miss 12.3 s)",
        "job 4711: undetermined: unless silence for 60s (the rank is unknown)",
    )
    assert engine.explained == [RULE]


def test_run_case_without_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the rule was never triggered, that is the reason."""
    monkeypatch.setattr(fixtures, "engine", Engine(report(incidents=(nested(),))))
    assert run_case(case(), PROGRAM).why == ("its trigger was not seen",)


def test_run_case_unknown_rule() -> None:
    """A case that names a rule that the program does not have can't pass as quiet: it is an error."""
    with pytest.raises(UsageError, match=r"unknown rule no\.such"):
        run_case(case(rule="no.such", outcome="quiet"), PROGRAM)


def test_passing_case_says_nothing() -> None:
    """A case that passed has nothing to tell."""
    assert CaseResult(case()).text() == ""


def test_text() -> None:
    """A failing case tells what it says, what differs, the lines of evidence and the clauses, in this order."""
    result = CaseResult(case(), ("missed: x",), ("false: require timeout",), ("- a.log:3  boom", "+ b.log:7  bang"))
    assert result.text().splitlines() == [
        "says: x",
        "- missed: x",
        "evidence, missed and extra:",
        "  - a.log:3  boom",
        "  + b.log:7  bang",
        f"how {RULE} came out:",
        "  false: require timeout",
    ]


RULES = """language 1
rule hardware.gpu.fell_off_bus {
  title "x"
  class gpu.fell_off_bus
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
    like "NVRM: Xid (PCI:0000:41:00): 79, pid=1"
  event late in rank "collective timed out after {ran:ms} ms"
    like "collective timed out after 600000 ms"
  per job within 2h
  require lost
  require late within 5m after lost
  blame device lost.device
}
"""
LOST = "2026-11-30T10:00:00Z node-02 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1\n"
LATE = "2026-11-30T10:{minutes:02}:00Z ERROR collective timed out after 600000 ms\n"


def real(folder: Path, **expected: Any) -> CaseResult:
    """Return how a case of real logs came out: a GPU that is lost, and a rank's timeout some minutes later."""
    logs = tuple(sorted(folder.glob("*.log")))
    fields: dict[str, Any] = {"says": "x", "outcome": "confirmed", "rule": RULE}
    return run_case(Case(folder, logs, Expected(**{**fields, **expected})), compile_rules(load_text(RULES)))


def test_nearest_miss_with_its_line(tmp_path: Path) -> None:
    """A required step that came too late is told with the seconds, and with the line that missed."""
    (tmp_path / "kern_node-02.log").write_text(LOST, encoding="utf-8")
    (tmp_path / "rank0.log").write_text(LATE.format(minutes=7), encoding="utf-8")
    result = real(tmp_path, first="kern_node-02.log:1")
    assert [line for line in result.why if "nearest miss" in line and line.endswith("at rank0.log:1)")] != []
    assert result.evidence == ()
    assert real(tmp_path, first="rank0.log:1").evidence[0] == f"- rank0.log:1  {LATE.format(minutes=7).strip()}"


def test_line_that_was_wanted(tmp_path: Path) -> None:
    """A step of which no line was seen is told with a line that it would have liked; so is a trigger."""
    (tmp_path / "kern_node-02.log").write_text(LOST, encoding="utf-8")
    (tmp_path / "rank0.log").write_text("2026-11-30T10:20:00Z INFO step 3 loss 2.0\n", encoding="utf-8")
    assert "no line is like `collective timed out after 600000 ms`" in " ".join(real(tmp_path).why)
    (tmp_path / "kern_node-02.log").unlink()
    assert real(tmp_path).why == ("its trigger was not seen: no line is like `NVRM: Xid (PCI:0000:41:00): 79, pid=1`",)


def test_finding_that_should_not_be(tmp_path: Path) -> None:
    """Where a rule should have been quiet, its lines are extra, and the clauses that held are told."""
    (tmp_path / "kern_node-02.log").write_text(LOST, encoding="utf-8")
    (tmp_path / "rank0.log").write_text(LATE.format(minutes=2), encoding="utf-8")
    result = real(tmp_path, outcome="quiet")
    assert [line.split("  ")[0] for line in result.evidence] == ["+ kern_node-02.log:1", "+ rank0.log:1"]
    assert [line.partition("true: ")[2] for line in result.why] == ["require lost", "require late between lost and lost + 5m"]
