"""What reading prefixes collects, and how formats are declared."""

from __future__ import annotations

import pytest

from denpex_rules import stamps
from denpex_rules.clock import Instant
from denpex_rules.prefix import PRIORITY, SEVERITY, Match, Prefixes, Registry, host_of, needed, text_of
from denpex_rules.record import NO_HINTS
from denpex_rules.rule import SEVERITIES

DATED = stamps.iso(b"2026-11-30T10:04:12", None, b"Z")
UNDATED = stamps.month_day(b"1130", b"10:04:10")


@pytest.fixture
def into() -> Prefixes:
    """Return what a line says before anything is read."""
    return Prefixes(NO_HINTS)


def test_innermost_stamp_wins(into: Prefixes) -> None:
    """A stamp further inside replaces the one around it, whose year stays at hand."""
    into.time(DATED)
    into.time(UNDATED)
    assert (into.stamp, into.outer) == (UNDATED, DATED)


def test_no_stamp_replaces_none(into: Prefixes) -> None:
    """A prefix whose stamp is no time keeps what was read before."""
    into.time(DATED)
    into.time(None)
    assert (into.stamp, into.outer) == (DATED, None)


def test_stamp_without_a_year_lends_none(into: Prefixes) -> None:
    """An outer stamp without a year is of no use to the inner one."""
    into.time(UNDATED)
    into.time(UNDATED)
    assert into.outer is None


def test_arrival_reaches_back(into: Prefixes) -> None:
    """A wrapper that stamps on arrival says that the line was written before."""
    into.arrival(DATED)
    assert into.stamp is not None
    assert DATED is not None
    assert (into.stamp.clock, into.stamp.lo, into.stamp.hi) == ("arrival", DATED.lo - stamps.LAG, DATED.hi)


@pytest.mark.parametrize(
    ("token", "severity"),
    [
        (b"E", "error"),
        (b"WARN", "warning"),
        (b"warning", "warning"),
        (b"Normal", "info"),
        (b"emerg", "fatal"),
        (b"LOUD", None),
        (b"", None),
    ],
)
def test_level_words(into: Prefixes, token: bytes, severity: str | None) -> None:
    """Words and letters of any case are read; an unknown one tells nothing."""
    into.level(token)
    assert into.severity == severity


def test_levels_are_known_severities() -> None:
    """Every word and priority stands for one of the severities."""
    assert {*SEVERITY.values(), *PRIORITY} <= set(SEVERITIES)
    assert [PRIORITY[n] for n in (2, 3, 4, 6, 7)] == ["fatal", "error", "warning", "info", "debug"]


@pytest.mark.parametrize(
    ("number", "severity"), [(b"3", "error"), (b"11", "error"), (b"30", "info"), (b"191", "debug"), (b"0", "fatal")]
)
def test_priority(into: Prefixes, number: bytes, severity: str) -> None:
    """The facility in `<pri>` does not count."""
    into.priority(number)
    assert into.severity == severity


def test_adopt_takes_what_is_said(into: Prefixes) -> None:
    """What a record inside the line says goes before what stands around it; what it leaves open stays."""
    into.rank, into.host, into.layout = 3, "node-07", ("kubectl",)
    into.time(DATED)
    inner = Prefixes(NO_HINTS)
    inner.rank, inner.severity, inner.layout = 0, "error", ("rank", "c10d")
    inner.time(UNDATED)
    into.adopt(inner)
    assert (into.rank, into.host, into.severity, into.layout) == (0, "node-07", "error", ("kubectl", "rank", "c10d"))
    assert (into.stamp, into.outer) == (UNDATED, DATED)


def test_lines_share_nothing() -> None:
    """What one line says is not there when the next one is read."""
    one = Prefixes(NO_HINTS)
    one.rank, one.layout, one.stamp = 3, ("rank",), Instant(0, 1)
    other = Prefixes(NO_HINTS)
    assert (other.rank, other.layout, other.stamp) == (None, (), None)


def test_printed_bytes_become_text() -> None:
    """Bytes that are no UTF-8 are shown escaped; nothing is the empty text; hosts take the form that joins."""
    assert text_of("é".encode()) == "é"
    assert text_of(b"a\xff") == "a\\xff"
    assert text_of(None) == ""
    assert host_of(b"NODE-07.cluster.local") == "node-07"


def test_registry_keeps_the_order() -> None:
    """A reader may have several formats: the one that stands nearest to it is tried first."""
    registry = Registry()

    @registry.add("leaf", "second", "", b"b", rb"b(.)", "bx", "a letter")
    @registry.add("wrapper", "first", "[", b"a", rb"\[a(.)\]", "[ax]", "a letter")
    def _read(match: Match, into: Prefixes) -> None:
        into.process = text_of(match[1])

    assert [(f.name, f.role, f.stem, f.starts) for f in registry.formats] == [
        ("first", "wrapper", "[", b"a"),
        ("second", "leaf", "", b"b"),
    ]
    for form in registry.formats:
        match = form.pattern.match(form.example.encode())
        assert match is not None
        into = Prefixes(NO_HINTS)
        form.read(match, into)
        assert (into.process, form.gives) == ("x", "a letter")


@pytest.mark.parametrize(
    ("pattern", "byte"),
    [
        (rb"abc\[(\d+)\]", b"["),
        (rb"(?:x|y)z?", None),
        (rb"(?:<\d>)?e{2,5} ", b"e"),
        (rb"(?=@)a", b"a"),
        (rb"(?P<n>a(b)){1,3}~", b"~"),
    ],
)
def test_needed_byte_stands_in_every_match(pattern: bytes, byte: bytes | None) -> None:
    """Of the bytes that every match has the rarest is taken; optional ones and alternatives give none."""
    assert needed(pattern) == (byte[0] if byte else None)
