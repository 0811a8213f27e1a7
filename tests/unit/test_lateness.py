"""Lines that come after it was said that everything up to a later time was read."""

from __future__ import annotations

from denpex_rules.calendar import Calendar
from denpex_rules.clock import SECOND, parse_time
from denpex_rules.lateness import Lateness
from denpex_rules.sighting import Scan, SourceCoverage

TEN = parse_time("2026-11-30T10:10:00Z")


def notes(lateness: Lateness, source: str = "a.log") -> tuple[str, ...]:
    (coverage,) = lateness.noted(Scan(sources=(SourceCoverage(source),))).sources
    return coverage.notes


def begun(budget: int = 5 * SECOND) -> Lateness:
    lateness = Lateness(budget)
    lateness.begin("a.log")
    return lateness


def test_older_lines_are_counted() -> None:
    """Only lines older than the budget count, and only those that come after the assertion."""
    lateness = begun()
    lateness.feed("a.log", b"2026-11-30T09:00:00Z before anything was said\n")
    lateness.assert_read(TEN, Calendar().resolver(Scan()))
    lateness.feed("a.log", b"2026-11-30T10:09:58Z inside the budget\n2026-11-30T10:05:00Z la")
    lateness.feed("a.log", b"te\nno time\n2026-11-30T10:11:00Z new\n2026-11-30T10:04:00Z without its newline")
    lateness.finish()
    (note,) = notes(lateness)
    assert note.startswith("2 lines came late: more than 5s older")


def test_later_lines_are_read_line_by_line_once_many_came() -> None:
    """Behind the first lines of a source the count goes on."""
    lateness = begun(0)
    lateness.feed("a.log", b"2026-11-30T10:00:00Z x\n" * 300)
    lateness.assert_read(TEN, Calendar().resolver(Scan()))
    lateness.feed("a.log", b"2026-11-30T10:09:00Z late\n2026-11-30T10:10:00Z not\n")
    assert notes(lateness)[0].startswith("1 line came late")


def test_nothing_late_nothing_said() -> None:
    """A source without late lines, and one that was never begun, get no note."""
    lateness = begun()
    lateness.assert_read(TEN, Calendar().resolver(Scan()))
    lateness.feed("a.log", b"2026-11-30T10:11:00Z new\n")
    lateness.finish()
    assert notes(lateness) == ()
    assert notes(lateness, "other.log") == ()


def test_unknown_clocks_are_not_late() -> None:
    """A stamp that has no place on the common axis is not counted."""
    lateness = begun()
    lateness.assert_read(TEN, Calendar().resolver(Scan()))
    lateness.feed("a.log", b"[  100.000000] usb 1-1: x\n")
    lateness.finish()
    assert notes(lateness) == ()
