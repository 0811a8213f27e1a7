"""Sessions: bytes as they come, late lines, what an earlier session left."""

from __future__ import annotations

import gzip

import pytest
from attrs import evolve

from denpex_rules import compile_rules, engine, load_pack
from denpex_rules.clock import MINUTE, parse_time
from denpex_rules.engine import scan_bytes
from denpex_rules.program import Program
from denpex_rules.session import Session
from denpex_rules.sighting import Part
from layouts import Job, split, tarred

XID = b"2026-11-30T10:00:00Z node-07 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"
LOG = "kern_node-07.log"


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


def test_it_is_the_engines_session() -> None:
    """The engine and the package offer the same class."""
    assert engine.Session is Session


def test_packed_bytes_in_pieces(program: Program) -> None:
    """Compressed logs may be fed as they are: the report is that of the plain ones."""
    logs = split(Job(2, ("node-01",), 1))
    session = Session(program)
    for name, data in logs.items():
        packed = gzip.compress(data)
        for start in range(0, len(packed), 100):
            session.feed(name, packed[start : start + 100])
    assert session.close().incidents == scan_bytes(logs, program).incidents


def test_archive_is_named_and_not_read(program: Program) -> None:
    """An archive that is fed is refused with a word."""
    session = Session(program)
    session.feed("logs.tar", tarred({LOG: XID})["logs.tar"])
    report = session.close()
    assert report.incidents == ()
    assert report.coverage.sources[0].notes == ("not read: a tar archive in a stream; scan it as a file",)
    assert report.coverage.sources[0].truncated


def test_late_lines_are_read_counted_and_noted(program: Program) -> None:
    """A line older than what was asserted still counts in the report, and the coverage says that it came late."""
    session = Session(program, lateness_ns=MINUTE)
    session.feed("rank0.log", b"2026-11-30T10:20:00Z INFO step 1\n")
    assert session.advance(parse_time("2026-11-30T10:20:00Z")) == ()
    session.feed(LOG, XID)
    (incident,) = session.advance(parse_time("2026-11-30T10:21:00Z"))
    report = session.close()
    assert [i.id for i in report.incidents] == [incident.id]
    (note,) = next(s.notes for s in report.coverage.sources if s.source == LOG)
    assert note.startswith("1 line came late: more than 1m older")


def test_revisions_go_on_from_what_was_given(program: Program) -> None:
    """What an earlier session gave is not given again as it is; a change is the next revision."""
    first = Session(program)
    first.feed(LOG, XID)
    (given,) = first.advance()
    again = Session(program, given={given.id: given})
    again.feed(LOG, XID)
    assert again.advance() == ()
    changed = Session(program, given={given.id: evolve(given, revision=4, title="older words")})
    changed.feed(LOG, XID)
    assert [i.revision for i in changed.advance()] == [5]


def test_earlier_sightings_count(program: Program) -> None:
    """What was sighted in sources that are gone takes part in the report."""
    first = Session(program)
    first.feed(LOG, XID)
    second = Session(program, earlier=first.snapshot())
    assert [i.cls for i in second.close().incidents] == ["gpu.fell_off_bus"]


def test_lines_are_named_by_the_file_that_holds_them(program: Program) -> None:
    """Where a source has parts, evidence names the part, and the line and bytes in it."""
    session = Session(program)
    other = b"2026-11-30T09:00:00Z node-07 kernel: usb 1-1: new device\n"
    session.feed(LOG, other + XID)
    session.place(LOG, (Part(f"{LOG}.1", 0, 0), Part(LOG, 1, len(other))))
    (incident,) = session.close().incidents
    assert [(e.source, e.line, e.bytes) for e in incident.evidence] == [(LOG, 1, (0, len(XID) - 1))]


def test_notes_reach_the_report(program: Program) -> None:
    """What a caller says about a source stands in its coverage."""
    session = Session(program)
    session.begin("a.log")
    session.note("a.log", "the collector was down", truncated=True)
    (source,) = session.close().coverage.sources
    assert (source.notes, source.truncated) == (("the collector was down",), True)
