"""What the scan half hands to the correlate half: sightings, coverage and unexplained errors. Few, small, serialisable.

Big logs stay where they are; a `Scan` travels. Its JSON-lines form is versioned (`SCAN_VERSION`): one header line, then one
line per item, each `{"type": ..., ...}`.

Units: instants are ns UTC intervals, byte ranges are half-open offsets into the source after decompression, lines count
from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import define, field, frozen

from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.rule import Kind, LogSeverity
from denpex_rules.values import ACTOR_FIELDS, Value

SCAN_VERSION: Final = 1


@frozen(cache_hash=True)  # many lines share one, and it is the key of tables
class Actor:
    """Who a record speaks for; each part known or None. `rank` is always the global one.

    `host` is in its joining form (values.parse_host), `device` canonical (values.parse_pci) where it is a PCI address.
    `attempt` counts restarts of a job from 0.
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    device: str | None = None
    pid: int | None = None
    job: str | None = None
    attempt: int | None = None

    def merge(self, other: Actor) -> Actor:
        """Return this actor with the parts that it lacks taken from `other`."""
        if other is self or other is NOBODY:
            return self
        return Actor(
            rank=other.rank if self.rank is None else self.rank,
            local_rank=other.local_rank if self.local_rank is None else self.local_rank,
            host=other.host if self.host is None else self.host,
            device=other.device if self.device is None else self.device,
            pid=other.pid if self.pid is None else self.pid,
            job=other.job if self.job is None else self.job,
            attempt=other.attempt if self.attempt is None else self.attempt,
        )

    def label(self) -> str:
        """Return the actor in words, in the order rank, host, device."""
        parts = []
        if self.rank is not None:
            parts.append(f"rank {self.rank}")
        elif self.local_rank is not None:
            parts.append(f"local rank {self.local_rank}")
        if self.host is not None:
            parts.append(f"host {self.host}")
        if self.device is not None:
            parts.append(f"device {self.device}")
        if not parts and self.pid is not None:
            parts.append(f"pid {self.pid}")
        return ", ".join(parts) or "unknown"


NOBODY: Final = Actor()


@frozen(cache_hash=True)  # it is the key of most tables
class Emitter:
    """One process's one stream as far as the lines tell: the largest unit within which line order is proof.

    `source` is the file, `label` the line prefix that tells processes apart inside it ("" when the file is one process).
    """

    source: str
    label: str = ""


@define
class Draft:
    """A sighting that is being made: to set the parts of what can't be changed takes several times as long, and there are many."""

    event: str
    emitter: Emitter
    ordinal: int
    line: int
    start: int
    end: int
    instant: Instant = UNKNOWN
    actor: Actor = NOBODY
    fields: Mapping[str, Value] = field(factory=dict)
    kind: Kind | None = None
    severity: LogSeverity | None = None
    text: str = ""


@frozen
class Sighting(Draft):
    """One event seen in one record.

    `ordinal` orders sightings of one emitter: the number of the record's first line. `text` is the record's matching line with
    wrappers peeled, as text for display (invalid bytes escaped), at most TEXT_LIMIT characters.
    """

    @property
    def source(self) -> str:
        """The file that the record stands in."""
        return self.emitter.source

    def told(self, name: str) -> Value | None:
        """Return the value of a capture, else of the actor's field, None where the line tells neither."""
        value = self.fields.get(name)
        if value is None and name in ACTOR_FIELDS:
            actors: Value | None = getattr(self.actor, name)
            return actors
        return value

    def placed(self, instant: Instant, actor: Actor) -> Sighting:
        """Return the sighting with another instant and actor."""
        return made(
            Draft(
                self.event,
                self.emitter,
                self.ordinal,
                self.line,
                self.start,
                self.end,
                instant,
                actor,
                self.fields,
                self.kind,
                self.severity,
                self.text,
            )
        )


def made(draft: Draft) -> Sighting:
    """Return the sighting that a draft becomes; it is a draft no more."""
    draft.__class__ = Sighting
    return draft  # type: ignore[return-value]  # it is one now


