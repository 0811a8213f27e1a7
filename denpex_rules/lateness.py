"""Lines that come too late: after it was said that everything up to a later time was read. They are read, counted and noted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import define, evolve, field

from denpex_rules import formats
from denpex_rules.calendar import Resolver
from denpex_rules.clock import MAX, format_duration, format_time
from denpex_rules.lines import LineSplitter, PhysicalLine
from denpex_rules.record import NO_HINTS, Hints
from denpex_rules.recorder import SAMPLE_LINES
from denpex_rules.scanner import SAMPLE_BYTES
from denpex_rules.sighting import Scan, SourceCoverage


@define
class _Watch:
    """What is known of one source: its first lines tell which wrappers it uses, as they tell the scanner."""

    hints: Hints
    splitter: LineSplitter = field(factory=LineSplitter)
    sample: list[PhysicalLine] | None = field(factory=list)
    sampled: int = 0
    late: int = 0


@define
class Lateness:
    """Counts lines whose time lies more than a budget before what was asserted to be read.

    Until something is asserted it costs a source's first lines; from then on every line is read a second time.

    Args:
        budget: by how many ns a line may be late without being counted.
    """

    budget: int
    _asserted: int | None = field(default=None, init=False)
    _resolver: Resolver | None = field(default=None, init=False)
    _watches: dict[str, _Watch] = field(factory=dict, init=False)

    def begin(self, source: str, hints: Hints = NO_HINTS) -> None:
        """Begin a source."""
        self._watches[source] = _Watch(hints)

    def assert_read(self, until: int, resolver: Resolver) -> None:
        """Take that every source was read up to `until` (ns UTC); the resolver tells what stamps mean on that axis."""
        self._asserted = until if self._asserted is None else max(until, self._asserted)
        self._resolver = resolver

    def feed(self, source: str, data: bytes) -> None:
        """Look at the next bytes of a source."""
        watch = self._watches[source]
        if self._asserted is None and watch.sample is None:
            watch.splitter = LineSplitter()  # the rest of a line that began before counts as one of its own
            return
        self._look(watch, source, watch.splitter.feed(data))

    def finish(self) -> None:
        """Look at what is left of all sources."""
        for source, watch in self._watches.items():
            self._look(watch, source, watch.splitter.finish())
            self._decide(watch, source)

    def noted(self, scan: Scan) -> Scan:
        """Return a scan whose coverage says which sources had late lines."""
        return evolve(scan, sources=tuple(self._with_note(s) for s in scan.sources))

    def _with_note(self, coverage: SourceCoverage) -> SourceCoverage:
        watch = self._watches.get(coverage.source)
        if watch is None or not watch.late or self._asserted is None:
            return coverage
        lines = "1 line" if watch.late == 1 else f"{watch.late} lines"
        text = (
            f"{lines} came late: more than {format_duration(self.budget)} older than what was said to be read already "
            f"(last {format_time(self._asserted)}); what was given before did not know them"
        )
        return evolve(coverage, notes=(*coverage.notes, text))

    def _look(self, watch: _Watch, source: str, lines: Iterable[PhysicalLine]) -> None:
        for line in lines:
            if watch.sample is None:
                watch.late += self._is_late(line, watch, source)
                continue
            watch.sample.append(line if self._asserted is not None else evolve(line, number=0))
            watch.sampled += len(line.data)
            if len(watch.sample) == SAMPLE_LINES or watch.sampled >= SAMPLE_BYTES:
                self._decide(watch, source)

    def _decide(self, watch: _Watch, source: str) -> None:
        sample, watch.sample = watch.sample, None
        if sample:
            watch.hints = formats.decide([line.data for line in sample], watch.hints)
            # Lines that came before anything was asserted have the number 0.
            watch.late += sum(self._is_late(line, watch, source) for line in sample if line.number)

    def _is_late(self, line: PhysicalLine, watch: _Watch, source: str) -> bool:
        if self._asserted is None or self._resolver is None or not line.data.strip():
            return False
        peeled = formats.peel(line.data, watch.hints)
        host = peeled.actor.host or watch.hints.actor.host
        instant = self._resolver.resolve(peeled.instant, source, host)
        if instant.frame != _AXIS or instant.hi == MAX:
            return False
        return instant.hi < self._asserted - self.budget


_AXIS: Final = ("wall", "", True)
