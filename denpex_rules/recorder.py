"""From the lines of one source to what a scan keeps: records, their sightings and errors, and when emitters spoke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Final

from attrs import frozen

from denpex_rules.ahead import Ahead, NoneAhead
from denpex_rules.assembly import HOST_KINDS, Piece, Speaker, Whole, shape, shown
from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.followers import Followers
from denpex_rules.joiner import Joiner
from denpex_rules.lines import LINE_LIMIT, LineSplitter, PhysicalLine
from denpex_rules.pattern import Hit
from denpex_rules.program import Program
from denpex_rules.record import Hints, Line
from denpex_rules.rereading import Rereader
from denpex_rules.retain import Errors, Found, Kept, Marked, Shelf
from denpex_rules.rule import SEVERITIES
from denpex_rules.sighting import MAX_RUNS, Emitter, ErrorLine, Scan, Sighting, SourceCoverage

SAMPLE_LINES: Final = 200  # the first lines, which tell the wrappers of the source
OPEN_BYTES: Final = 16 << 20  # of all unfinished records of a source; beyond it the oldest is taken as finished
LABELS: Final = 20_000  # emitters that are told apart in one source
AGENT: Final = "agent"  # the label of a launcher's own lines
OTHERS: Final = "…"  # the label of the lines of all further ones
RUNS: Final = 400_000  # runs of all emitters of a source together

Peel = Callable[[bytes, Hints], Line]
Learn = Callable[[bytes, Line], None]

_ERRORS: Final = frozenset(SEVERITIES[SEVERITIES.index("error") :])
_NO_HITS: Final[Mapping[int, int]] = {}


class Recorder:
    """Makes records of the lines of one source, and keeps what they tell."""

    def __init__(self, program: Program, source: str, state: State, peel: Peel) -> None:
        """Begin a source; `peel` reads one line."""
        self._matcher = program.matcher
        self._source = source
        self.state = state
        self._peel = peel
        self.ahead: Ahead = NoneAhead()
        self.learn: Learn | None = None  # is shown each line that is read in full
        self._rereader = Rereader(program.matcher, peel)
        self._emitters: dict[str, Emitter] = {}

    def scan(self, mtime: int | None) -> Scan:
        """Return all that is kept; `mtime` is when the source was last written (ns UTC)."""
        place, events = self._matcher.place, len(self._matcher.events)
        marked: dict[int, tuple[Marked, str, list[int]]] = {}
        found: list[Sighting] = []
        for event, label, row in self.state.shelf:
            for kept in row:
                if not isinstance(kept, Marked):
                    found.append(kept.resolved())
                    continue
                line = marked.get(kept.number)
                if line is None:
                    line = marked[kept.number] = kept, label, []
                line[2].append(place[event])
        for number in sorted(marked):  # what is remembered of one line, its stamp say, is still known at the next
            kept, label, places = marked[number]
            found += self._rereader.sightings(kept, self.state.hints, self._emitter(label), places)
        found.sort(key=lambda s: s.line * events + place[s.event])  # stable: occurrences on one line keep their order
        errors = sorted(self.state.errors, key=lambda e: e.line)
        return Scan(tuple(found), (self._coverage(mtime),), tuple(errors))

    def take(self, lines: list[PhysicalLine]) -> None:
        """Peel whole lines, look for literals in all of them at once, and hand each to its emitter.

        A blank line without a stamp tells nothing, not even which emitter it is from.
        """
        read = (self._piece(line) for line in lines if line.tail or line.data.strip())
        pieces = [p for p in read if p.line.instant.known or p.text.strip()]
        if not pieces:
            return
        hits: dict[int, dict[int, int]] = {}
        ends = list(accumulate(len(p.text) + 1 for p in pieces))
        row = 0
        for end, events in self._matcher.announced(b"\n".join(p.text for p in pieces)):
            while end >= ends[row]:
                row += 1
            _note(hits.setdefault(row, {}), events)
        for row, piece in enumerate(pieces):
            self._place(piece, hits.get(row, _NO_HITS))

    def peel(self, raw: bytes) -> Line:
        """Read one line."""
        return self._peel(raw, self.state.hints)

    def _piece(self, physical: PhysicalLine, line: Line | None = None) -> Piece:
        if line is None:
            line = self.peel(physical.data)
            if self.learn is not None and not physical.tail:
                self.learn(physical.data, line)
        text = line.text.replace(b"\r", b"\n")  # a redrawn progress bar: each drawing reads as a line
        if physical.tail:
            text += b"\n" + physical.tail
        return Piece(line, text, physical.number, physical.start, physical.end)

    def _place(self, piece: Piece, hits: Mapping[int, int]) -> None:
        state, line = self.state, piece.line
        state.merged += line.repeats > 0
        if piece.number <= SAMPLE_LINES:
            state.layouts[line.layout] += 1
        emitter = state.emitter(state.followers.owner(line, self.label(line)))
        self.ahead.settle(emitter.label)
        if emitter.label == AGENT:
            self.hand_over()
        if emitter.tail is not None and not (line.head and line.instant.known):
            self._recall(emitter, emitter.tail)
        if emitter.tail is not None or emitter.begins(piece):
            self.finish(emitter)
        piece.when = emitter.when(line.instant)
        emitter.pieces.append(piece)
        _note(emitter.hits, hits.items())
        emitter.size += len(piece.text)
        state.open_bytes += len(piece.text)
        state.open[emitter.label] = emitter
        self.bound_open()

    def bound_open(self) -> None:
        """Take the oldest records as finished while the unfinished ones are too large together."""
        state = self.state
        while state.open_bytes > OPEN_BYTES:
            self.finish(next(iter(state.open.values())))

    @property
    def run_limit(self) -> int:
        """How many runs each clock of an emitter may have."""
        return min(self.state.run_limit, RUNS // len(self.state.emitters))

    def hand_over(self) -> None:
        """Give an unfinished record without a label to the launcher when one of its lines shows that it is the launcher's.

        torchrun raises ChildFailedError by a bare traceback: only its box tells whose it is. It then has the launcher's stamps
        around it and its line order.
        """
        state = self.state
        bare = state.emitters.get("")
        if bare is None or state.hints.process or not any(p.line.kind == "agent" for p in bare.pieces):
            return
        agent = state.emitter(AGENT)
        self.finish(agent)
        for piece in bare.pieces:
            piece.when = agent.when(piece.line.instant)
        agent.pieces, agent.hits, agent.size = bare.pieces, bare.hits, bare.size
        bare.pieces, bare.hits, bare.size = [], {}, 0
        state.open.pop(bare.label, None)
        state.open[agent.label] = agent

    def label(self, line: Line) -> str:
        """Return the emitter's label.

        A host's line among a process's lines is never from that process; an untagged line among tagged ones is the launcher's.
        """
        hints = self.state.hints
        if not line.label and line.kind in HOST_KINDS and line.kind != hints.kind and not hints.process:
            return str(line.kind)
        return line.label or (AGENT if hints.tagged and not hints.process else "")

    # ---- records

    def finish_all(self) -> None:
        """Finish the records of all emitters."""
        self.ahead.finish_all()
        for emitter in tuple(self.state.emitters.values()):
            self.finish(emitter)
        if AGENT in self.state.emitters:
            self.finish(self.state.emitters[AGENT])  # it may have been handed a record since

    def finish(self, emitter: Speaker) -> None:
        """Look at an emitter's record, which is complete, and forget its lines."""
        if not emitter.label:
            self.hand_over()
        if emitter.tail is not None:
            self.mark(emitter.tail, emitter.label)
            self._forget(emitter)
        if not emitter.pieces:
            return
        self._count(emitter)
        record = Whole(emitter.pieces)
        self._sight(record, emitter)
        if record.severity in _ERRORS:
            self._remember_error(record, emitter)
        self._forget(emitter)

    def _count(self, emitter: Speaker) -> None:
        """Count the lines of an emitter's record, and take their times."""
        presence, before, limit = emitter.presence, emitter.presence.runs, self.run_limit
        for piece in emitter.pieces:
            if not piece.counted:
                presence.add(piece.line, limit)
                piece.counted = True
        self.state.runs += presence.runs - before

    def _sight(self, record: Whole, emitter: Speaker) -> None:
        """Try the events that the record's literals announce."""
        for place, announced in sorted((emitter.hits | self._matcher.expensive).items()):
            pattern = self._matcher.pattern(place)
            if not pattern.accepts(record.severity, None):
                continue
            for hit in pattern.matches(record.text, announced):
                row = record.row(hit.start)
                if pattern.accepts(record.severity, record.kind(row)):
                    sighting = self._sighting(place, hit, record, row, emitter.label_of(record.pieces[row]))
                    when = record.when(row)
                    gap = None if isinstance(when, Instant) else when
                    self._keep(Kept(sighting, gap), sighting.event, emitter.label)

    def _keep(self, found: Found, event: str, label: str) -> None:
        shelf = self.state.shelf
        self.ahead.settle_row(event, label)
        if self.ahead.marks >= shelf.quota:  # every row will keep fewer: all marks must be known before
            self.ahead.settle_marks()
        shelf.add(found, event, label)

    def _forget(self, emitter: Speaker) -> None:
        """Drop the lines of an emitter's record."""
        self.state.open.pop(emitter.label)
        self.state.open_bytes -= emitter.size
        emitter.pieces, emitter.hits, emitter.size, emitter.tail = [], {}, 0, None

    def _sighting(self, place: int, hit: Hit, record: Whole, row: int, label: str) -> Sighting:
        piece, when = record.pieces[row], record.when(row)
        return Sighting(
            self._matcher.events[place].id,
            self._emitter(label),
            record.pieces[0].number,
            piece.number,
            piece.start,
            piece.end,
            when if isinstance(when, Instant) else UNKNOWN,
            record.actor(row),
            hit.fields,
            record.kind(row),
            record.severity,
            record.shown(row, hit.start),
        )

    def _emitter(self, label: str) -> Emitter:
        """Return the emitter with this label: one for all that is kept of it."""
        found = self._emitters.get(label)
        if found is None:
            if len(self._emitters) >= LABELS:
                self._emitters.clear()
            found = self._emitters[label] = Emitter(self._source, label)
        return found

    def _remember_error(self, record: Whole, emitter: Speaker) -> None:
        # A traceback says at its end what it is about.
        row = max(i for i, p in enumerate(record.pieces) if p.line.severity == record.severity)
        piece = record.pieces[row]
        text = shown(piece.text)
        template = shape(text)
        if self.state.errors.known(template, piece.number):
            return
        self._keep_error(record, row, emitter.label_of(piece), template, text)

    def _keep_error(self, record: Whole, row: int, label: str, template: str, text: str) -> None:
        piece, when = record.pieces[row], record.when(row)
        error = ErrorLine(
            template,
            Emitter(self._source, label),
            piece.number,
            piece.start,
            piece.end,
            when if isinstance(when, Instant) else UNKNOWN,
            piece.line.actor.merge(record.pieces[0].line.actor),
            text,
            ordinal=record.pieces[0].number,
        )
        self.state.errors.add(Kept(error, None if isinstance(when, Instant) else when))

    def mark(self, tail: Marked, label: str) -> None:
        """Keep the events that a plain line shows, and count it where it is an error."""
        for place in tail.places:
            self._keep(tail, self._matcher.events[place].id, label)
        if tail.bad:
            self.mark_error(tail, label)

    def mark_error(self, tail: Marked, label: str) -> str:
        """Count a plain line that is an error, and return its template."""
        template = self._rereader.template(tail, self.state.hints)
        if not self.state.errors.known(template, tail.number):
            record = self._rereader.record(tail, self.state.hints)
            self._keep_error(record, 0, label, template, shown(record.text))
        return template

    def take_stamp(self, emitter: Speaker) -> None:
        """Take the time of an emitter's last plain line: what lies behind it has none."""
        if emitter.tail is not None and emitter.tail.instant.known:
            emitter.when(self._rereader.piece(emitter.tail, self.state.hints).line.instant)

    def _recall(self, emitter: Speaker, tail: Marked) -> None:
        """Read an emitter's last plain line in full, for its record may go on."""
        piece = self._rereader.piece(tail, self.state.hints)
        piece.when = emitter.when(piece.line.instant)
        piece.counted = True
        emitter.tail, emitter.pieces = None, [piece]
        for _, events in self._matcher.announced(piece.text):
            _note(emitter.hits, events)
        self.state.open_bytes += len(piece.text) - emitter.size
        emitter.size = len(piece.text)

    # ---- bounds

    @property
    def size(self) -> Size:
        """How much is kept of the source."""
        state, ahead = self.state, self.ahead
        return Size(state.shelf.kept + ahead.marks, len(state.errors), state.runs + ahead.runs)

    def shrink(self, limit: Size) -> None:
        """Keep at most so many sightings of each event and emitter, error records, and runs of each emitter, now and later."""
        state = self.state
        if limit.sightings < state.shelf.limit or limit.errors < state.errors.limit:
            self.ahead.settle_marks()
        state.shelf.shrink(limit.sightings)
        state.errors.shrink(limit.errors)
        if limit.runs < state.run_limit:
            self.ahead.settle_all()
            for emitter in state.emitters.values():
                self._count(emitter)  # the last lines count as those before them: a later one may fill the gap between two runs
            state.run_limit = limit.runs
            for emitter in state.emitters.values():
                emitter.presence.shrink(limit.runs)
            state.runs = sum(e.presence.runs for e in state.emitters.values())

    # ---- coverage

    def _coverage(self, mtime: int | None) -> SourceCoverage:
        state = self.state
        layout = max(state.layouts, key=state.layouts.__getitem__, default=())
        dropped = state.shelf.dropped()
        return SourceCoverage(
            self._source,
            " > ".join(layout),
            state.splitter.bytes,
            state.splitter.lines,
            state.truncated or state.splitter.cut > 0,
            state.merged,
            sum(d.count for d in dropped),
            tuple(state.notes + state.bounds() + [f"evicted: {event}" for event in dict.fromkeys(d.event for d in dropped)]),
            tuple(a for e in state.emitters.values() for a in e.presence.activities(Emitter(self._source, e.label))),
            mtime,
            dropped,
        )


