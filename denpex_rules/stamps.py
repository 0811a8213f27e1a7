"""Printed times as instants. Every reader returns None for text that has the shape of a time but is none (month 13).

A stamp stands for all the time that it can't tell apart: whole seconds are [s, s + 1 s), three digits are one millisecond.
Without a zone the clock is `local`; without a year the year is 2000 and `year` is false. Nothing here reads the wall clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from attrs import evolve

from denpex_rules.clock import MAX, MIN, MINUTE, SECOND, Clock, Instant, from_datetime

LAG: Final = 5 * SECOND  # a wrapper stamps when a complete line was read; this much later at most
NO_YEAR: Final = 2000  # a leap year, so that 29 February is a date
CACHED: Final = 4096

MONTHS: Final[dict[bytes, int]] = {
    name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
_UNIVERSAL: Final = frozenset({b"Z", b"z", b"UTC", b"GMT"})
_UNITS: Final = tuple(10 ** (9 - digits) for digits in range(10))  # ns of the last of so many digits behind the point
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _second(year: int, month: int, day: int, clock: bytes) -> int | None:
    """Return the second that starts at `clock` (HH:MM:SS) in ns, as if it were UTC. A leap second (60) is the next minute's 0."""
    minute = _minute(year, month, day, clock[:5])
    try:
        second = int(clock[6:8])
    except ValueError:
        return None
    return minute + second * SECOND if minute is not None and second <= 60 else None


@lru_cache(maxsize=CACHED)
def _minute(year: int, month: int, day: int, clock: bytes) -> int | None:
    """Return the minute that starts at `clock` (HH:MM) in ns, as if it were UTC."""
    try:
        return from_datetime(datetime(year, month, day, int(clock[:2]), int(clock[3:5]), tzinfo=UTC))
    except ValueError:
        return None


@lru_cache(maxsize=CACHED)
def _iso_second(text: bytes, zone: bytes | None) -> Instant | None:
    """Return the second `YYYY-MM-DD?HH:MM:SS` (any separators, fixed columns) in a zone."""
    start = _second(int(text[:4]), int(text[5:7]), int(text[8:10]), text[11:19])
    ahead = zone_offset(zone) if zone and start is not None else None
    return _spread(start, None, "local") if start is None or ahead is None else _spread(start - ahead, None, "wall")


@lru_cache(maxsize=256)
def zone_offset(zone: bytes) -> int | None:
    """Return how far a zone is ahead of UTC, in ns; None for an abbreviation, which tells nothing for certain."""
    if zone in _UNIVERSAL:
        return 0
    digits = zone[1:].replace(b":", b"")
    if zone[:1] not in {b"+", b"-"} or not digits.isdigit() or len(digits) not in {2, 4}:
        return None
    ahead = (int(digits[:2]) * 60 + int(digits[2:] or b"0")) * MINUTE
    return ahead if zone[:1] == b"+" else -ahead


def _spread(start: int | None, fraction: bytes | None, clock: Clock, *, year: bool = True) -> Instant | None:
    """Return the instant that starts `fraction` after `start` and is as long as the fraction's last digit."""
    if start is None or not MIN < start < MAX - SECOND:
        return None
    if not fraction:
        return Instant(start, start + SECOND - 1, clock, "", year)
    unit = _UNITS[len(fraction)]
    lo = start + int(fraction) * unit
    return Instant(lo, lo + unit - 1, clock, "", year)


def iso(seconds: bytes, fraction: bytes | None = None, zone: bytes | None = None) -> Instant | None:
    """Return an ISO-like stamp: `seconds` is `YYYY-MM-DD?HH:MM:SS` with any separators, `fraction` at most nine digits."""
    second = _iso_second(seconds, zone)
    if second is None or not fraction:
        return second
    unit = _UNITS[len(fraction)]
    lo = second.lo + int(fraction) * unit
    return Instant(lo, lo + unit - 1, second.clock)


@lru_cache(maxsize=CACHED)
def month_day(date: bytes, clock: bytes) -> Instant | None:
    """Return a c10d stamp: `date` is MDD or MMDD (the month is not padded). Its printed fraction is of another clock: not read."""
    return _spread(_second(NO_YEAR, int(date[:-2]), int(date[-2:]), clock), None, "local", year=False)


def glog(date: bytes, clock: bytes, fraction: bytes | None) -> Instant | None:
    """Return a glog stamp: `date` is MMDD or YYYYMMDD."""
    year = int(date[:-4]) if len(date) > 4 else NO_YEAR
    start = _second(year, int(date[-4:-2]), int(date[-2:]), clock)
    return _spread(start, fraction, "local", year=len(date) > 4)


@lru_cache(maxsize=CACHED)
def numbered(month: bytes, day: bytes, clock: bytes, year: bytes | None = None) -> Instant | None:
    """Return a stamp whose month is a number, to the second."""
    start = _second(int(year) if year else NO_YEAR, int(month), int(day), clock)
    return _spread(start, None, "local", year=year is not None)


@lru_cache(maxsize=CACHED)
def named(month: bytes, day: bytes, clock: bytes, fraction: bytes | None = None, year: bytes | None = None) -> Instant | None:
    """Return a stamp whose month is a name (`Oct`) or a number; syslog has no year, ctime has one."""
    number = MONTHS.get(month) or (int(month) if month.isdigit() else 0)
    start = _second(int(year) if year else NO_YEAR, number, int(day), clock)
    return _spread(start, fraction, "local", year=year is not None)


def to_minute(month: bytes, day: bytes, clock: bytes) -> Instant | None:
    """Return a stamp that knows only the minute (`dmesg -H`)."""
    start = _second(NO_YEAR, MONTHS.get(month, 0), int(day), clock + b":00")
    return None if start is None else Instant(start, start + MINUTE - 1, "local", "", year=False)


def epoch(seconds: bytes, fraction: bytes | None = None) -> Instant | None:
    """Return seconds since 1970 with the printed fraction."""
    return _spread(int(seconds) * SECOND, fraction, "wall") if len(seconds) <= 10 else None


def uptime(seconds: bytes, fraction: bytes, domain: str) -> Instant | None:
    """Return the time since a boot or a program's start; `domain` names what such stamps compare within."""
    if len(seconds) > 10:
        return None
    unit = _UNITS[len(fraction)]
    lo = int(seconds) * SECOND + int(fraction or b"0") * unit
    return Instant(lo, lo + unit - 1, "monotonic", domain)


def arrival(stamp: Instant | None) -> Instant | None:
    """Return what a wrapper's stamp tells of its line: written at most LAG before it, not later."""
    if stamp is None:
        return None
    return Instant(stamp.lo - LAG, stamp.hi, "arrival" if stamp.clock == "wall" else stamp.clock, stamp.domain, stamp.year)


def with_year(stamp: Instant, near: Instant) -> Instant:
    """Return a stamp without a year moved into the year that brings it closest to `near`, which has one.

    Both may be off by a zone, so this tells the year and nothing more.
    """
    moment = _EPOCH + timedelta(seconds=stamp.lo // SECOND)
    around = (_EPOCH + timedelta(seconds=near.lo // SECOND)).year
    shifts = []
    for year in (around - 1, around, around + 1):
        try:
            shifts.append(from_datetime(moment.replace(year=year)) - from_datetime(moment))
        except ValueError:  # 29 February of a common year
            continue
    shift = min(shifts, key=lambda ns: abs(stamp.lo + ns - near.lo), default=None)
    return stamp if shift is None else evolve(stamp, lo=stamp.lo + shift, hi=stamp.hi + shift, year=True)
