"""Instants, durations and the order of two instants. All times are integer nanoseconds, UTC.

An instant is an interval, never a point: emitters print whole seconds, c10d prints a false fraction, wrappers print when a
line arrived, some records carry no time at all. Two instants are before, after, or their order is uncertain.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Final, Literal

from attrs import frozen

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

# Outside every representable instant; an instant from MIN to MAX is one about which nothing is known.
MIN: Final = -(2**62)
MAX: Final = 2**62

UNITS: Final[dict[str, int]] = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
    "d": DAY,
}

Clock = Literal["wall", "local", "monotonic", "arrival", "none"]
Frame = tuple[str, str, bool]  # what instants must have in common to be compared


class Order(Enum):
    """How two instants relate in time."""

    BEFORE = "before"
    AFTER = "after"
    UNCERTAIN = "uncertain"


@frozen(order=True, cache_hash=True)  # the sightings of one record share one, and it is the key of tables
class Instant:
    """A closed interval [lo, hi] in ns UTC and the clock that it was read from.

    `clock` is `wall` (zone known, or inferred and noted in coverage), `local` (wall time whose zone nothing tells),
    `monotonic` (uptime; `domain` names the boot or source, comparable only within it), `arrival` (a wrapper's stamp) or
    `none` (no time at all: [MIN, MAX]). `domain` is "" for wall time. `year` is false while the year is not known; `lo` and
    `hi` are then of the year 2000.
    """

    lo: int
    hi: int
    clock: Clock = "wall"
    domain: str = ""
    year: bool = True

    @property
    def known(self) -> bool:
        """Whether at least one side is bounded."""
        return self.lo > MIN or self.hi < MAX

    def shift(self, ns: int) -> Instant:
        """Return the instant moved by `ns`; an unbounded side stays unbounded."""
        lo = self.lo if self.lo == MIN else self.lo + ns
        hi = self.hi if self.hi == MAX else self.hi + ns
        return Instant(lo, hi, self.clock, self.domain, self.year)

    def bounded(self, lo: int, hi: int) -> Instant:
        """Return the interval [lo, hi] on the same clock."""
        return Instant(lo, hi, self.clock, self.domain, self.year)

    def comparable(self, other: Instant) -> bool:
        """Whether the two were read from clocks that have a common origin."""
        return self.frame == other.frame

    @property
    def frame(self) -> Frame:
        """What instants must have in common to be compared: the clock's origin, and whether the year is known."""
        if self.clock in {"wall", "arrival"}:
            return ("wall", "", self.year)
        return (self.clock, self.domain, self.year)


UNKNOWN: Final = Instant(MIN, MAX, "none")


def order(a: Instant, b: Instant, skew: int = 0) -> Order:
    """Say whether `a` is before or after `b`, allowing each clock to be off so that they differ by `skew` ns.

    Equal single points on one clock are uncertain too: nothing in them tells which came first.
    """
    if not a.comparable(b):
        return Order.UNCERTAIN
    if a.hi + skew < b.lo:
        return Order.BEFORE
    if b.hi + skew < a.lo:
        return Order.AFTER
    return Order.UNCERTAIN


def whole_seconds(instant: Instant) -> Instant:
    """Return the whole seconds that a printed instant touches, up to the begin of the next one: the same for all of one second."""
    lo = instant.lo if instant.lo <= MIN else instant.lo // SECOND * SECOND
    hi = instant.hi if instant.hi >= MAX else (instant.hi // SECOND + 1) * SECOND
    return Instant(lo, hi, instant.clock, instant.domain, instant.year)


def first_second(instant: Instant) -> Instant:
    """Return the first of the seconds that an instant touches; of these whole seconds it is the same."""
    lo = instant.lo // SECOND * SECOND
    return Instant(lo, lo + SECOND, instant.clock, instant.domain, instant.year)


_DURATION = re.compile(r"(\d+)(ns|us|ms|s|m|h|d)")


def parse_duration(text: str) -> int | None:
    """Return `text` ("90s", "1h30m") in ns, or None when it is not a duration with units."""
    total, position = 0, 0
    for match in _DURATION.finditer(text):
        if match.start() != position:
            return None
        total += int(match[1]) * UNITS[match[2]]
        position = match.end()
    return total if position == len(text) and position else None


def format_duration(ns: int) -> str:
    """Return ns as a short text that `parse_duration` reads back ("1h30m"); negative values get a sign."""
    if ns < 0:
        return "-" + format_duration(-ns)
    parts, rest = [], ns
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        count, rest = divmod(rest, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_datetime(moment: datetime) -> int:
    """Return an aware datetime in ns UTC (exact; floats are never used)."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * SECOND + delta.microseconds * 1_000


_FIRST = from_datetime(datetime(1, 1, 1, tzinfo=UTC))
_LAST = from_datetime(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))


@lru_cache(maxsize=1024)  # the logs of many ranks begin and end within the same seconds
def format_time(ns: int) -> str:
    """Return ns UTC as ISO 8601 with the shortest exact fraction ("2026-11-30T10:04:10Z").

    A time outside the years 1 to 9999, which only a damaged number in a log can lead to, is shown as the nearest inside.
    """
    seconds, fraction = divmod(min(max(ns, _FIRST), _LAST), SECOND)
    base = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    tail = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{base}{tail}Z"


def format_about(ns: int) -> str:
    """Return ns UTC as ISO 8601, cut to whole milliseconds: for sentences, where a stamp's last digits are noise."""
    return format_time(ns - ns % 1_000_000)


def parse_time(text: str) -> int:
    """Return an ISO 8601 instant with zone in ns UTC. Raises ValueError when it is malformed or has no zone."""
    head, dot, tail = text.partition(".")
    digits = re.match(r"\d{1,9}", tail)
    if dot and digits is None:
        raise ValueError(f"not an ISO 8601 instant: {text!r}")
    zone = tail[digits.end() :] if digits else ""
    moment = datetime.fromisoformat(head + zone)
    if moment.tzinfo is None:
        raise ValueError(f"instant without a zone: {text!r}")
    return from_datetime(moment) + (int(digits[0].ljust(9, "0")) if digits else 0)
