"""From stamps as printed to one time axis: years, zones and host offsets that the stamps themselves leave open.

What is inferred is said: each inference adds a note to the report, and an order that rests on an assumed zone is never certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from attrs import Factory, define, evolve, frozen

from denpex_rules.clock import DAY, HOUR, MAX, MIN, SECOND, Instant, from_datetime
from denpex_rules.errors import UsageError
from denpex_rules.sighting import Scan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class Calendar:
    """What the caller knows: the year and zone of stamps that lack them, and how far each host's clock is ahead (ns)."""

    year: int | None = None
    timezone: str | None = None
    offsets: Mapping[str, int] = Factory(dict)

    def resolver(self, scan: Scan) -> Resolver:
        """Return a resolver for one collection. Raises UsageError when the zone is unknown."""
        instants = [(s.instant, s.source) for s in scan.sightings]
        instants += [(a.frame, a.emitter.source) for c in scan.sources for a in c.activities if a.runs]
        dated = [i.hi if i.hi < MAX else i.lo for i, _ in instants if i.year and i.clock in {"wall", "local"} and i.known]
        modified = {c.source: c.mtime for c in scan.sources if c.mtime is not None}
        resolver = Resolver(self.year, _zone(self.timezone), self.offsets, max(dated, default=None), modified)
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
    assume_utc: bool = False
    assumed: frozenset[str] = frozenset()
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

    def resolve(self, instant: Instant, source: str, host: str | None) -> Instant:
        """Return the instant with its year, zone and host offset applied where they are known."""
        if not instant.known or instant.clock in {"monotonic", "none"}:
            return instant
        dated = self._dated(instant, source)
        placed = self._placed(dated)
        return placed.shift(-self.offsets.get(host, 0)) if host is not None else placed

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
            return _in_year(instant, self.year)
        reference = self.reference if self.reference is not None else self.modified.get(source)
        if reference is None:
            self._noted.add("stamps without a year: no line and no file tells it, so their dates are not shown")
            return instant
        origin = "dated lines" if self.reference is not None else "the files' modification times"
        self._noted.add(f"stamps without a year were dated by {origin}")
        near = (_EPOCH + timedelta(seconds=reference // SECOND)).year
        years = [_in_year(instant, year) for year in (near - 1, near, near + 1)]
        if self.reference is None:  # a file is not written before its lines: the last year that is not in its future
            past = [i for i in years if i.lo <= reference + DAY]
            return past[-1] if past else years[0]
        return min(years, key=lambda i: abs(i.lo - reference))


def _hull(instants: list[Instant]) -> tuple[int, int]:
    """Return the first and last bounded end of instants."""
    los = [i.lo for i in instants if i.lo > MIN] or [MAX]
    his = [i.hi for i in instants if i.hi < MAX] or los
    return min(los), max(*his, *los)


def _in_year(instant: Instant, year: int) -> Instant:
    """Return an instant of the year 2000 in another year; 29 February becomes 1 March where the year has none."""
    start = from_datetime(datetime(2000, 1, 1, tzinfo=UTC))
    target = from_datetime(datetime(year, 1, 1, tzinfo=UTC))
    after_february = instant.lo - start >= 60 * DAY
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    step = target - start - (DAY if after_february and not leap else 0)
    return evolve(instant.shift(step), year=True)


def _to_utc(ns: int, zone: ZoneInfo) -> int:
    seconds, fraction = divmod(ns, SECOND)
    naive = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=zone)
    return from_datetime(naive.astimezone(UTC)) + fraction
