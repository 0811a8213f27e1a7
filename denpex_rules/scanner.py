"""From the bytes of one source to sightings, coverage and error records: streaming, in bounded memory.

Lines are cut, peeled and told apart by emitter; an emitter's lines make records (a head and its continuation lines); when a
record is complete, the events that its literals announce are tried on its text. The result depends on the bytes alone, not on
the chunks that they arrive in.
"""

from __future__ import annotations

import copy
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from attrs import define, frozen

from denpex_rules import formats
from denpex_rules.activity import Presence
from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.lines import LINE_LIMIT, LineSplitter, PhysicalLine
from denpex_rules.pattern import Hit
from denpex_rules.program import Program
from denpex_rules.record import NO_HINTS, Hints, Line
from denpex_rules.retain import Errors, Gap, Kept, Shelf
from denpex_rules.rule import SEVERITIES, Kind, LogSeverity
from denpex_rules.sighting import MAX_RUNS, TEXT_LIMIT, Emitter, ErrorLine, Scan, Sighting, SourceCoverage

STEP: Final = 64 * 1024  # bytes that are cut into lines at once: a chunk may hold nothing but newlines
SAMPLE_LINES: Final = 200  # the first lines, which tell the wrappers of the source
SAMPLE_BYTES: Final = 256 * 1024
RECORD_LINES: Final = 200  # a longer record is cut into several
RECORD_BYTES: Final = 64 * 1024
OPEN_BYTES: Final = 16 << 20  # of all unfinished records of a source; beyond it the oldest is taken as finished
LABELS: Final = 5_000  # emitters that are told apart in one source
AGENT: Final = "agent"  # the label of a launcher's own lines
OTHERS: Final = "…"  # the label of the lines of all further ones
RUNS: Final = 400_000  # runs of all emitters of a source together
WAITING: Final = 8  # gaps of one emitter that wait for a stamp of their clock
LAYOUTS: Final = 64  # layouts that are counted to find the commonest

Peel = Callable[[bytes, Hints], Line]

_ERRORS: Final = frozenset(SEVERITIES[SEVERITIES.index("error") :])
_WARNINGS: Final = frozenset(SEVERITIES[SEVERITIES.index("warning") :])
_TRACE: Final = b"Traceback (most recent call last)"
_NO_HITS: Final[Mapping[int, int]] = {}
_HOST_KINDS: Final = frozenset({"kernel", "fabric", "scheduler"})


