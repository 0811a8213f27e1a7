"""What a report says other than a case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from denpex_rules.cases import Accused, Case, Expected
from denpex_rules.difference import compare, evidence_difference, wrong_accusations
from denpex_rules.finding import Report, Suspect
from samples import evidence, incident, report

RULE = "hardware.gpu.fell_off_bus"


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


# ------------------------------------------------------------------ evidence

FIRST = "kern_node-02.log:118"
BOTH = ("kern_node-02.log:118", "rank0.log:77")


def test_all_evidence() -> None:
    """A case that lists the evidence differs where a line is missed or extra."""
    assert differences(case(evidence=BOTH)) == []
    assert differences(case(evidence=BOTH[:1])) == ["evidence extra: rank0.log:77"]
    assert differences(case(evidence=(*BOTH, "rank3.log:1"))) == ["evidence missed: rank3.log:1"]


def test_lines_of_evidence(tmp_path: Path) -> None:
    """A missed line is shown as it stands in its file, an extra one as the report has it."""
    log = tmp_path / "rank3.log"
    log.write_text("one\ntwo \x1b[2J\n", encoding="utf-8")
    wanted = Case(tmp_path, (log,), Expected("x", "confirmed", RULE, evidence=("rank3.log:2", FIRST)))
    missed, extra = evidence_difference(wanted, report())
    assert missed == "- rank3.log:2  two \x1b[2J"
    assert extra.startswith("+ rank0.log:77  [rank0] Watchdog caught collective operation timeout")


def test_first_line_alone() -> None:
    """Where only the first line is pinned, only the first line that was given is extra."""
    assert evidence_difference(case(first=FIRST), report()) == ()
    missed, extra = evidence_difference(case(first="rank0.log:1"), report())
    assert missed == "- rank0.log:1"
    assert extra.startswith(f"+ {FIRST}  NVRM: Xid")


@pytest.mark.parametrize("place", ["gone.log:3", "rank0.log:99", "rank0.log:x", "../../etc/passwd:1", "rank0.log"])
def test_line_that_is_not_there(tmp_path: Path, place: str) -> None:
    """A line of no file of the case, or beyond its end, is shown by its place alone; no other file is opened."""
    log = tmp_path / "rank0.log"
    log.write_text("one\n", encoding="utf-8")
    wanted = Case(tmp_path, (log,), Expected("x", "confirmed", RULE, first=place))
    assert evidence_difference(wanted, report())[0] == f"- {place}"


def test_evidence_of_what_should_be_quiet() -> None:
    """The lines of a finding that should not be are all extra; of many, the first few."""
    quiet = case(outcome="quiet")
    assert [line[:22] for line in evidence_difference(quiet, report())] == [
        "+ kern_node-02.log:118",
        "+ rank0.log:77  [rank0]"[:22],
    ]
    many = report(incidents=(incident(evidence=tuple(evidence(line=n) for n in range(100))),))
    assert len(evidence_difference(quiet, many)) == 8


def test_nothing_pinned() -> None:
    """A case that says nothing about evidence shows none, even where nothing was found."""
    assert evidence_difference(case(), report()) == ()
    assert evidence_difference(case(first=FIRST), Report("healthy")) == (f"- {FIRST}",)


def test_long_lines_are_cut() -> None:
    """A line of a log is shown up to 200 characters."""
    long = report(incidents=(incident(evidence=(evidence(text="x" * 5000, line=1),)),))
    _, extra = evidence_difference(case(first="b.log:1"), long)
    assert len(extra) < 250


# ------------------------------------------------------------------ accusations


def test_reasons_of_wrong_accusations() -> None:
    """Who is accused and should not be is told with the reasons; what was expected is not."""
    who = "rank 5, host node-02, device 0000:41:00 (certain)"
    told = f"{who} is accused by core:hardware.gpu.fell_off_bus: the kernel log of node-02 names the device"
    assert list(wrong_accusations(case(innocent=(Accused(rank=5),)), report())) == [told]
    assert list(wrong_accusations(case(initiators=(Accused(rank=4),)), report())) == [told]
    assert list(wrong_accusations(case(initiators=(Accused(rank=5),)), report())) == []
    assert list(wrong_accusations(case(), report())) == []
    assert list(wrong_accusations(case(rule="host.oom", initiators=()), report())) == []
