"""Logs of jobs that are well, full of frightening words: no rule may report anything about them."""

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
    """Scary words in a healthy log make no incident."""
    report = denpex_rules.scan([log], program)
    assert [(i.rule, i.evidence[0].line) for i in report.incidents] == []
    assert sum(source.lines for source in report.coverage.sources) > 0


def test_stays_quiet_together(program: Program) -> None:
    """Healthy logs of several jobs, read as if they were one, accuse nobody."""
    assert len(LOGS) >= 10
    report = denpex_rules.scan([HEALTHY], program)
    assert [(i.rule, i.initiators) for i in report.incidents if i.initiators] == []
    assert report.verdict in {"healthy", "undecided"}
