"""Recorded runs of real jobs that were broken on purpose: whom the shipped rules name, whatever part of the logs is given.

`bench/faults` makes such runs by the hundred; these were kept, with what names a machine replaced.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import denpex_rules
from denpex_rules import Program
from fault_runs import Answer, Run, judge, load, read, views

RUNS = [load(path.parent) for path in sorted((Path(__file__).parent / "faults").glob("*/truth.toml"))]

# What the logs of a run can't tell, and why.
UNTOLD = {
    "other_size_plain": "gloo says that two sizes differ, not which rank called the wrong collective",
}


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped rules, compiled once."""
    return denpex_rules.compile_rules(denpex_rules.load_pack())


def answers(run: Run, program: Program) -> list[tuple[str, Answer]]:
    """Return the judgement of every view of a run, one for each file alone."""
    return [(f"{view}: {files[0][0]}", judge(read(files, program), run.truth)) for view, files in views(run)]


def test_runs_are_of_many_kinds() -> None:
    """At least 25 kinds of faults under five launchers are kept."""
    assert len({run.fault for run in RUNS}) >= 25
    assert len({run.launcher for run in RUNS}) >= 5


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_all_logs_name_who_failed_first(run: Run, program: Program) -> None:
    """With all logs, in any order, the right rank is named, or nobody where no rank failed first."""
    given = {view: judge(read(files, program), run.truth) for view, files in views(run) if view in {"all", "shuffled"}}
    expected = "undecided" if run.fault in UNTOLD else "right"
    assert {answer.verdict for answer in given.values()} == {expected}
    assert len({answer.said for answer in given.values()}) == 1


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_no_part_of_the_logs_accuses_an_innocent(run: Run, program: Program) -> None:
    """Whatever is left of the logs, a single file too, no other rank is named; undecided answers ask for logs not read."""
    found = answers(run, program)
    assert [(view, answer.said) for view, answer in found if answer.verdict.startswith("wrong")] == []
    alone = [(view, answer) for view, answer in found if view.startswith("one file") and run.fault not in UNTOLD]
    silent = [view for view, answer in alone if answer.verdict == "undecided" and not answer.silent and not answer.names_fact]
    assert silent == []
