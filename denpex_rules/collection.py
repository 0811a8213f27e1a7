"""The scanners of all sources of one collection, and what they may keep together: bounded, however many sources there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import define, field

from denpex_rules.native import Found
from denpex_rules.program import Program
from denpex_rules.record import Hints
from denpex_rules.recorder import Size
from denpex_rules.retain import PER_EMITTER, SHAPES
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import MAX_RUNS, Scan

ALL: Final = Size(60_000, 10_000, 400_000)  # of all sources together
LEAST: Final = Size(2, 4, 2)  # of each source, event and emitter, however many there are


@define
class Collection:
    """Scans many sources. Where all of them together keep too much, each keeps less: the limits halve until all fits.

    The result depends neither on the order of the sources nor on how their bytes interleave.
    """

    program: Program
    _scanners: dict[str, SourceScanner] = field(factory=dict, init=False)
    _ended: set[str] = field(factory=set, init=False)
    _kept: Size = field(default=Size(0, 0, 0), init=False)
    _limit: Size = field(default=Size(PER_EMITTER, SHAPES, MAX_RUNS), init=False)

    def begin(self, name: str, hints: Hints, mtime: int | None = None) -> None:
        """Begin a source, unless one of this name was begun before."""
        if name not in self._scanners:
            self._scanners[name] = SourceScanner(self.program, name, hints, mtime=mtime)
            self._scanners[name].shrink(self._limit)

    @property
    def limit(self) -> Size:
        """How much each source may keep, as far as it is known by now."""
        return self._limit

    @property
    def kept(self) -> Size:
        """How much all sources keep."""
        return self._kept

    def shrink(self, limit: Size) -> None:
        """Let each source keep no more, now and later."""
        limit = least(limit, self._limit)
        if limit == self._limit:  # each keeps no more by now
            return
        self._limit = limit
        for scanner in self._scanners.values():
            scanner.shrink(self._limit)
        self._kept = total(scanner.size for scanner in self._scanners.values())

    def feed(self, name: str, data: bytes, found: Found | None = None) -> None:
        """Read the next bytes of a source that was begun; `found` are the hits in them, where these are known."""
        scanner = self._scanners[name]
        before = scanner.size
        scanner.feed(data, found)
        self._count(before, scanner.size)

    def note(self, name: str, text: str, *, truncated: bool) -> None:
        """Add a note to a source's coverage; `truncated` says that bytes are missing."""
        self._scanners[name].note(text, truncated=truncated)

    def end(self, name: str) -> None:
        """Finish a source: nothing more is fed to it."""
        if name not in self._ended:
            self._ended.add(name)
            scanner = self._scanners[name]
            before = scanner.size
            scanner.end()
            self._count(before, scanner.size)

    def snapshot(self) -> Scan:
        """Return what `close` would return now, and stay open."""
        return _union([scanner.snapshot() for _, scanner in sorted(self._scanners.items())])

    def close(self) -> Scan:
        """Finish all sources and return what was found in them, in the order of their names."""
        for name in self._scanners:
            self.end(name)
        return _union([scanner.close() for _, scanner in sorted(self._scanners.items())])

    def _count(self, before: Size, after: Size) -> None:
        kept = self._kept
        self._kept = Size(
            kept.sightings + after.sightings - before.sightings,
            kept.errors + after.errors - before.errors,
            kept.runs + after.runs - before.runs,
        )
        while (limit := tighter(self._kept, self._limit)) != self._limit:
            self.shrink(limit)


def tighter(kept: Size, limit: Size) -> Size:
    """Return the limits of each source, those halved of which all sources together keep too much."""
    return Size(
        max(LEAST.sightings, limit.sightings // 2) if kept.sightings > ALL.sightings else limit.sightings,
        max(LEAST.errors, limit.errors // 2) if kept.errors > ALL.errors else limit.errors,
        max(LEAST.runs, limit.runs // 2) if kept.runs > ALL.runs else limit.runs,
    )


def least(*sizes: Size) -> Size:
    """Return the least of each."""
    return Size(min(s.sightings for s in sizes), min(s.errors for s in sizes), min(s.runs for s in sizes))


def total(sizes: Iterable[Size]) -> Size:
    """Return the sum of each."""
    told = [*sizes]
    return Size(sum(s.sightings for s in told), sum(s.errors for s in told), sum(s.runs for s in told))


def _union(scans: list[Scan]) -> Scan:
    return Scan(
        tuple(s for scan in scans for s in scan.sightings),
        tuple(s for scan in scans for s in scan.sources),
        tuple(e for scan in scans for e in scan.errors),
    )
