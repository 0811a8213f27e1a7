"""Plain lines taken many at once, by regexes over whole blocks.

The result is that of taking them one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from itertools import accumulate, groupby
from operator import itemgetter

from denpex_rules.assembly import Speaker
from denpex_rules.care import OWN
from denpex_rules.forms import Forms, Key, Row, Who
from denpex_rules.recorder import AGENT, LABELS, SAMPLE_LINES, Recorder, State
from denpex_rules.retain import Marked
from denpex_rules.skim import Places, Screen

Marks = deque[tuple[int, Places]]


class Bulk:
    """Takes the plain lines of one source."""

    def __init__(self, recorder: Recorder, forms: Forms, screen: Screen, read: Callable[[bytes], None]) -> None:
        """Begin a source.

        Args:
            recorder: keeps what lines tell.
            forms: those of the source's plain lines.
            screen: tells which lines must be read in full.
            read: takes whole lines one by one.
        """
        self._recorder = recorder
        self._forms = forms
        self._screen = screen
        self._read = read

    @property
    def state(self) -> State:
        """All that was read so far."""
        return self._recorder.state

    def skim(self, block: bytes, start: int, end: int, found: object = None) -> None:
        """Take whole lines: those that may tell something one by one, the plain ones between them many at once."""
        assert found is None  # only compiled code looks ahead
        block = block[start:end]
        self._forms.refresh()
        screened = self._screen.look(block)
        marks = deque(screened.marks.items())
        position = 0
        for begin, behind in (*screened.full, (len(block), len(block))):
            self._between(block, position, begin, marks)
            self._read(block[begin:behind])
            position = behind

    def _between(self, block: bytes, start: int, end: int, marks: Marks) -> None:
        """Take lines of which none is known to need reading: runs of plain ones, and whatever stands between these."""
        if start < end and not self._forms.any:
            self._read(block[start:end])
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
                    self._read(block[start : start + size])
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
                speakers[key[0]].when(self._recorder.peel(rows[keys.index(key)][0][:-1]).instant)

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
