"""Running fixture cases: the differences between a report and what a case says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samples import evidence, incident, nested, report

from denpex_rules import fixtures
from denpex_rules.cases import Accused, Case, Expected
from denpex_rules.errors import UsageError
from denpex_rules.finding import ClauseResult, Explanation, Report, Suspect
from denpex_rules.fixtures import compare, run_case
from denpex_rules.program import Program
from denpex_rules.rule import Rule

RULE = "hardware.gpu.fell_off_bus"
PROGRAM = Program((Rule(RULE, "core", "title", "gpu.fell_off_bus", ("job",), 1, ()),), (), ())


def case(*logs: str, **expected: Any) -> Case:
    """Return a case in the folder `/cases/x` that expects what the sample report says, with changes."""
    fields: dict[str, Any] = {"says": "x", "outcome": "confirmed", "rule": RULE}
    folder = Path("/cases/x")
    return Case(folder, tuple(folder / log for log in logs or ("a.log",)), Expected(**{**fields, **expected}))


def differences(expected: Case, got: Report | None = None) -> list[str]:
    """Return the differences between a case and a report (the sample one by default)."""
    return list(compare(expected, got or report()))


def test_everything_as_expected() -> None:
    """A report that is what the case says in every key has no differences."""
    accused = Accused(5, "node-02", "0000:41:00.0", "certain")
    whole = case(
        verdict="failed",
        initiators=(accused,),
        first="kern_node-02.log:118",
        onset="2026-11-30T10:04:10Z/2026-11-30T10:04:12Z",
        innocent=(Accused(rank=0), Accused(host="node-01")),
        explains=("collective.timeout",),
        missing=(),
    )
    assert differences(whole) == []


@pytest.mark.parametrize(
    ("expected", "difference"),
    [
        ({"verdict": "stopped"}, "verdict: expected stopped, got failed"),
        ({"outcome": "inconclusive"}, "outcome: expected inconclusive, got confirmed"),
        ({"first": "rank0.log:1"}, "first evidence: expected rank0.log:1, got kern_node-02.log:118"),
        (
            {"onset": "2026-11-30T10:04:10Z"},
            "onset: expected 2026-11-30T10:04:10Z, got 2026-11-30T10:04:10Z/2026-11-30T10:04:12Z",
        ),
        ({"onset": "unknown"}, "onset: expected unknown, got 2026-11-30T10:04:10Z/2026-11-30T10:04:12Z"),
        ({"explains": ()}, "explains extra: core:framework.collective_timeout"),
        ({"explains": ("collective.timeout", "host.oom")}, "explains missed: host.oom"),
        ({"missing": ("kernel log",)}, "missing fact not reported: kernel log"),
        (
            {"innocent": (Accused(rank=5),)},
            "innocent, but accused by core:hardware.gpu.fell_off_bus: rank 5, host node-02, device 0000:41:00 (certain)",
        ),
        ({"initiators": ()}, "initiator extra: rank 5, host node-02, device 0000:41:00 (certain)"),
    ],
)
def test_one_difference(expected: dict[str, Any], difference: str) -> None:
    """One thing that is not as expected gives exactly one difference, which names both sides."""
    assert differences(case(**expected)) == [difference]


def test_wrong_initiator_is_missed_and_extra() -> None:
    """A wrong initiator is said twice: who was missed, and who was accused instead."""
    assert differences(case(initiators=(Accused(rank=3),))) == [
        "initiator missed: rank 3",
        "initiator extra: rank 5, host node-02, device 0000:41:00 (certain)",
    ]


def test_one_suspect_fits_one_expectation() -> None:
    """Two expected initiators need two suspects, even where one would fit both."""
    assert differences(case(initiators=(Accused(rank=5), Accused(host="node-02")))) == ["initiator missed: host node-02"]


def test_missing_finding() -> None:
    """A finding that did not come is one difference, with what the report says instead."""
    instead = "failed (core:hardware.gpu.fell_off_bus confirmed, rank 5, host node-02, device 0000:41:00 (certain))"
    missed = differences(case(rule="host.oom", initiators=(Accused(rank=5),)))
    assert missed == [f"missed: no finding of host.oom; the report is {instead}"]


@pytest.mark.parametrize("rule", [RULE, f"core:{RULE}", "framework.collective_timeout", None])
def test_quiet(rule: str | None) -> None:
    """A quiet case has no finding of its rule, root or nested; without a rule, none at all."""
    quiet = case(outcome="quiet", rule=rule)
    assert all(difference.startswith("extra: core:") for difference in differences(quiet))
    assert differences(quiet)
    assert differences(quiet, Report("healthy")) == []


def test_quiet_is_about_its_own_rule() -> None:
    """Findings of other rules don't break a case whose rule must be quiet, unless they accuse an innocent."""
    assert differences(case(outcome="quiet", rule="host.oom")) == []
    assert len(differences(case(outcome="quiet", rule="host.oom", innocent=(Accused(rank=5),)))) == 1


def test_nested_finding_is_found() -> None:
    """A finding that another explains is compared like a root one; its missing facts are its own."""
    symptom = case(
        rule="framework.collective_timeout", initiators=(), onset="unknown", explains=(), missing=("kernel log of node-02",)
    )
    assert differences(symptom) == []
    assert differences(case(rule="framework.collective_timeout", missing=())) == [
        "missing fact extra: kernel log of node-02, 10:00 to 10:10",
    ]


def test_innocent_in_a_nested_finding() -> None:
    """An innocent that a nested finding accuses is a difference too."""
    bad = incident(explains=(incident(rule="core:x.y", initiators=(Suspect(0, None, None, "likely"),), explains=()),))
    assert differences(case(innocent=(Accused(rank=0),)), report(incidents=(bad,))) == [
        "innocent, but accused by core:x.y: rank 0 (likely)",
    ]


def test_closest_of_several_findings() -> None:
    """Of several findings of the rule the closest is compared; initiators of the others that nobody expects are extra."""
    other = incident(
        id="2",
        initiators=(Suspect(1, None, None, "likely"),),
        onset=None,
    )
    both = report(incidents=(other, incident()))
    right = {"initiators": (Accused(rank=5),), "onset": "2026-11-30T10:04:10Z/2026-11-30T10:04:12Z"}
    assert differences(case(**right), both) == ["initiator extra, in another finding of the rule: rank 1 (likely)"]
    twice = report(incidents=(incident(), incident(id="2")))
    assert differences(case(**right), twice) == []


@pytest.mark.parametrize("source", ["kern.log", "/cases/x/kern.log"])
def test_first_is_relative_to_the_case(source: str) -> None:
    """The first evidence is named relative to the case's folder, however the scan names its sources."""
    got = report(incidents=(incident(evidence=(evidence(source=source, line=7),)),))
    assert differences(case(first="kern.log:7"), got) == []


def test_no_evidence() -> None:
    """A finding without evidence has no first line."""
    got = report(incidents=(incident(evidence=()),))
    assert differences(case(first="a.log:1"), got) == ["first evidence: expected a.log:1, got no evidence"]


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