@frozen
class Size:
    """A number of sightings, of error records, and of the runs in which emitters spoke."""

    sightings: int
    errors: int
    runs: int


def _note(hits: dict[int, int], announced: Iterable[tuple[int, int]]) -> None:
    for place, alternatives in announced:
        hits[place] = hits.get(place, 0) | alternatives


# ------------------------------------------------------------------ state


class State:
    """All that changes while a source is read: a snapshot works on a copy of it."""

    def __init__(self, hints: Hints, lookups: AbstractSet[str]) -> None:
        self.hints = hints
        self.sample: list[PhysicalLine] | None = []
        self.sample_bytes = 0
        self.joiner = Joiner()
        self.splitter = LineSplitter()
        self.held = b""  # the first bytes of a line that is skimmed when it ends
        self.followers = Followers()
        self.emitters: dict[str, Speaker] = {}
        self.open: dict[str, Speaker] = {}  # those with an unfinished record, longest open first
        self.open_bytes = 0
        self.shelf = Shelf(lookups)
        self.runs = 0  # of all emitters
        self.run_limit = MAX_RUNS
        self.errors = Errors()
        self.layouts: Counter[tuple[str, ...]] = Counter()
        self.merged = 0
        self.truncated = False
        self.notes: list[str] = []

    def emitter(self, label: str) -> Speaker:
        """Return the emitter with this label; once there are too many, the one that stands for all further ones."""
        found = self.emitters.get(label)
        if found is None:
            crowd = len(self.emitters) >= LABELS
            key = OTHERS if crowd else label
            found = self.emitters.setdefault(key, Speaker(key, crowd=crowd))
        return found

    def crowds(self, label: str) -> bool:
        """Whether an emitter with this label is not told apart, or would not be."""
        found = self.emitters.get(label)
        return len(self.emitters) >= LABELS if found is None else found.crowd

    def bounds(self) -> list[str]:
        """Say where a bound was reached."""
        splitter = self.splitter
        notes = [
            (splitter.nuls, f"{splitter.nuls} NUL bytes were skipped: the log was truncated while its writer went on"),
            (splitter.cut, f"{splitter.cut} lines were longer than {LINE_LIMIT} bytes: their middle was left out"),
            (len(self.emitters) > LABELS, f"more than {LABELS} emitters: the lines of the further ones are not told apart"),
            (self.errors.dropped, f"{self.errors.dropped} error records of further shapes were not kept"),
        ]
        return [text for count, text in notes if count] + self.joiner.notes
