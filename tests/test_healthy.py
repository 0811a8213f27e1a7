"""Logs of jobs that are well, full of frightening words: no rule may report a failure, a stop or a warning about them.

A finding of level info is allowed: a GPU that cleaned up after a process, a planned end and a full cache are worth a note, and
nobody is woken by them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import denpex_rules
from denpex_rules import Program

HEALTHY = Path(__file__).parent / "healthy"
LOGS = sorted(HEALTHY.iterdir())


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped rules, compiled once."""
    return denpex_rules.compile_rules(denpex_rules.load_pack())


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_stays_quiet(log: Path, program: Program) -> None:
    """Scary words in a healthy log make no incident but notes, and the verdict is healthy."""
    report = denpex_rules.scan([log], program)
    assert [(i.rule, i.level, i.evidence[0].line) for i in report.incidents if i.level != "info"] == []
    assert report.verdict == "healthy"
    assert sum(source.lines for source in report.coverage.sources) > 0


def test_stays_quiet_together(program: Program) -> None:
    """Healthy logs of several jobs, read as if they were one, accuse nobody but in notes."""
    assert len(LOGS) >= 25
    report = denpex_rules.scan([HEALTHY], program)
    assert [(i.rule, i.initiators) for i in report.incidents if i.initiators and i.level != "info"] == []
    assert [i.rule for i in report.incidents if i.outcome == "confirmed" and i.level != "info"] == []
    assert report.verdict in {"healthy", "undecided"}
