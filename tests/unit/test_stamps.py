"""Printed times: resolution, zones, years, and text that only looks like a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import stamps
from denpex_rules.clock import MINUTE, SECOND, Instant, format_time, parse_time


def at(text: str) -> int:
    return parse_time(text)


def test_whole_seconds_are_a_second_long() -> None:
    """A stamp to the second stands for [s, s + 1 s)."""
    assert stamps.iso(b"2026-11-30T10:04:10", None, b"Z") == Instant(
        at("2026-11-30T10:04:10Z"), at("2026-11-30T10:04:10.999999999Z")
    )


@pytest.mark.parametrize(("digits", "width"), [(b"7", 10**8), (b"789", 10**6), (b"789012", 1_000), (b"789012345", 1)])
def test_fraction_sets_the_width(digits: bytes, width: int) -> None:
    """The interval is as long as the last printed digit."""
    stamp = stamps.iso(b"2026-11-30 10:04:10", digits, b"+00:00")
    assert stamp is not None
    assert stamp.hi - stamp.lo + 1 == width
    assert stamp.lo == at("2026-11-30T10:04:10Z") + int(digits) * width


@pytest.mark.parametrize(
    ("zone", "utc"),
    [(b"Z", "10:04:10"), (b"+08:00", "02:04:10"), (b"-0430", "14:34:10"), (b"+0000", "10:04:10"), (b"UTC", "10:04:10")],
)
def test_zone_is_taken_off(zone: bytes, utc: str) -> None:
    """A stamp with a zone is wall time in UTC."""
    stamp = stamps.iso(b"2026-11-30T10:04:10", None, zone)
    assert stamp is not None
    assert (stamp.clock, stamp.lo) == ("wall", at(f"2026-11-30T{utc}Z"))


@pytest.mark.parametrize("zone", [None, b"EST", b"CET"])
def test_without_a_zone_the_clock_is_local(zone: bytes | None) -> None:
    """No zone, or an abbreviation, leaves the stamp local: not comparable with wall time."""
    stamp = stamps.iso(b"2026-11-30T10:04:10", None, zone)
    assert stamp is not None
    assert stamp.clock == "local"
    assert not stamp.comparable(Instant(0, 0))


@pytest.mark.parametrize("text", [b"2026-13-01 00:00:00", b"2026-02-29 00:00:00", b"2026-01-01 24:00:00", b"0000-01-01 00:00:00"])
def test_no_such_time(text: bytes) -> None:
    """Text of the shape of a time that is none gives no instant."""
    assert stamps.iso(text) is None


def test_leap_second_is_the_next_minute() -> None:
    """23:59:60 is accepted and is 00:00:00."""
    stamp = stamps.iso(b"2016-12-31T23:59:60", None, b"Z")
    assert stamp is not None
    assert stamp.lo == at("2017-01-01T00:00:00Z")


@pytest.mark.parametrize(("date", "day"), [(b"102", "01-02"), (b"928", "09-28"), (b"1102", "11-02"), (b"229", "02-29")])
def test_c10d_month_is_not_padded(date: bytes, day: str) -> None:
    """Three digits are M DD, four are MM DD; the year is unknown, so it is 2000."""
    stamp = stamps.month_day(date, b"03:04:05")
    assert stamp is not None
    assert (stamp.lo, stamp.hi - stamp.lo + 1, stamp.year) == (at(f"2000-{day}T03:04:05Z"), SECOND, False)


def test_c10d_impossible_month() -> None:
    """A month that does not exist gives no instant."""
    assert stamps.month_day(b"1302", b"03:04:05") is None


def test_glog_year_in_prefix() -> None:
    """A glog date with a year makes the year known."""
    with_year, without = stamps.glog(b"20261130", b"10:04:10", b"000000"), stamps.glog(b"1130", b"10:04:10", b"000000")
    assert with_year is not None
    assert without is not None
    assert (with_year.year, without.year) == (True, False)
    assert format_time(with_year.lo) == "2026-11-30T10:04:10Z"


def test_arrival_reaches_back() -> None:
    """A wrapper's stamp is an upper bound; the line was written at most the lag before."""
    stamp = stamps.arrival(stamps.iso(b"2026-11-30T10:04:10", b"5", b"Z"))
    assert stamp is not None
    assert (stamp.clock, stamp.lo) == ("arrival", at("2026-11-30T10:04:05.5Z"))
    assert stamps.arrival(None) is None


def test_arrival_without_a_zone_stays_local() -> None:
    """A launcher's stamp without a zone does not become comparable by being an arrival."""
    stamp = stamps.arrival(stamps.iso(b"2026-11-30T10:04:10"))
    assert stamp is not None
    assert (stamp.clock, stamp.hi - stamp.lo + 1) == ("local", stamps.LAG + SECOND)


@pytest.mark.parametrize(
    ("stamp", "near", "year"),
    [
        ("12-31T23:59:59", "2027-01-01T00:00:01", 2026),
        ("01-01T00:00:01", "2026-12-31T23:59:59", 2027),
        ("06-01T00:00:00", "2026-06-02T00:00:00", 2026),
    ],
)
def test_year_comes_from_the_envelope(stamp: str, near: str, year: int) -> None:
    """The year is the one that brings the stamp closest to the stamp around it."""
    inner = Instant(at(f"2000-{stamp}Z"), at(f"2000-{stamp}Z"), "local", "", year=False)
    moved = stamps.with_year(inner, Instant(at(f"{near}Z"), at(f"{near}Z")))
    assert format_time(moved.lo) == f"{year}-{stamp}Z"
    assert moved.year


def test_leap_day_finds_a_leap_year() -> None:
    """29 February moves only into a year that has it, and stays without a year where none is near."""
    day = Instant(at("2000-02-29T10:00:00Z"), at("2000-02-29T10:00:00Z"), "local", "", year=False)
    assert format_time(stamps.with_year(day, Instant(at("2027-12-01T00:00:00Z"), 0)).lo) == "2028-02-29T10:00:00Z"
    assert stamps.with_year(day, Instant(at("2026-06-01T00:00:00Z"), 0)) == day


def test_uptime_names_its_domain() -> None:
    """Uptime is exact to its last digit and belongs to its source."""
    assert stamps.uptime(b"12345", b"678901", "node-07/dmesg") == Instant(
        12_345_678_901_000,
        12_345_678_901_999,
        "monotonic",
        "node-07/dmesg",
    )


def test_minute_resolution() -> None:
    """`dmesg -H` knows only the minute."""
    stamp = stamps.to_minute(b"Nov", b"30", b"10:04")
    assert stamp is not None
    assert stamp.hi - stamp.lo + 1 == MINUTE
    assert stamps.to_minute(b"Foo", b"30", b"10:04") is None


def test_out_of_range_is_no_time() -> None:
    """A stamp outside every representable instant gives none."""
    assert stamps.iso(b"9999-12-31 00:00:00") is None
    assert stamps.epoch(b"9999999999") is None
    assert stamps.epoch(b"99999999999") is None


@given(st.integers(min_value=0, max_value=4_102_444_800))
def test_iso_round_trip(second: int) -> None:
    """Every printed second in UTC is read back exactly."""
    text = format_time(second * SECOND).removesuffix("Z")
    stamp = stamps.iso(text.encode(), None, b"Z")
    assert stamp is not None
    assert format_time(stamp.lo) == f"{text}Z"
