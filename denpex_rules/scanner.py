"""From the bytes of one source to sightings, coverage and error records: streaming, in bounded memory.

Lines are cut, peeled and told apart by emitter; an emitter's lines make records (a head and its continuation lines); when a
record is complete, the events that its literals announce are tried on its text. The result depends on the bytes alone, not on
the chunks that they arrive in.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import Final

from denpex_rules import formats
from denpex_rules.assembly import Speaker
from denpex_rules.care import OWN
from denpex_rules.forms import Forms, Key, Row, Who
from denpex_rules.lines import LineSplitter, PhysicalLine
from denpex_rules.program import Program
from denpex_rules.record import NO_HINTS, Hints, Line
from denpex_rules.recorder import AGENT, LABELS, SAMPLE_LINES, Recorder, Size, State
from denpex_rules.retain import Marked
from denpex_rules.sighting import Scan
from denpex_rules.skim import Places, Screen

STEP: Final = 64 * 1024  # bytes that are cut into lines at once: a chunk may hold nothing but newlines
BLOCK: Final = 1 << 20  # bytes that are skimmed at once
SAMPLE_BYTES: Final = 256 * 1024
SAMPLE_STEP: Final = 4 * 1024  # as STEP, among the first lines: what comes behind them can be skimmed
LEARN: Final = 20  # of the first lines, that are read in full

Peel = Callable[[bytes, Hints], Line]
Marks = deque[tuple[int, Places]]


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
    ) -> None:
        """Begin a source.

        Args:
            program: the events to look for.
            source: the name that sightings carry.
            hints: what the source's place claims about its lines.
            mtime: when the source was last written (ns UTC), where that is known.
            peel: reads one line.
            skim: read plain lines many at once, which makes no difference but in speed.
        """
        self._program = program
        self._matcher = program.matcher
        self._source = source
        self._mtime = mtime
        self._peel = peel
        self._recorder = Recorder(program, source, State(hints, program.lookups), self._peeled)
        self._forms = Forms(self._plain)
        self._skims = skim and not self._matcher.expensive  # an event without a literal is tried on every record
        self._screen: Screen | None = None

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the source. Damage never raises: it is noted in the coverage."""
        self._take(self.state.joiner.feed(chunk))

    def _take(self, chunk: bytes) -> None:
        position = 0
        while position < len(chunk):
            position = self._skim_next(chunk, position) or self._read_next(chunk, position)

    def _read_next(self, chunk: bytes, start: int) -> int:
        """Read some bytes line by line, and return where they end."""
        splitter, end = self.state.splitter, start + (STEP if self.state.sample is None else SAMPLE_STEP)
        if self._screen is not None and splitter.begun:
            end = min(end, chunk.find(b"\n", start) + 1 or end)  # the lines behind can be skimmed again
        self._read(splitter.feed(chunk[start:end]))
        return end

    def _skim_next(self, chunk: bytes, start: int) -> int:
        """Skim the whole lines of the next bytes, and return where they end; 0 where there are none."""
        if self._screen is None or self.state.splitter.begun:
            return 0
        end = chunk.rfind(b"\n", start, start + BLOCK) + 1
        if end:
            self._skim(chunk[start:end])
        return end

    def note(self, text: str, *, truncated: bool = False) -> None:
        """Add a note to the source's coverage; `truncated` says that bytes are missing."""
        if text not in self.state.notes:
            self.state.notes.append(text)
        self.state.truncated |= truncated

    def snapshot(self) -> Scan:
        """Return what `close` would return now, and stay open."""
        twin = SourceScanner(self._program, self._source, mtime=self._mtime, peel=self._peel, skim=self._skims)
        twin.resume(copy.deepcopy(self.state))
        if self._screen is not None:  # what was learned holds for both; before that, each decides for itself
            twin._forms, twin._screen = self._forms, self._screen
        return twin.close()

    def close(self) -> Scan:
        """Finish the last line and all records, and return what was found. Nothing can be fed after that."""
        self.end()
        return self._recorder.scan(self._mtime)

    def end(self) -> None:
        """Finish the last line and all records. Nothing can be fed after that; bounds can still shrink."""
        self._take(self.state.joiner.finish())
        self._read(self.state.splitter.finish())
        self._decide()
        self._recorder.finish_all()

    @property
    def state(self) -> State:
        """All that was read so far, as far as it is kept."""
        return self._recorder.state

    def resume(self, state: State) -> None:
        """Go on from the state that another scanner of the same source and program was in."""
        self._recorder.state = state

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

    def _peeled(self, physical: PhysicalLine) -> Line:
        line = self._plain(physical.data)
        if self._screen is not None and not physical.tail:
            self._forms.learn(physical.data, line)
        return line

    def _plain(self, raw: bytes) -> Line:
        return self._peel(raw, self.state.hints)

    def _decide(self) -> None:
        sample, self.state.sample = self.state.sample, None
        if sample:
            self.state.hints = formats.decide([line.data for line in sample], self.state.hints)
            if self._skims:
                self._screen = Screen(self._matcher, self._forms, self._plain)
            taken = LEARN if self._screen is not None and len(sample) == SAMPLE_LINES and _is_whole(sample) else len(sample)
            self._recorder.take(sample[:taken])
            if taken < len(sample):
                self._skim_sample(sample[taken:])

    def _skim_sample(self, lines: list[PhysicalLine]) -> None:
        """Skim lines that were cut already: as if they came now, at the place where they stand."""
        first, splitter = lines[0], self.state.splitter
        self.state.splitter = LineSplitter()
        self.state.splitter.skip(first.number - 1, first.start)
        block, number = [], first.number
        for line in lines:
            block += [b"\n"] * (line.number - number)  # empty lines
            block += [line.data, b"\n"]
            number = line.number + 1
        self._skim(b"".join(block))
        self.state.splitter = splitter

    # ---- plain lines

    def _skim(self, block: bytes) -> None:
        """Take whole lines: those that may tell something one by one, the plain ones between them many at once."""
        assert self._screen is not None
        self._forms.refresh()
        screened = self._screen.look(block)
        marks = deque(screened.marks.items())
        position = 0
        for start, end in (*screened.full, (len(block), len(block))):
            self._between(block, position, start, marks)
            self._read(self.state.splitter.feed(block[start:end]))
            position = end

    def _between(self, block: bytes, start: int, end: int, marks: Marks) -> None:
        """Take lines of which none is known to need reading: runs of plain ones, and whatever stands between these."""
        if start < end and not self._forms.any:
            self._read(self.state.splitter.feed(block[start:end]))
        elif start < end:
            rows = self._forms.lines(block, start, end)
            keys = self._forms.keys(rows)
            odd = self._odd(rows, keys)
            if not odd:
                self._many(rows, keys, start, marks)
                return
            for is_odd, group in groupby(range(len(rows)), odd.__getitem__):
                places = list(group)
                part = rows[places[0] : places[-1] + 1]
                size = sum(len(row[0] or row[-1]) for row in part)
                if is_odd:
                    self._read(self.state.splitter.feed(block[start : start + size]))
                else:
                    self._many(part, keys[places[0] : places[-1] + 1], start, marks)
                start += size

    def _odd(self, rows: list[Row], keys: list[Key]) -> list[bool]:
        """Return for each line whether it is not plain after all; an empty list: all are."""
        odd = self._forms.look_up(rows, keys)
        bad = self._forms.bad([key for key in keys if key not in odd] if odd else keys)
        own = {i for i, (who, _) in enumerate(keys) if who in bad and any(text in rows[i][0] for text in OWN)} if bad else ()
        if len(self.state.emitters) + len(rows) > LABELS and self._may_be_crowd(keys, odd, len(own)):
            odd |= {key for key in keys if key not in odd and self._is_new(key[0])}  # who is of the crowd, their order tells
        return [key in odd or i in own for i, key in enumerate(keys)] if odd or own else []

    def _may_be_crowd(self, keys: list[Key], odd: AbstractSet[Key], own: int) -> bool:
        """Whether there may be too many emitters after these lines: each that is not plain may show one more."""
        plain = len(set(map(itemgetter(0), keys)))
        others = sum(map(odd.__contains__, keys)) if odd else 0
        return len(self.state.emitters) + plain + others + own > LABELS

    def _is_new(self, who: Who) -> bool:
        """Whether an emitter said nothing before, or is of the crowd."""
        found = self.state.emitters.get(self._recorder.label(self._forms.plains[who]))
        return found is None or found.crowd

    def _many(self, rows: list[Row], keys: list[Key], at: int, marks: Marks) -> None:
        """Take plain lines that follow each other.

        Args:
            rows: the lines.
            keys: the numbers of their emitter and of their time.
            at: where the first begins in its block.
            marks: the events that lines of the block show; those of these lines are taken.
        """
        self.state.followers.end()
        state = self.state
        number, base = state.splitter.lines + 1, state.splitter.bytes - at
        starts = list(accumulate(map(len, map(itemgetter(0), rows)), initial=at))
        state.splitter.skip(len(rows), starts[-1] - at)
        whos = list(map(itemgetter(0), keys))
        if number <= SAMPLE_LINES:
            state.layouts.update(self._forms.plains[who].layout for who in whos[: SAMPLE_LINES - number + 1])
        lines = Counter(whos)
        speakers = {who: self._begin(who, count) for who, count in lines.items()}
        if any(speaker.waits for speaker in speakers.values()):
            self._end_waiting(rows, keys, speakers)
        self._spoke(keys, speakers, lines)
        state.runs += sum(speaker.presence.recount() for speaker in set(speakers.values()))
        last = dict(zip(whos, range(len(rows)), strict=True))
        tails: dict[Speaker, int] = {}
        for who, row in last.items():
            speaker = speakers[who]
            tails[speaker] = max(row, tails.get(speaker, 0))
        shown = self._taken(marks, starts)
        bad = self._forms.bad(keys)
        rows_of_errors = [row for row, who in enumerate(whos) if who in bad] if bad else []
        for row in sorted({*shown, *rows_of_errors}):
            speaker = speakers[whos[row]]
            if tails[speaker] != row:
                tail = self._tail(rows[row], keys[row], number + row, base + starts[row], shown.get(row, ()), bad)
                self._recorder.mark(tail, speaker.label)
        for speaker, row in tails.items():
            speaker.tail = self._tail(rows[row], keys[row], number + row, base + starts[row], shown.get(row, ()), bad)
            speaker.size = len(speaker.tail.raw)
            state.open[speaker.label] = speaker
            state.open_bytes += speaker.size
        self._recorder.bound_open()

    def _end_waiting(self, rows: list[Row], keys: list[Key], speakers: Mapping[Who, Speaker]) -> None:
        """Show the stamps of plain lines to their emitters, as far as lines without one still wait for the next."""
        for key in dict.fromkeys(keys):
            if speakers[key[0]].waits:
                speakers[key[0]].when(self._plain(rows[keys.index(key)][0][:-1]).instant)

    def _spoke(self, keys: list[Key], speakers: Mapping[Who, Speaker], lines: Mapping[Who, int]) -> None:
        """Take the time of plain lines: once for each second in which an emitter spoke, however many lines it has."""
        forms, limit = self._forms, self._recorder.run_limit
        clocks = {who: speaker.presence.clock(forms.plains[who].instant) for who, speaker in speakers.items()}
        for who, runs in clocks.items():
            if runs is not None:
                runs.lines += lines[who]
        spans = {when: (forms.seconds[when].lo, forms.seconds[when].hi) for when in set(map(itemgetter(1), keys))}
        for who, when in dict.fromkeys(keys):
            runs = clocks[who]
            if runs is None:
                continue
            lo, hi = spans[when]
            last = runs.his[-1] if runs.his else None
            if last is None or not runs.los[-1] <= lo <= last + runs.floor:
                runs.add(lo, hi, limit)
            elif hi > last:  # the common case of `add`, without a call
                runs.his[-1] = hi

    def _begin(self, who: Who, lines: int) -> Speaker:
        """Return an emitter whose record before is finished, and which said some plain lines."""
        line = self._forms.plains[who]
        speaker = self.state.emitter(self._recorder.label(line))
        if speaker.label == AGENT:
            self._recorder.hand_over()
        self._recorder.finish(speaker)
        speaker.presence.count(line, lines)
        return speaker

    def _tail(self, row: Row, key: Key, number: int, start: int, places: Places, bad: AbstractSet[Who]) -> Marked:
        return Marked(row[0][:-1], number, start, self._forms.seconds[key[1]], places, key[0] in bad)

    @staticmethod
    def _taken(marks: Marks, starts: list[int]) -> dict[int, Places]:
        """Take the marks of lines that begin at `starts`, and return them by line; those of lines before are of no use any more."""
        taken = {}
        while marks and marks[0][0] < starts[-1]:
            at, places = marks.popleft()
            if at >= starts[0]:
                taken[bisect_left(starts, at)] = places
        return taken


def _is_whole(lines: list[PhysicalLine]) -> bool:
    """Whether lines are as they stand in the log: nothing between them but empty lines, nothing of them left out."""
    if any(line.end - line.start != len(line.data) for line in lines):
        return False
    return all(after.start - line.end == after.number - line.number for line, after in pairwise(lines))
