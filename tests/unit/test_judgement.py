"""The steps from what was sighted to a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules import compile_rules, load_pack
from denpex_rules.clock import MINUTE, parse_time
from denpex_rules.engine import correlate, sight
from denpex_rules.judgement import DEFAULT, Options, calendar_of, matches_on, related, report_on, timeline_of
from denpex_rules.program import Program
from denpex_rules.sighting import Scan

XID = "2026-11-30T10:00:00Z node-07 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


@pytest.fixture
def sighted(program: Program, tmp_path: Path) -> Scan:
    """Return what one kernel line shows."""
    (tmp_path / "kern_node-07.log").write_text(XID)
    return sight([tmp_path], program)


def test_steps_are_those_of_a_whole_scan(program: Program, sighted: Scan) -> None:
    """Timeline, matches, related findings and report, step by step, are what `correlate` does at once."""
    line = timeline_of(sighted, program, DEFAULT)
    found = tuple(matches_on(line, program))
    (node,) = related(found, line, program)
    assert "hardware.gpu.fell_off_bus" in {match.rule.id for match in found}
    assert node.finding.rule.id == "hardware.gpu.fell_off_bus"
    assert report_on(line, sighted, program, DEFAULT) == correlate(sighted, program)


def test_offset_of_a_host_moves_its_times(program: Program, sighted: Scan) -> None:
    """A clock that is a minute ahead is put back by a minute."""
    (incident,) = correlate(sighted, program, Options(offsets={"node-07": MINUTE})).incidents
    assert incident.onset is not None
    assert parse_time(incident.onset.lo) == parse_time("2026-11-30T09:59:00Z")


def test_until_reaches_the_timeline(program: Program, sighted: Scan) -> None:
    """How far all sources were read is known to the timeline."""
    until = parse_time("2026-11-30T11:00:00Z")
    line = timeline_of(sighted, program, DEFAULT, until)
    assert line.reach(line.presences[0]) == (parse_time("2026-11-30T10:00:00Z"), until)


def test_calendar_takes_what_the_caller_knows() -> None:
    """Year, zone and offsets are the calendar's."""
    calendar = calendar_of(Options(year=2024, timezone="UTC", offsets={"a": 1}))
    assert (calendar.year, calendar.timezone, calendar.offsets) == (2024, "UTC", {"a": 1})
