"""From the bytes of one source to sightings, coverage and error records: streaming, in bounded memory.

Lines are cut, peeled and told apart by emitter; an emitter's lines make records (a head and its continuation lines); when a
record is complete, the events that its literals announce are tried on its text. The result depends on the bytes alone, not on
the chunks that they arrive in.
"""

from __future__ import annotations

import copy
import re
from functools import lru_cache
from itertools import pairwise
from typing import Final, Protocol

from denpex_rules import formats, native
from denpex_rules.ahead import NoneAhead
from denpex_rules.bulk import Bulk
from denpex_rules.forms import Forms
from denpex_rules.lines import LineSplitter, PhysicalLine
from denpex_rules.native import Found, Native
from denpex_rules.program import Program
from denpex_rules.record import NO_HINTS, Hints
from denpex_rules.recorder import SAMPLE_LINES, Peel, Recorder, Size, State
from denpex_rules.school import school_of
from denpex_rules.sighting import Scan
from denpex_rules.skim import Screen

STEP: Final = 64 * 1024  # bytes that are cut into lines at once: a chunk may hold nothing but newlines
BLOCK: Final = 1 << 20  # bytes that are skimmed at once
HELD: Final = 8 * 1024  # bytes of a line that does not end yet, until it is read in pieces
SAMPLE_BYTES: Final = 256 * 1024
SAMPLE_STEP: Final = 4 * 1024  # as STEP, among the first lines: what comes behind them can be skimmed
LEARN: Final = 20  # of the first lines, that are read in full


class Skimmer(Protocol):
    """Takes whole lines of one source, plain ones many at once."""

    def skim(self, block: bytes, start: int, end: int, found: Found | None = None) -> None:
        """Take the whole lines in [start, end) of a block; `found` are the hits in all of it, where these are known."""


