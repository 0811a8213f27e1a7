"""Years, zones and host offsets that stamps leave open."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from making import activity, at, sighting

from denpex_rules.calendar import EVEN, Calendar, Clocks
from denpex_rules.clock import DAY, HOUR, MAX, MINUTE, SECOND, Instant, Order, format_time, order, parse_time
from denpex_rules.errors import UsageError
from denpex_rules.sighting import Scan, SourceCoverage


def yearless(text: str) -> Instant:
    """Return a local stamp whose year is unknown; it is kept in the year 2000."""
    ns = parse_time(f"2000-{text}Z")
    return Instant(ns, ns, "local", year=False)


def resolve(calendar: Calendar, instant: Instant, *others: Instant, mtime: str | None = None, host: str | None = None) -> Instant:
    """Return an instant of source a.log resolved beside others of b.log."""
    sightings = (sighting("e", instant), *(sighting("e", o, source="b.log") for o in others))
    modified = parse_time(mtime) if mtime else None
    scan = Scan(sightings, (SourceCoverage("a.log", mtime=modified), SourceCoverage("b.log")))
    return calendar.resolver(scan).resolve(instant, "a.log", host)


def test_year_comes_from_dated_neighbours() -> None:
    """A stamp without a year takes the year that puts it nearest to dated lines."""
    assert format_time(resolve(Calendar(), yearless("11-30T10:00:00"), at("10:00:05")).lo) == "2026-11-30T10:00:00Z"


def test_new_year_is_stepped_over() -> None:
    """A December stamp beside January lines lies in the year before."""
    january = Instant(parse_time("2027-01-01T00:10:00Z"), parse_time("2027-01-01T00:10:00Z"))
    assert format_time(resolve(Calendar(), yearless("12-31T23:50:00"), january).lo) == "2026-12-31T23:50:00Z"


def test_year_comes_from_the_file_where_no_line_is_dated() -> None:
    """Without dated lines the file's modification time tells the year, and no line lies in its future."""
    assert resolve(Calendar(), yearless("12-31T23:50:00"), mtime="2027-01-02T00:00:00Z").lo == parse_time("2026-12-31T23:50:00Z")


def test_unknown_year_stays_unknown() -> None:
    """Where nothing tells the year, the stamp keeps none: it compares only with others of its kind."""
    resolved = resolve(Calendar(), yearless("11-30T10:00:00"))
    assert not resolved.year
    assert not resolved.comparable(at("10:00:00"))


def test_given_year_wins() -> None:
    """The caller's year is taken before anything inferred."""
    assert resolve(Calendar(year=2024), yearless("02-29T00:00:00"), at("10:00:00")).lo == parse_time("2024-02-29T00:00:00Z")


def test_leap_day_in_a_common_year_becomes_the_first_of_march() -> None:
    """29 February of a year without one does not raise."""
    assert resolve(Calendar(year=2026), yearless("02-29T00:00:00")).lo == parse_time("2026-03-01T00:00:00Z")


def test_given_zone_turns_local_into_utc() -> None:
    """With a zone, local stamps become wall time."""
    local = evolve(at("10:00:00"), clock="local")
    resolved = resolve(Calendar(timezone="Europe/Berlin"), local)
    assert (resolved.clock, local.lo - resolved.lo) == ("wall", HOUR)


def test_unknown_zone_is_a_usage_error() -> None:
    """A zone that does not exist is refused in words."""
    with pytest.raises(UsageError, match="unknown time zone 'Mars/Base'"):
        Calendar(timezone="Mars/Base").resolver(Scan())


def test_stamps_without_zone_stay_local_among_themselves() -> None:
    """Where no stamp has a zone, none is assumed: they compare with each other."""
    local = evolve(at("10:00:00"), clock="local")
    assert resolve(Calendar(), local).clock == "local"


def test_zone_is_assumed_only_where_the_hours_agree() -> None:
    """Local stamps beside zoned ones count as UTC when both tell of the same hours, and the source is marked."""
    local = evolve(at("10:00:00"), clock="local")
    scan = Scan((sighting("e", local), sighting("e", at("10:30:00"), source="b.log")), ())
    resolver = Calendar().resolver(scan)
    assert resolver.resolve(local, "a.log", None).clock == "wall"
    assert resolver.assumed == {"a.log"}
    far = Scan((sighting("e", local), sighting("e", at("17:30:00"), source="b.log")), ())
    assert Calendar().resolver(far).resolve(local, "a.log", None).clock == "local"


def test_host_offset_is_taken_off() -> None:
    """A host's clock that runs ahead is set back by the given offset."""
    moved = resolve(Calendar(offsets={"node-02": MINUTE}), at("10:01:00"), host="node-02")
    assert moved.lo == at("10:00:00").lo


def test_uptime_is_left_alone() -> None:
    """Monotonic stamps have no year or zone to resolve."""
    uptime = Instant(5 * SECOND, 5 * SECOND, "monotonic", "node-01")
    assert resolve(Calendar(year=2024, timezone="UTC"), uptime, at("10:00:00")) == uptime