def by_line(sightings: Iterable[Sighting]) -> Iterator[list[Sighting]]:
    """Yield those that stand together and are known to have emitter, actor and instant in common: most often those of one line."""
    together: list[Sighting] = []
    for sighting in sightings:
        if together:
            first = together[0]
            if sighting.actor is not first.actor or sighting.instant is not first.instant or sighting.emitter is not first.emitter:
                yield together
                together = []
        together.append(sighting)
    if together:
        yield together


TEXT_LIMIT: Final = 1000


@frozen
class Activity:
    """When one emitter spoke: closed runs [lo, hi] in ns, in time order; inside a run no two lines are further apart than `floor`.

    Runs are kept in whole seconds: bounds are rounded outwards. Bounded: when there are more than MAX_RUNS runs, `floor` doubles
    and runs closer than it merge. `frame` is an instant of the same clock, zone and year knowledge as the runs. Lines without
    any time are counted in `untimed`, not in the runs.
    """

    emitter: Emitter
    actor: Actor
    kind: Kind | None
    lines: int
    untimed: int
    floor: int
    runs: tuple[tuple[int, int], ...] = ()
    frame: Instant = UNKNOWN

    def placed(self, frame: Instant, actor: Actor, runs: tuple[tuple[int, int], ...]) -> Activity:
        """Return the activity with another frame, actor and runs."""
        return Activity(self.emitter, actor, self.kind, self.lines, self.untimed, self.floor, runs, frame)


MAX_RUNS: Final = 4096


@frozen
class Dropped:
    """Sightings of one event that a scan did not keep, to stay within bounds.

    `label` is that of their emitter in the source; None: of any. All their instants lie in `instant`.
    """

    event: str
    label: str | None
    count: int
    instant: Instant = UNKNOWN


@frozen
class Part:
    """One of the files that a source was read from, in content order: how many of the source's lines and bytes stand before it."""

    name: str
    lines: int
    bytes: int


@frozen
class SourceCoverage:
    """What was read of one source.

    `layout` names wrappers and leaf, outermost first ("k8s_cri > torchrun_tee > c10d"). `truncated` says that bytes are
    missing (a cut stream, an over-long line); `merged` counts lines that stand for repeats of other processes' lines;
    `evicted` counts sightings dropped to stay within bounds; `dropped` says which, where that is known. `parts` names the files
    of a rotated log, oldest first; empty: the source is one file of its own name.
    """

    source: str
    layout: str = ""
    bytes: int = 0
    lines: int = 0
    truncated: bool = False
    merged: int = 0
    evicted: int = 0
    notes: tuple[str, ...] = ()
    activities: tuple[Activity, ...] = ()
    mtime: int | None = None
    dropped: tuple[Dropped, ...] = ()
    parts: tuple[Part, ...] = ()

    def locate(self, line: int, start: int, end: int) -> tuple[str, int, tuple[int, int]]:
        """Return the file, line and byte range in it that a line and byte range of the source stand for."""
        part = next((p for p in reversed(self.parts) if p.bytes <= start), None)
        if part is None:
            return self.source, line, (start, end)
        return part.name, line - part.lines, (start - part.bytes, end - part.bytes)


@frozen
class ErrorLine:
    """A record of severity error or worse, kept in case no rule explains it; `count` like it (same template) were seen.

    `ordinal` is that of the sightings in the same record.
    """

    template: str
    emitter: Emitter
    line: int
    start: int
    end: int
    instant: Instant
    actor: Actor
    text: str
    count: int = 1
    ordinal: int = -1


@frozen
class Scan:
    """The scan half's result over one or more sources; scans merge by concatenation."""

    sightings: tuple[Sighting, ...] = ()
    sources: tuple[SourceCoverage, ...] = ()
    errors: tuple[ErrorLine, ...] = ()

    def merge(self, other: Scan) -> Scan:
        """Return the union of two scans over different sources."""
        return Scan(self.sightings + other.sightings, self.sources + other.sources, self.errors + other.errors)