class SourceScanner:
    """Scans one source. Feed it chunks of any size, then close it; a snapshot shows what closing now would give."""

    def __init__(
        self,
        program: Program,
        source: str,
        hints: Hints = NO_HINTS,
        *,
        mtime: int | None = None,
        peel: Peel = formats.peel,
        skim: bool = True,
        compiled: bool = True,
    ) -> None:
        """Begin a source.

        Args:
            program: the events to look for.
            source: the name that sightings carry.
            hints: what the source's place claims about its lines.
            mtime: when the source was last written (ns UTC), where that is known.
            peel: reads one line.
            skim: read plain lines many at once, which makes no difference but in speed.
            compiled: by compiled code, where there is some; no other difference either.
        """
        self._program = program
        self._matcher = program.matcher
        self._source = source
        self._mtime = mtime
        self._peel = peel
        self._recorder = Recorder(program, source, State(hints, program.lookups), peel)
        self._forms = Forms(self._recorder.peel)
        self._skims = skim and not self._matcher.expensive  # an event without a literal is tried on every record
        self._compiled = compiled
        self._skimmer: Skimmer | None = None  # while the wrappers are not known
        self._found: Found | None = None  # the hits in the chunk that is read

    def feed(self, chunk: bytes, found: Found | None = None) -> None:
        """Read the next bytes of the source. Damage never raises: it is noted in the coverage.

        Args:
            chunk: the bytes.
            found: the hits in them, where they were looked through already (`finder`).
        """
        taken = self.state.joiner.feed(chunk)
        self._found = found if taken is chunk else None  # else they are other bytes
        self._take(taken)
        self._found = None

    def _take(self, chunk: bytes) -> None:
        position = self._start(chunk) if self.state.sample == [] and not self.state.splitter.begun else 0
        while position < len(chunk):
            position = self._skim_next(chunk, position) or self._read_next(chunk, position)

    def _start(self, chunk: bytes) -> int:
        """Decide at once where a chunk holds all lines that this takes; return where those end that were read then."""
        end = _end_of(chunk, SAMPLE_LINES)
        if not end or chunk.find(b"\0", 0, end) >= 0:
            return 0
        self.state.sample = None
        lines = [line for line in chunk[:end].split(b"\n") if line]
        skimmer = self._begin(lines)
        if skimmer is None or self._knows(lines):
            return 0
        learned = _end_of(chunk, min(LEARN, SAMPLE_LINES))
        self._read_block(chunk[:learned])
        skimmer.skim(chunk, learned, end)
        return end

    def _skim_next(self, chunk: bytes, start: int) -> int:
        """Skim the whole lines of the next bytes, and return where they end; 0 where there are none."""
        if self._skimmer is None or self.state.splitter.begun:
            return 0
        if self.state.held:
            return self._skim_held(self._skimmer, chunk, start)
        end = chunk.rfind(b"\n", start, start + BLOCK) + 1
        if end:
            self._skimmer.skim(chunk, start, end, self._found)
        elif len(chunk) - start <= HELD:
            self.state.held = chunk[start:]
            end = len(chunk)
        return end

    def _skim_held(self, skimmer: Skimmer, chunk: bytes, start: int) -> int:
        """Skim the line whose first bytes came before, if it ends here; return where it, or what is held of it, ends."""
        end = chunk.find(b"\n", start, start + HELD) + 1
        line = self.state.held + chunk[start : end or start + HELD]
        self.state.held = b""
        if end:
            skimmer.skim(line, 0, len(line))
        elif len(line) <= HELD:
            self.state.held = line
        else:
            self._read_block(line)
        return end or min(len(chunk), start + HELD)

    def _read_next(self, chunk: bytes, start: int) -> int:
        """Read some bytes line by line, and return where they end."""
        splitter, end = self.state.splitter, start + (STEP if self.state.sample is None else SAMPLE_STEP)
        if self._skimmer is not None and splitter.begun:
            end = min(end, chunk.find(b"\n", start) + 1 or end)  # the lines behind can be skimmed again
        self._read(splitter.feed(chunk[start:end]))
        return end

    def note(self, text: str, *, truncated: bool = False) -> None:
        """Add a note to the source's coverage; `truncated` says that bytes are missing."""
        if text not in self.state.notes:
            self.state.notes.append(text)
        self.state.truncated |= truncated

    def snapshot(self) -> Scan:
        """Return what `close` would return now, and stay open."""
        self._recorder.ahead.settle_all()
        twin = SourceScanner(self._program, self._source, mtime=self._mtime, peel=self._peel, skim=False)
        twin.resume(copy.deepcopy(self.state))
        return twin.close()

    def close(self) -> Scan:
        """Finish the last line and all records, and return what was found. Nothing can be fed after that."""
        self.end()
        return self._recorder.scan(self._mtime)

    def end(self) -> None:
        """Finish the last line and all records. Nothing can be fed after that; bounds can still shrink."""
        self._take(self.state.joiner.finish())
        held, self.state.held = self.state.held, b""
        self._read_block(held)
        self._read(self.state.splitter.finish())
        self._decide()
        self._recorder.finish_all()
        # What was learned is large, and what is kept must not refer to itself: it is freed as soon as it is scanned.
        self._skimmer, self._forms = None, Forms(self._recorder.peel)
        self._recorder.ahead, self._recorder.learn = NoneAhead(), None

    @property
    def state(self) -> State:
        """All that was read so far, as far as it is kept."""
        return self._recorder.state

    def resume(self, state: State) -> None:
        """Go on from the state that another scanner of the same source and program was in."""
        self._recorder.state = state
        held, state.held = state.held, b""  # here nothing is skimmed yet
        self._read_block(held)

    # ---- bounds

    @property
    def size(self) -> Size:
        """How much is kept of the source."""
        return self._recorder.size

    def shrink(self, limit: Size) -> None:
        """Keep at most so many sightings of each event and emitter, error records, and runs of each emitter, now and later."""
        self._recorder.shrink(limit)

    # ---- lines

    def _read(self, lines: list[PhysicalLine]) -> None:
        """Take whole lines; the first ones wait until there are enough of them to tell which wrappers the source uses."""
        state = self.state
        taken = 0
        while state.sample is not None and taken < len(lines):
            state.sample.append(lines[taken])
            state.sample_bytes += len(lines[taken].data)
            taken += 1
            if len(state.sample) == SAMPLE_LINES or state.sample_bytes >= SAMPLE_BYTES:
                self._decide()
        self._recorder.take(lines[taken:])

    def _decide(self) -> None:
        sample, self.state.sample = self.state.sample, None
        if sample:
            lines = [line.data for line in sample]
            skimmer = self._begin(lines)
            whole = skimmer is not None and _is_whole(sample)
            taken = 0 if whole and self._knows(lines) else LEARN if whole and len(sample) == SAMPLE_LINES else len(sample)
            self._recorder.take(sample[:taken])
            if skimmer is not None and taken < len(sample):
                self._skim_sample(skimmer, sample[taken:])

    def _begin(self, lines: list[bytes]) -> Skimmer | None:
        """Decide what the first lines tell, and return what takes plain ones, if they are not to be read one by one."""
        self.state.hints = formats.decide(lines, self.state.hints)
        if not self._skims:
            return None
        recorder, forms = self._recorder, self._forms
        screen = Screen(self._matcher, forms, recorder.peel)
        recorder.learn, forms.untimed = forms.learn, not self.state.hints.formats
        if self._compiled and native.available():
            recorder.ahead = self._skimmer = Native(recorder, forms, screen, self._read_block, self._matcher)
        else:
            self._skimmer = Bulk(recorder, forms, screen, self._read_block)
        return self._skimmer

    def _knows(self, lines: list[bytes]) -> bool:
        """Take what sources like this one taught of lines like these; say whether that is anything."""
        return self._forms.attend(school_of(self._peel, self.state.hints), lines[:LEARN])

    def _read_block(self, block: bytes) -> None:
        """Take whole lines one by one."""
        self._read(self.state.splitter.feed(block))

    def _skim_sample(self, skimmer: Skimmer, lines: list[PhysicalLine]) -> None:
        """Skim lines that were cut already: as if they came now, at the place where they stand."""
        first, splitter = lines[0], self.state.splitter
        self.state.splitter = LineSplitter()
        self.state.splitter.skip(first.number - 1, first.start)
        block, number = [], first.number
        for line in lines:
            block += [b"\n"] * (line.number - number)  # empty lines
            block += [line.data, b"\n"]
            number = line.number + 1
        lines_again = b"".join(block)
        skimmer.skim(lines_again, 0, len(lines_again))
        self.state.splitter = splitter


def _end_of(chunk: bytes, lines: int) -> int:
    """Return where so many lines end, blank ones not counted; 0 where they do not end among the first bytes."""
    found = _first(lines).match(chunk, 0, SAMPLE_BYTES)
    return found.end() if found else 0


@lru_cache
def _first(lines: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?:\n*+[^\n]++\n){%d}" % lines)


def _is_whole(lines: list[PhysicalLine]) -> bool:
    """Whether lines are as they stand in the log: nothing between them but empty lines, nothing of them left out."""
    if any(line.end - line.start != len(line.data) for line in lines):
        return False
    return all(after.start - line.end == after.number - line.number for line, after in pairwise(lines))