def test_activities_tell_the_year_too() -> None:
    """A source without sightings dates its neighbours by its lines."""
    cover = SourceCoverage("c.log", activities=(activity("c.log", [("10:00:00", "11:00:00")]),))
    instant = yearless("11-30T10:00:00")
    resolved = Calendar().resolver(Scan((sighting("e", instant),), (cover,))).resolve(instant, "a.log", None)
    assert abs(resolved.lo - at("10:00:00").lo) < DAY


def test_open_end_tells_no_year() -> None:
    """An unstamped last line reaches without end: only its start dates its neighbours."""
    last = Instant(at("10:00:00").lo, MAX)
    assert format_time(resolve(Calendar(), yearless("11-30T10:00:00"), last).lo) == "2026-11-30T10:00:00Z"


# ------------------------------------------------------------------ the turn of a year


def printed(ns: int) -> Instant:
    """Return a time as a stamp without its year."""
    return yearless(format_time(ns - ns % SECOND)[5:].removesuffix("Z"))


def turned(calendar: Calendar, *times: int, mtime: int | None = None) -> list[Instant]:
    """Return times that were printed without their years, resolved as one log."""
    stamps = [printed(time) for time in times]
    runs = tuple(sorted((s.lo, s.hi) for s in stamps))
    spoke = evolve(activity("a.log", []), runs=runs, frame=stamps[0])
    scan = Scan(tuple(sighting("e", s) for s in stamps), (SourceCoverage("a.log", activities=(spoke,), mtime=mtime),))
    resolver = calendar.resolver(scan)
    return [resolver.resolve(s, "a.log", None) for s in stamps]


NEW_YEAR = parse_time("2027-01-01T00:00:00Z")
AROUND = st.integers(-50 * 86_400, 50 * 86_400).map(lambda s: NEW_YEAR + s * SECOND)


@given(st.lists(AROUND, min_size=1, max_size=5), st.integers(0, 200))
def test_file_time_dates_every_line(times: list[int], days: int) -> None:
    """Lines around a new year are dated right by a file that was written last at most 200 days after its last line."""
    found = turned(Calendar(), *times, mtime=max(times) + days * DAY)
    assert [i.lo for i in found] == times


@given(st.lists(AROUND, min_size=1, max_size=5), st.integers(-100, 100))
def test_dated_lines_date_every_line(times: list[int], days: int) -> None:
    """So they are by dated lines within a hundred days."""
    other = Instant(NEW_YEAR + days * DAY, NEW_YEAR + days * DAY)
    for time in times:
        assert resolve(Calendar(), printed(time), other).lo == time


@given(AROUND.filter(lambda t: t < NEW_YEAR), AROUND.filter(lambda t: t >= NEW_YEAR))
def test_given_year_is_that_of_the_first_lines(before: int, after: int) -> None:
    """A log that reaches from the end of the given year into the next one keeps its order."""
    assert [i.lo for i in turned(Calendar(year=2026), before, after)] == [before, after]


@given(AROUND.filter(lambda t: t < NEW_YEAR), AROUND.filter(lambda t: t >= NEW_YEAR))
def test_order_over_a_new_year_without_any_year(before: int, after: int) -> None:
    """Where nothing tells the year, the lines of January still come after those of December, and no date is shown."""
    one, other = turned(Calendar(), before, after)
    assert order(one, other) is Order.BEFORE
    assert not one.year


def test_log_of_a_whole_year_does_not_turn() -> None:
    """Lines in every season are of one year."""
    times = [parse_time(f"2026-{month:02}-15T00:00:00Z") for month in (1, 4, 7, 12)]
    assert [i.lo for i in turned(Calendar(year=2026), *times)] == times


def test_clocks_that_are_ahead_are_put_right() -> None:
    """What the job's lines tell of a host's clock comes on top of what the caller told, for that kind of stamps only."""
    clocks = Clocks({("node-07", "wall"): 2 * MINUTE})
    calendar = Calendar(offsets={"node-07": MINUTE}, clocks=clocks)
    assert resolve(calendar, at("10:03:00"), host="node-07") == at("10:00:00")
    arrived = evolve(at("10:03:00"), clock="arrival")
    assert resolve(calendar, arrived, host="node-07").lo == at("10:02:00").lo
    assert resolve(calendar, at("10:03:00"), host="node-08") == at("10:03:00")
    assert resolve(calendar, at("10:03:00")) == at("10:03:00")


def test_bound_between_clocks() -> None:
    """What is left open of two clocks is added to the bound; a clock that was not compared may be off by the most that was seen."""
    one, two, three = ("a", "wall"), ("b", "wall"), ("c", "wall")
    clocks = Clocks({two: MINUTE}, {one: 0, two: 7 * SECOND}, 70 * SECOND)
    assert clocks.between(one, two, SECOND) == 8 * SECOND
    assert clocks.between(two, two, SECOND) == clocks.between(three, three, SECOND) == 0
    assert clocks.between(one, three, SECOND) == clocks.between(one, None, SECOND) == clocks.bound(SECOND) == 70 * SECOND
    assert clocks.between(one, ("a", "arrival"), SECOND) == 0
    assert clocks.between(two, ("b", "arrival"), SECOND) == 70 * SECOND
    assert (EVEN.bound(SECOND), EVEN.between(one, two, SECOND)) == (SECOND, SECOND)
