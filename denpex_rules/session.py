"""A scan of logs that are still being written: bytes in, incidents and their revisions out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import Factory, define, evolve, field

from denpex_rules.clock import SECOND
from denpex_rules.collection import Collection
from denpex_rules.errors import UsageError
from denpex_rules.finding import Incident, Report
from denpex_rules.intake import Intake
from denpex_rules.judgement import DEFAULT, Options, calendar_of, report_on, timeline_of
from denpex_rules.lateness import Lateness
from denpex_rules.places import hints_for
from denpex_rules.program import Program
from denpex_rules.record import Hints
from denpex_rules.sighting import Part, Scan


@define
class Session:
    """A scan of logs that are still being written.

    `feed` takes bytes as they come; `advance` says how far all sources were read and gives what is new or changed; `close` gives
    the same report as one scan over all that was fed. Incidents are given at least once per (id, revision).

    Args:
        program: the rules.
        options: how the logs are read and judged.
        on_incident: called with each incident that is new or changed.
        lateness_ns: by how many ns a line may be older than what `advance` said to be read; older ones are read too, but counted
            and noted in the coverage, because what was given before did not know them.
        earlier: what an earlier session sighted in sources that are gone.
        given: the incidents that an earlier session gave, by id; revisions go on from there.
    """

    program: Program
    options: Options = DEFAULT
    on_incident: Callable[[Incident], None] | None = None
    lateness_ns: int = 5 * SECOND
    earlier: Scan = field(factory=Scan, kw_only=True)
    given: dict[str, Incident] = field(factory=dict, kw_only=True)
    _collection: Collection = Factory(lambda self: Collection(self.program), takes_self=True)
    _lateness: Lateness = Factory(lambda self: Lateness(self.lateness_ns), takes_self=True)
    _intakes: dict[str, Intake] = Factory(dict)
    _parts: dict[str, tuple[Part, ...]] = Factory(dict)
    _closed: bool = False

    def begin(self, source: str, hints: Hints | None = None, mtime_ns: int | None = None) -> None:
        """Begin a source, unless it was begun before.

        Args:
            source: its name.
            hints: what its place claims; None: what a path of that name would.
            mtime_ns: when it was last written, ns UTC, where that is known.
        """
        if source not in self._intakes:
            hints = hints if hints is not None else hints_for(source)
            self._intakes[source] = Intake()
            hints = self.options.hinted(hints)
            self._collection.begin(source, hints, mtime_ns)
            self._lateness.begin(source, hints)

    def feed(self, source: str, data: bytes, hints: Hints | None = None) -> None:
        """Take the next bytes of a source, in any pieces. Raises UsageError on a closed session."""
        if self._closed:
            raise UsageError("the session is closed")
        self.begin(source, hints)
        self._take(source, self._intakes[source].feed(data))

    def note(self, source: str, text: str, *, truncated: bool = False) -> None:
        """Add a note to the coverage of a source that was begun; `truncated` says that bytes of it are missing."""
        self._collection.note(source, text, truncated=truncated)

    def place(self, source: str, parts: tuple[Part, ...]) -> None:
        """Say in which files the lines of a source stand, in order; the report names them instead of the source."""
        self._parts[source] = parts

    def advance(self, until: int | None = None) -> tuple[Incident, ...]:
        """Return the incidents that are new or changed since the last call.

        Args:
            until: ns UTC up to which all sources were read, silent ones too; None: as far as their lines go.
        """
        taken = self.snapshot()
        if until is not None:
            self._lateness.assert_read(until, calendar_of(self.options).resolver(taken))
        line = timeline_of(taken, self.program, self.options, until)
        return self._give(report_on(line, taken, self.program, self.options))

    def snapshot(self) -> Scan:
        """Return what was sighted so far."""
        return self._described(self._collection.snapshot())

    def close(self) -> Report:
        """End the session and return the whole report. Raises UsageError when it is closed already."""
        if self._closed:
            raise UsageError("the session is closed")
        self._closed = True
        for source, intake in self._intakes.items():
            self._take(source, intake.finish())
            for text in intake.notes:
                self._collection.note(source, text, truncated=intake.truncated)
        self._lateness.finish()
        taken = self._described(self._collection.close())
        line = timeline_of(taken, self.program, self.options)
        whole = report_on(line, taken, self.program, self.options)
        self._give(whole)
        return evolve(whole, incidents=tuple(self.given.get(i.id, i) for i in whole.incidents))

    def _take(self, source: str, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self._collection.feed(source, piece)
            self._lateness.feed(source, piece)

    def _described(self, taken: Scan) -> Scan:
        placed = (evolve(s, parts=self._parts.get(s.source, ())) for s in taken.sources)
        return self._lateness.noted(evolve(taken, sources=tuple(placed))).merge(self.earlier)

    def _give(self, found: Report) -> tuple[Incident, ...]:
        fresh = []
        for incident in found.incidents:
            before = self.given.get(incident.id)
            if before is None or evolve(before, revision=1) != incident:
                revised = evolve(incident, revision=before.revision + 1 if before else 1)
                self.given[incident.id] = revised
                fresh.append(revised)
                if self.on_incident is not None:
                    self.on_incident(revised)
        return tuple(fresh)
