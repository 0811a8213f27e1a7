"""Uptime clocks on the common axis: a kernel log counts seconds since boot, and some of its lines tell what time that was.

Two things tell it. An audit record carries the time of day beside the uptime. And where the same host's log is there a second
time with stamps of the day, lines of the same text give pairs; such a pair may be of two boots, so that one alone proves nothing,
and neither do pairs of one burst. What is told is an interval: it is as wide as the anchors disagree, wider with the distance
from them, and a clock whose anchors contradict each other is left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import evolve, frozen

from denpex_rules.clock import MAX, MIN, MINUTE, SECOND, Instant, format_about
from denpex_rules.sighting import Sighting

AUDIT: Final = "lib.clock#audit"  # the event of a record that carries both times
APART: Final = MINUTE  # uptime between pairs that don't come from one burst
AGREE: Final = 2 * SECOND  # by how much anchors of one clock may differ
LATE: Final = SECOND  # how much later than its own time a record may be printed
DRIFT: Final = 10_000  # the clock of uptime is off by one part in so many at most

Place = Callable[[Instant, Sighting], Instant]
Anchor = tuple[int, int, int]  # uptime in ns, and the bounds of (time of day - uptime)


@frozen
class Origin:
    """When an uptime clock began: between two times, as anchors between two uptimes tell (all in ns)."""

    lo: int
    hi: int
    first: int
    last: int

    def place(self, instant: Instant) -> Instant:
        """Return an instant of this clock on the common axis."""
        lo = MIN if instant.lo == MIN else instant.lo + self.lo - self._drift(instant.lo)
        hi = MAX if instant.hi == MAX else instant.hi + self.hi + self._drift(instant.hi)
        return Instant(lo, hi)

    def _drift(self, uptime: int) -> int:
        return max(self.first - uptime, uptime - self.last, 0) // DRIFT

    def text(self, domain: str) -> str:
        """Return what is said about it in the report."""
        about, off = (self.lo + self.hi) // 2, (self.hi - self.lo) // 2
        return f"the uptime stamps of {domain} were dated by lines that carry both times: it booted at {format_about(about)}" + (
            f", give or take {off / SECOND:.1f} s" if off >= SECOND // 10 else ""
        )


def origins(sightings: Iterable[Sighting], place: Place) -> Mapping[str, Origin]:
    """Return the origin of each uptime clock that anchors tell, by its domain.

    Args:
        sightings: with their hosts and times resolved.
        place: turns a time of day that a record tells into one on the common axis.
    """
    found = list(sightings)
    anchors: dict[str, list[Anchor]] = defaultdict(list)
    for s in found:
        if s.event.partition(":")[2] == AUDIT and _is_uptime(s.instant):
            told = place(_told(s), s)
            if told.frame == _AXIS:
                anchors[s.instant.domain].append((s.instant.lo, told.lo - s.instant.hi - LATE, told.hi - s.instant.lo))
    for domain, pairs in _pairs(found).items():
        if domain not in anchors and max(p[0] for p in pairs) - min(p[0] for p in pairs) >= APART:
            anchors[domain] = pairs
    return {domain: origin for domain, these in anchors.items() if (origin := _origin(these)) is not None}


_AXIS: Final = ("wall", "", True)


def _is_uptime(instant: Instant) -> bool:
    return instant.clock == "monotonic" and instant.known and instant.hi < MAX


def _told(sighting: Sighting) -> Instant:
    seconds, millis = sighting.fields.get("seconds"), sighting.fields.get("millis")
    if not isinstance(seconds, int) or not isinstance(millis, int):
        return evolve(sighting.instant)
    lo = seconds * SECOND + millis * 1_000_000
    return Instant(lo, lo + 999_999)


def _pairs(sightings: Iterable[Sighting]) -> Mapping[str, list[Anchor]]:
    """Return the anchors of lines that stand once in an uptime log and once in the same host's dated logs."""
    uptime: dict[tuple[str, str], list[Instant]] = defaultdict(list)
    dated: dict[tuple[str, str], set[Instant]] = defaultdict(set)
    for s in sightings:
        if s.actor.host is None or s.kind != "kernel":
            continue
        if _is_uptime(s.instant):
            uptime[s.actor.host, s.text].append(s.instant)
        elif s.instant.frame == _AXIS and s.instant.clock == "wall" and s.instant.known and s.instant.hi < MAX:
            dated[s.actor.host, s.text].add(s.instant)
    found: dict[str, list[Anchor]] = defaultdict(list)
    for key, printed in uptime.items():
        days = dated.get(key, set())
        if len(set(printed)) == 1 and len(days) == 1:
            (day,) = days
            found[printed[0].domain].append((printed[0].lo, day.lo - printed[0].hi, day.hi - printed[0].lo))
    return found


def _origin(anchors: list[Anchor]) -> Origin | None:
    """Return what all anchors together tell, None where they contradict each other."""
    if max(lo for _, lo, _ in anchors) - min(hi for _, _, hi in anchors) > AGREE:
        return None
    return Origin(min(lo for _, lo, _ in anchors), max(hi for _, _, hi in anchors), min(anchors)[0], max(anchors)[0])
