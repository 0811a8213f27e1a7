"""Instants, their order, durations and ISO 8601 texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.clock import (
    HOUR,
    MAX,
    MIN,
    MINUTE,
    SECOND,
    UNKNOWN,
    Instant,
    Order,
    first_second,
    format_duration,
    format_time,
    from_datetime,
    order,
    parse_duration,
    parse_time,
    whole_seconds,
)

NS = st.integers(min_value=-(10**18), max_value=4 * 10**18)
INTERVALS = st.tuples(NS, st.integers(0, 10 * SECOND)).map(lambda pair: Instant(pair[0], pair[0] + pair[1]))


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("90s", 90 * SECOND),
        ("1h30m", HOUR + 30 * MINUTE),
        ("500ms", SECOND // 2),
        ("1us1ns", 1_001),
        ("0s", 0),
        ("", None),
        ("90", None),
        ("s", None),
        ("5 m", None),
        ("1.5s", None),
        ("5mx", None),
        ("-5s", None),
    ],
)
def test_parse_duration(text: str, ns: int | None) -> None:
    """A duration is whole numbers with units and nothing else."""
    assert parse_duration(text) == ns


@given(st.integers(0, 10**20))
def test_duration_round_trip(ns: int) -> None:
    """A printed duration reads back as the same number of ns."""
    assert parse_duration(format_duration(ns)) == ns


def test_negative_duration() -> None:
    """A negative duration is printed with a sign."""
    assert format_duration(-90 * SECOND) == "-1m30s"


@given(NS)
def test_time_round_trip(ns: int) -> None:
    """A printed time reads back exactly, to the nanosecond."""
    assert parse_time(format_time(ns)) == ns


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-30T10:04:10Z", "2026-11-30T10:04:10Z"),
        ("2026-11-30T12:04:10+02:00", "2026-11-30T10:04:10Z"),
        ("2026-11-30T10:04:10.5Z", "2026-11-30T10:04:10.5Z"),
        ("2026-11-30T10:04:10.000000001+00:00", "2026-11-30T10:04:10.000000001Z"),
        ("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.25Z"),
    ],
)
def test_parse_time(text: str, shown: str) -> None:
    """A time with a zone is read in UTC and printed with the shortest exact fraction."""
    assert format_time(parse_time(text)) == shown


@pytest.mark.parametrize("text", ["2026-11-30T10:04:10", "2026-11-30T10:04:10.Z", "2026-13-30T10:04:10Z", "yesterday", ""])
def test_parse_time_refuses(text: str) -> None:
    """A time without a zone, or a malformed one, is refused."""
    with pytest.raises(ValueError, match=re.escape("instant") + "|month|Invalid|isoformat"):
        parse_time(text)


def test_from_datetime_is_exact() -> None:
    """Microseconds survive: no float is involved."""
    moment = datetime(2026, 11, 30, 12, 0, 0, 123_457, tzinfo=timezone(timedelta(hours=2)))
    assert format_time(from_datetime(moment)) == "2026-11-30T10:00:00.123457Z"
    assert from_datetime(datetime(1970, 1, 1, tzinfo=UTC)) == 0


@pytest.mark.parametrize(
    ("a", "b", "skew", "expected"),
    [
        (Instant(0, 1), Instant(2, 3), 0, Order.BEFORE),
        (Instant(2, 3), Instant(0, 1), 0, Order.AFTER),
        (Instant(0, 2), Instant(2, 3), 0, Order.UNCERTAIN),
        (Instant(1, 1), Instant(1, 1), 0, Order.UNCERTAIN),
        (Instant(0, 1), Instant(4, 5), 3, Order.UNCERTAIN),
        (Instant(0, 1), Instant(5, 5), 3, Order.BEFORE),
    ],
)
def test_order(a: Instant, b: Instant, skew: int, expected: Order) -> None:
    """Two instants are ordered only where a gap wider than the skew separates them."""
    assert order(a, b, skew) is expected


@given(INTERVALS, INTERVALS, st.integers(0, 10 * SECOND))
def test_order_mirrors(a: Instant, b: Instant, skew: int) -> None:
    """What is before in one direction is after in the other."""
    mirror = {Order.BEFORE: Order.AFTER, Order.AFTER: Order.BEFORE, Order.UNCERTAIN: Order.UNCERTAIN}
    assert order(b, a, skew) is mirror[order(a, b, skew)]


@pytest.mark.parametrize(
    ("a", "b", "comparable"),
    [
        (Instant(0, 1), Instant(0, 1, "arrival"), True),
        (Instant(0, 1), Instant(0, 1, "local"), False),
        (Instant(0, 1, "local"), Instant(0, 1, "local"), True),
        (Instant(0, 1, "monotonic", "node-01"), Instant(0, 1, "monotonic", "node-01"), True),
        (Instant(0, 1, "monotonic", "node-01"), Instant(0, 1, "monotonic", "node-02"), False),
        (Instant(0, 1), Instant(0, 1, year=False), False),
    ],
)
def test_comparable(a: Instant, b: Instant, comparable: bool) -> None:
    """Instants compare when their clocks have a common origin and both years are known, or neither."""
    assert a.comparable(b) is comparable
    assert (order(Instant(0, 1, a.clock, a.domain, a.year), evolve_far(b)) is Order.BEFORE) is comparable


def evolve_far(instant: Instant) -> Instant:
    """Return an instant of the same clock that is certainly later, if it can be compared."""
    return instant.shift(HOUR)


def test_unknown() -> None:
    """The unknown instant stays unknown when it is shifted, and is ordered against nothing."""
    assert not UNKNOWN.known
    assert UNKNOWN.shift(HOUR) == UNKNOWN
    assert order(UNKNOWN, Instant(0, 1)) is Order.UNCERTAIN


def test_half_open_shift() -> None:
    """A bounded side moves, an unbounded one stays."""
    assert Instant(MIN, 5).shift(3) == Instant(MIN, 8)
    assert Instant(5, MAX).shift(-3) == Instant(2, MAX)
    assert Instant(MIN, 5).known


def test_times_outside_of_the_calendar_are_shown_at_its_edge() -> None:
    """A time that no calendar has, as a damaged duration leads to, is shown as the nearest one that it has."""
    assert format_time(2**80) == "9999-12-31T23:59:59Z"
    assert format_time(-(2**80)) == "0001-01-01T00:00:00Z"


def test_other_bounds_on_the_same_clock() -> None:
    """Clock, domain and year stay."""
    assert Instant(1, 2, "monotonic", "boot", year=False).bounded(5, 9) == Instant(5, 9, "monotonic", "boot", year=False)


@pytest.mark.parametrize("width", [0, 1, 999, SECOND // 10 - 1])
@pytest.mark.parametrize("lag", [0, 5 * SECOND])
def test_all_times_of_a_second_touch_the_same_seconds(width: int, lag: int) -> None:
    """Whatever the fraction, the very first nanosecond included; the first of the seconds is the same for what was rounded."""
    begin = 7 * SECOND
    touched = {whole_seconds(Instant(lo - lag, lo + width)) for lo in range(begin, begin + SECOND, SECOND // 10)}
    assert touched == {Instant(begin - lag, begin + SECOND)}
    (rounded,) = touched
    assert first_second(rounded) == first_second(Instant(begin - lag, begin + width)) == Instant(begin - lag, begin - lag + SECOND)
