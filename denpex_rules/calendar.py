"""From stamps as printed to one time axis: years, zones and host offsets that the stamps themselves leave open.

What is inferred is said: each inference adds a note to the report, and an order that rests on an assumed zone is never certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from attrs import Factory, define, evolve, frozen

from denpex_rules.clock import DAY, HOUR, MAX, MIN, SECOND, Clock, Instant, from_datetime
from denpex_rules.errors import UsageError
from denpex_rules.sighting import Scan, by_line
from denpex_rules.uptime import Origin

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ClockKey = tuple[str, Clock]  # a host, and what kind of stamps it is: those of arrival may come from another machine's clock


@frozen
class Clocks:
    """How far the hosts' clocks are from each other, as lines of the job itself tell (all in ns).

    Args:
        ahead: by how much each clock that was put right was ahead.
        within: how far each clock that was compared may still be off.
        wide: by how much two clocks may differ when one of them is not in `within`.
        notes: what is said about it in the report.
    """

    ahead: Mapping[ClockKey, int] = Factory(dict)
    within: Mapping[ClockKey, int] = Factory(dict)
    wide: int = 0
    notes: tuple[str, ...] = ()

    def bound(self, skew: int) -> int:
        """Return by how many ns any two clocks may differ, where `skew` is the bound of clocks that are right."""
        return max(skew + sum(sorted(self.within.values())[-2:]), self.wide)

    def between(self, one: ClockKey | None, other: ClockKey | None, skew: int) -> int:
        """Return by how many ns two clocks may differ; None is a clock of which nothing is known."""
        if one is None or other is None:
            return self.bound(skew)
        if one == other or (one[0] == other[0] and one not in self.ahead and other not in self.ahead):
            return 0
        if one in self.within and other in self.within:
            return skew + self.within[one] + self.within[other]
        return self.bound(skew)


EVEN: Final = Clocks()


@frozen
class Calendar:
    """What is known of clocks: the year and zone of stamps that lack them, and how far each host's clock is ahead (ns).

    The caller told `offsets`; the job's own lines tell `clocks`.
    """

    year: int | None = None
    timezone: str | None = None
    offsets: Mapping[str, int] = Factory(dict)
    clocks: Clocks = EVEN

    def resolver(self, scan: Scan) -> Resolver:
        """Return a resolver for one collection. Raises UsageError when the zone is unknown."""
        instants = {(s.instant, s.emitter.source) for s, *_ in by_line(scan.sightings)}
        instants |= {(a.frame, a.emitter.source) for c in scan.sources for a in c.activities if a.runs}
        dated = [i.hi if i.hi < MAX else i.lo for i, _ in instants if i.year and i.clock in {"wall", "local"} and i.known]
        modified = {c.source: c.mtime for c in scan.sources if c.mtime is not None}
        resolver = Resolver(self.year, _zone(self.timezone), self.offsets, max(dated, default=None), modified)
        resolver.ahead = self.clocks.ahead
        resolver.turned = _turns([t for c in scan.sources for a in c.activities if not a.frame.year for run in a.runs for t in run])
        resolver.unify_zones(instants)
        return resolver


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"unknown time zone {name!r}: use a name such as UTC or Europe/Berlin") from error


@define
class Resolver:
    """Turns an instant as printed into one on the common axis, as far as that is known."""

    year: int | None
    zone: ZoneInfo | None
    offsets: Mapping[str, int]
    reference: int | None  # a dated instant of the same collection, ns
    modified: Mapping[str, int]  # modification time of each source, ns
    ahead: Mapping[ClockKey, int] = Factory(dict)
    assume_utc: bool = False
    assumed: frozenset[str] = frozenset()
    origins: Mapping[str, Origin] = Factory(dict)
    turned: bool = False  # stamps without a year reach from the end of one year into the next
    _noted: set[str] = Factory(set)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred, in words."""
        return tuple(sorted(self._noted))

    def unify_zones(self, instants: Iterable[tuple[Instant, str]]) -> None:
        """Take stamps without a zone as UTC when others have a zone and both then tell of the same time.

        The condition is that the two spans come within an hour of each other; else they stay incomparable.
        """
        if self.zone is not None:
            return
        timed = [(self._dated(i, source), source) for i, source in instants if i.known and i.clock in {"wall", "local"}]
        zoned = [i for i, _ in timed if i.clock == "wall" and i.year]
        local = [i for i, _ in timed if i.clock == "local" and i.year]
        if not zoned or not local:
            return
        (zoned_lo, zoned_hi), (local_lo, local_hi) = _hull(zoned), _hull(local)
        apart = max(local_lo - zoned_hi, zoned_lo - local_hi)
        if apart <= HOUR:
            self.assume_utc = True
            self.assumed = frozenset(source for i, source in timed if i.clock == "local")
            self._noted.add("stamps without a zone were taken as UTC, because others are zoned and lie in the same hours")

    def join_uptime(self, origins: Mapping[str, Origin]) -> None:
        """Take from now on uptime stamps as times of day, where the origin of their clock is told."""
        self.origins = origins
        self._noted |= {origin.text(domain) for domain, origin in origins.items()}

    def resolve(self, instant: Instant, source: str, host: str | None) -> Instant:
        """Return the instant with its year, zone and host offset applied where they are known."""
        if instant.clock == "monotonic" and instant.known:
            origin = self.origins.get(instant.domain)
            return origin.place(instant) if origin is not None else instant
        if not instant.known or instant.clock == "none":
            return instant
        dated = self._dated(instant, source)
        placed = self._placed(dated)
        if host is None:
            return placed
        return placed.shift(-self.offsets.get(host, 0) - self.ahead.get((host, placed.clock), 0))

    def _placed(self, instant: Instant) -> Instant:
        if instant.clock != "local":
            return instant
        if self.zone is not None:
            return evolve(instant, lo=_to_utc(instant.lo, self.zone), hi=_to_utc(instant.hi, self.zone), clock="wall")
        return evolve(instant, clock="wall") if self.assume_utc else instant

    def _dated(self, instant: Instant, source: str) -> Instant:
        if instant.year or not instant.known:
            return instant
        if self.year is not None:
            later = self._is_after_turn(instant)
            if self.turned:
                self._noted.add(f"stamps without a year reach over the turn of {self.year}: those of January are of the year after")
            return _in_year(instant, self.year + later)
        reference = self.reference if self.reference is not None else self.modified.get(source)
        if reference is None:
            self._noted.add("stamps without a year: no line and no file tells it, so their dates are not shown")
            return instant.shift(366 * DAY) if self._is_after_turn(instant) else instant
        origin = "dated lines" if self.reference is not None else "the files' modification times"
        self._noted.add(f"stamps without a year were dated by {origin}")
        near = (_EPOCH + timedelta(seconds=reference // SECOND)).year
        years = [_in_year(instant, year) for year in (near - 1, near, near + 1)]
        if self.reference is None:  # a file is not written before its lines: the last year that is not in its future
            past = [i for i in years if i.lo <= reference + DAY]
            return past[-1] if past else years[0]
        return min(years, key=lambda i: abs(i.lo - reference))

    def _is_after_turn(self, instant: Instant) -> bool:
        return self.turned and instant.lo < _YEAR_2000 + _WINTER


_YEAR_2000: Final = from_datetime(datetime(2000, 1, 1, tzinfo=UTC))
_WINTER: Final = 60 * DAY  # from either side of the turn of a year


def _turns(times: Iterable[int]) -> bool:
    """Whether times of the year 2000 lie at both of its ends and nowhere between: a log that reaches over the turn of a year."""
    into = [time - _YEAR_2000 for time in times]
    early, late = any(t < _WINTER for t in into), any(t >= 366 * DAY - _WINTER for t in into)
    return early and late and all(t < _WINTER or t >= 366 * DAY - _WINTER for t in into)


def _hull(instants: list[Instant]) -> tuple[int, int]:
    """Return the first and last bounded end of instants."""
    los = [i.lo for i in instants if i.lo > MIN] or [MAX]
    his = [i.hi for i in instants if i.hi < MAX] or los
    return min(los), max(*his, *los)


def _in_year(instant: Instant, year: int) -> Instant:
    """Return an instant of the year 2000 in another year; 29 February becomes 1 March where the year has none."""
    march, early, late = _steps(year)
    step = early if instant.lo < march else late
    lo = instant.lo if instant.lo == MIN else instant.lo + step
    hi = instant.hi if instant.hi == MAX else instant.hi + step
    return Instant(lo, hi, instant.clock, instant.domain, year=True)


@lru_cache(maxsize=64)
def _steps(year: int) -> tuple[int, int, int]:
    """Return 1 March 2000, and by how much instants before and after it move to another year."""
    start = from_datetime(datetime(2000, 1, 1, tzinfo=UTC))
    step = from_datetime(datetime(year, 1, 1, tzinfo=UTC)) - start
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return start + 60 * DAY, step, step if leap else step - DAY


def _to_utc(ns: int, zone: ZoneInfo) -> int:
    seconds, fraction = divmod(ns, SECOND)
    naive = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=zone)
    return from_datetime(naive.astimezone(UTC)) + fraction