class SourceScanner:
    """Scans one source. Feed it chunks of any size, then close it; a snapshot shows what closing now would give."""

    def __init__(
        self, program: Program, source: str, hints: Hints = NO_HINTS, *, mtime: int | None = None, peel: Peel = formats.peel
    ) -> None:
        """Begin a source.

        Args:
            program: the events to look for.
            source: the name that sightings carry.
            hints: what the source's place claims about its lines.
            mtime: when the source was last written (ns UTC), where that is known.
            peel: reads one line.
        """
        self._program = program
        self._matcher = program.matcher
        self._source = source
        self._mtime = mtime
        self._peel = peel
        self._state = _State(hints, program.lookups)

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the source. Damage never raises: it is noted in the coverage."""
        for start in range(0, len(chunk), STEP):
            self._read(self._state.splitter.feed(chunk[start : start + STEP]))

    def note(self, text: str, *, truncated: bool = False) -> None:
        """Add a note to the source's coverage; `truncated` says that bytes are missing."""
        if text not in self._state.notes:
            self._state.notes.append(text)
        self._state.truncated |= truncated

    def snapshot(self) -> Scan:
        """Return what `close` would return now, and stay open."""
        twin = copy.copy(self)
        twin._state = copy.deepcopy(self._state)
        return twin.close()

    def close(self) -> Scan:
        """Finish the last line and all records, and return what was found. Nothing can be fed after that."""
        self.end()
        state, place = self._state, self._matcher.place
        found = [kept.resolved() for kept in state.shelf]
        found.sort(key=lambda s: (s.line, place[s.event]))  # stable: occurrences on one line keep their order
        errors = sorted(state.errors, key=lambda e: e.line)
        return Scan(tuple(found), (self._coverage(),), tuple(errors))

    def end(self) -> None:
        """Finish the last line and all records. Nothing can be fed after that; bounds can still shrink."""
        state = self._state
        self._read(state.splitter.finish())
        self._decide()
        for emitter in tuple(state.emitters.values()):
            self._finish(emitter)
        if AGENT in state.emitters:
            self._finish(state.emitters[AGENT])  # it may have been handed a record since

    # ---- bounds

    @property
    def size(self) -> Size:
        """How much is kept of the source."""
        return Size(self._state.shelf.kept, len(self._state.errors), self._state.runs)

    def shrink(self, limit: Size) -> None:
        """Keep at most so many sightings of each event and emitter, error records, and runs of each emitter, now and later."""
        state = self._state
        state.shelf.shrink(limit.sightings)
        state.errors.shrink(limit.errors)
        if limit.runs < state.run_limit:
            state.run_limit = limit.runs
            for emitter in state.emitters.values():
                emitter.presence.shrink(limit.runs)
            state.runs = sum(e.presence.runs for e in state.emitters.values())

    # ---- lines

    def _read(self, lines: list[PhysicalLine]) -> None:
        """Take whole lines; the first ones wait until there are enough of them to tell which wrappers the source uses."""
        state = self._state
        taken = 0
        while state.sample is not None and taken < len(lines):
            state.sample.append(lines[taken])
            state.sample_bytes += len(lines[taken].data)
            taken += 1
            if len(state.sample) == SAMPLE_LINES or state.sample_bytes >= SAMPLE_BYTES:
                self._decide()
        self._take(lines[taken:])

    def _decide(self) -> None:
        sample, self._state.sample = self._state.sample, None
        if sample:
            self._state.hints = formats.decide([line.data for line in sample], self._state.hints)
            self._take(sample)

    def _take(self, lines: list[PhysicalLine]) -> None:
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

    def _piece(self, physical: PhysicalLine) -> _Piece:
        line = self._peel(physical.data, self._state.hints)
        text = line.text.replace(b"\r", b"\n")  # a redrawn progress bar: each drawing reads as a line
        if physical.tail:
            text += b"\n" + physical.tail
        return _Piece(line, text, physical.number, physical.start, physical.end)

    def _place(self, piece: _Piece, hits: Mapping[int, int]) -> None:
        state, line = self._state, piece.line
        state.merged += line.repeats > 0
        if line.layout in state.layouts or len(state.layouts) < LAYOUTS:
            state.layouts[line.layout] += 1
        emitter = state.emitter(self._label(line))
        if emitter.label == AGENT:
            self._hand_over()
        if emitter.begins(piece):
            self._finish(emitter)
        piece.when = emitter.when(line.instant)
        emitter.pieces.append(piece)
        _note(emitter.hits, hits.items())
        emitter.size += len(piece.text)
        state.open_bytes += len(piece.text)
        state.open[emitter.label] = emitter
        while state.open_bytes > OPEN_BYTES:
            self._finish(next(iter(state.open.values())))

    def _hand_over(self) -> None:
        """Give an unfinished record without a label to the launcher when one of its lines shows that it is the launcher's.

        torchrun raises ChildFailedError by a bare traceback: only its box tells whose it is. It then has the launcher's stamps
        around it and its line order.
        """
        state = self._state
        bare = state.emitters.get("")
        if bare is None or state.hints.process or not any(p.line.kind == "agent" for p in bare.pieces):
            return
        agent = state.emitter(AGENT)
        self._finish(agent)
        for piece in bare.pieces:
            piece.when = agent.when(piece.line.instant)
        agent.pieces, agent.hits, agent.size = bare.pieces, bare.hits, bare.size
        bare.pieces, bare.hits, bare.size = [], {}, 0
        state.open.pop(bare.label, None)
        state.open[agent.label] = agent

    def _label(self, line: Line) -> str:
        """Return the emitter's label.

        A host's line among a process's lines is never from that process; an untagged line among tagged ones is the launcher's.
        """
        hints = self._state.hints
        if not line.label and line.kind in _HOST_KINDS and line.kind != hints.kind and not hints.process:
            return str(line.kind)
        return line.label or (AGENT if hints.tagged and not hints.process else "")

    # ---- records

    def _finish(self, emitter: _Emitter) -> None:
        """Look at an emitter's record, which is complete, and forget its lines."""
        if not emitter.label:
            self._hand_over()
        if not emitter.pieces:
            return
        record = _Record(emitter.pieces)
        presence, before = emitter.presence, emitter.presence.runs
        limit = min(self._state.run_limit, RUNS // len(self._state.emitters))
        for piece in emitter.pieces:
            presence.add(piece.line, limit)
        self._state.runs += presence.runs - before
        for place, announced in sorted((emitter.hits | self._matcher.expensive).items()):
            pattern = self._matcher.pattern(place)
            if not pattern.accepts(record.severity, None):
                continue
            for hit in pattern.matches(record.text, announced):
                row = record.row(hit.start)
                if pattern.accepts(record.severity, record.kind(row)):
                    self._see(place, hit, record, row, emitter)
        if record.severity in _ERRORS:
            self._remember_error(record, emitter)
        self._state.open.pop(emitter.label)
        self._state.open_bytes -= emitter.size
        emitter.records += 1
        emitter.pieces, emitter.hits, emitter.size = [], {}, 0

    def _see(self, place: int, hit: Hit, record: _Record, row: int, emitter: _Emitter) -> None:
        piece, event = record.pieces[row], self._matcher.events[place]
        when = record.when(row)
        sighting = Sighting(
            event.id,
            Emitter(self._source, emitter.label_of(piece)),
            emitter.records,
            piece.number,
            piece.start,
            piece.end,
            when if isinstance(when, Instant) else UNKNOWN,
            piece.line.actor.merge(record.pieces[0].line.actor),
            hit.fields,
            record.kind(row),
            record.severity,
            shown(piece.text, hit.start - record.starts[row]),
        )
        self._state.shelf.add(Kept(sighting, None if isinstance(when, Instant) else when), emitter.label)

    def _remember_error(self, record: _Record, emitter: _Emitter) -> None:
        # A traceback says at its end what it is about.
        row = max(i for i, p in enumerate(record.pieces) if p.line.severity == record.severity)
        piece = record.pieces[row]
        text = shown(piece.text)
        template = shape(text)
        if self._state.errors.known(template):
            return
        when = record.when(row)
        error = ErrorLine(
            template,
            Emitter(self._source, emitter.label_of(piece)),
            piece.number,
            piece.start,
            piece.end,
            when if isinstance(when, Instant) else UNKNOWN,
            piece.line.actor.merge(record.pieces[0].line.actor),
            text,
            ordinal=emitter.records,
        )
        self._state.errors.add(Kept(error, None if isinstance(when, Instant) else when))

    # ---- coverage

    def _coverage(self) -> SourceCoverage:
        state = self._state
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
            self._mtime,
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


# ------------------------------------------------------------------ records


@define
class _Piece:
    """One line of a record: peeled, where it stands, and its own instant or the gap that it falls into."""

    line: Line
    text: bytes
    number: int
    start: int
    end: int
    when: Instant | Gap = UNKNOWN

    def __deepcopy__(self, memo: dict[int, Any]) -> _Piece:
        return _Piece(self.line, self.text, self.number, self.start, self.end, copy.deepcopy(self.when, memo))


class _Record:
    """A complete record: its lines, and what they say together."""

    def __init__(self, pieces: list[_Piece]) -> None:
        self.pieces = pieces
        severities = [p.line.severity for p in pieces if p.line.severity is not None]
        self.severity: LogSeverity | None = max(severities, key=SEVERITIES.index, default=None)

    @cached_property
    def text(self) -> bytes:
        """The lines, joined by newlines."""
        return b"\n".join(p.text for p in self.pieces)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins in the text."""
        return [0, *accumulate(len(p.text) + 1 for p in self.pieces[:-1])]

    def row(self, offset: int) -> int:
        """Return which line an offset of the text stands in."""
        return bisect_right(self.starts, offset) - 1

    def kind(self, row: int) -> Kind | None:
        """Return the kind that a line itself shows, else the first that the record shows."""
        own = self.pieces[row].line.kind
        return own if own is not None else next((p.line.kind for p in self.pieces if p.line.kind), None)

    def when(self, row: int) -> Instant | Gap:
        """Return the stamp of a line, else the nearest one above it in the record, else the gap that the line falls into."""
        stamped = (p.when for p in reversed(self.pieces[: row + 1]) if isinstance(p.when, Instant))
        return next(stamped, self.pieces[row].when)


# ------------------------------------------------------------------ state


class _Emitter:
    """One emitter: its unfinished record, and the stamps around it.

    In a `crowd` nothing tells processes apart, so each line is a record and an emitter of its own.
    """

    def __init__(self, label: str, *, crowd: bool = False) -> None:
        self.label = label
        self.crowd = crowd
        self.presence = Presence()
        self.records = 0
        self.pieces: list[_Piece] = []
        self.hits: dict[int, int] = {}  # events that a literal announces, and their alternatives as bits
        self.size = 0
        self._stamp: Instant | None = None
        self._gap: Gap | None = None
        self._waiting: list[Gap] = []

    def label_of(self, piece: _Piece) -> str:
        """Return the label that a sighting on this line carries."""
        return f"{self.label}{piece.number}" if self.crowd else self.label

    def begins(self, piece: _Piece) -> bool:
        """Say whether a line begins a new record after the unfinished one."""
        if not self.pieces:
            return False
        line, before = piece.line, self.pieces[0].line
        full = len(self.pieces) == RECORD_LINES or self.size + len(piece.text) > RECORD_BYTES
        # An exception's last line goes with a process's record above it, never with a host's.
        stranger = line.severity is not None and line.kind is None and before.kind in _HOST_KINDS
        return (line.head and not self._announced(piece)) or full or self.crowd or stranger

    def _announced(self, piece: _Piece) -> bool:
        """Say whether a traceback goes with the one line above it: one that warns of it, or says that it is ignored."""
        if len(self.pieces) != 1 or not piece.text.startswith(_TRACE) or piece.line.instant.known:
            return False
        above = self.pieces[0]
        warned = above.line.severity in _WARNINGS and above.line.instant.known
        return warned or above.text.startswith(b"Exception ignored in")

    def when(self, instant: Instant) -> Instant | Gap:
        """Take the instant of the next line; for one without a stamp, return the gap between the stamps around it."""
        if instant.known:
            gaps = [*self._waiting, *([self._gap] if self._gap else [])]
            self._waiting = [gap for gap in gaps if not gap.close(instant)][-WAITING:]
            self._gap, self._stamp = None, instant
            return instant
        if self.crowd:
            return UNKNOWN
        self._gap = self._gap or Gap(self._stamp)
        return self._gap


class _State:
    """All that changes while a source is read: a snapshot works on a copy of it."""

    def __init__(self, hints: Hints, lookups: AbstractSet[str]) -> None:
        self.hints = hints
        self.sample: list[PhysicalLine] | None = []
        self.sample_bytes = 0
        self.splitter = LineSplitter()
        self.emitters: dict[str, _Emitter] = {}
        self.open: dict[str, _Emitter] = {}  # those with an unfinished record, longest open first
        self.open_bytes = 0
        self.shelf = Shelf(lookups)
        self.runs = 0  # of all emitters
        self.run_limit = MAX_RUNS
        self.errors = Errors()
        self.layouts: Counter[tuple[str, ...]] = Counter()
        self.merged = 0
        self.truncated = False
        self.notes: list[str] = []

    def emitter(self, label: str) -> _Emitter:
        """Return the emitter with this label; once there are too many, the one that stands for all further ones."""
        found = self.emitters.get(label)
        if found is None:
            crowd = len(self.emitters) >= LABELS
            key = OTHERS if crowd else label
            found = self.emitters.setdefault(key, _Emitter(key, crowd=crowd))
        return found

    def bounds(self) -> list[str]:
        """Say where a bound was reached."""
        splitter = self.splitter
        notes = [
            (splitter.nuls, f"{splitter.nuls} NUL bytes were skipped: the log was truncated while its writer went on"),
            (splitter.cut, f"{splitter.cut} lines were longer than {LINE_LIMIT} bytes: their middle was left out"),
            (len(self.emitters) > LABELS, f"more than {LABELS} emitters: the lines of the further ones are not told apart"),
            (self.errors.dropped, f"{self.errors.dropped} error records of further shapes were not kept"),
        ]
        return [text for count, text in notes if count]


# ------------------------------------------------------------------ texts

_VARIABLE: Final = re.compile(r"0[xX][0-9a-fA-F]+|(?:/[^\s/:'\",;()\[\]<>=]+)+/?|(?=[a-f]*\d)[0-9a-f]{8,}|\d+")
_LEAD: Final = 200  # bytes shown in front of a match that stands far inside a line


def shown(text: bytes, offset: int = 0) -> str:
    """Return a line of a record's text for display: the line at `offset`, invalid bytes escaped, at most TEXT_LIMIT long."""
    begin = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    line = text[begin : len(text) if end < 0 else end]
    far = offset - begin > TEXT_LIMIT // 2
    if far:
        line = line[offset - begin - _LEAD :]
    words = line[: 4 * TEXT_LIMIT].decode("utf-8", "backslashreplace")
    words = "…" + words if far else words
    return words if len(words) <= TEXT_LIMIT else words[: TEXT_LIMIT - 1] + "…"


def shape(text: str) -> str:
    """Return a text with its numbers, addresses and paths replaced, so that records of one shape count together."""
    return _VARIABLE.sub(lambda m: "<path>" if m[0][0] == "/" else "#", text[:300])
