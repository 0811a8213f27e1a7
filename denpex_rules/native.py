"""Plain lines taken many at once by compiled code, where it was built with the package; else `bulk` takes them.

The compiled code tells lines apart, times and counts them; it asks here for what it sees for the first time. What it has taken
is known to it alone until it is settled: before another line of the same emitter is placed, and at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from denpex_rules.activity import Frame, Runs
from denpex_rules.assembly import Speaker
from denpex_rules.care import FIRST, GLUED, NEVER, OWN
from denpex_rules.clock import UNKNOWN, Clock, Instant, whole_seconds
from denpex_rules.exemplar import Exemplar
from denpex_rules.forms import KNOWN, SECONDS, SHAPES, Forms, shape
from denpex_rules.program import Matcher
from denpex_rules.record import Line
from denpex_rules.recorder import AGENT, OPEN_BYTES, SAMPLE_LINES, Recorder, State
from denpex_rules.rereading import TEMPLATES, digits_alike
from denpex_rules.retain import Gap, Marked, More
from denpex_rules.rule import SEVERITIES
from denpex_rules.school import MESSAGE, Prefix, body_of
from denpex_rules.skim import Screen

PURE: Final = "DENPEX_RULES_PURE"  # set in the environment: do without compiled code

# What the compiled code stops for, as in plain.hpp.
END, READ, WHO, WHEN, ANSWER, WAKE, CLOCK, GAP, CLOSE, RUN, MARK, ERROR, ROWS = range(13)

# Lines that are read in full at once: few while something may be learned from them.
LITTLE: Final = 8
MUCH: Final = 128
FIRST_LINES: Final = 10_000  # of emitters, that are kept as they were read until they are marked
PIECE: Final = 16 * 1024  # bytes that are read in full at once while no form is known

TAILS: Final = 64  # of one prefix at most, as in forms.hpp
MAX_NUMBER: Final = 2**63 - 1  # there is no next run
_MODULE: Final = "denpex_rules.plain"
_NOBODY: Final = -1
_ROLES: Final = {"fixed": 0, "who": 1, "when": 2, "free": 3, "fraction": 3}
_ERRORS: Final = frozenset(SEVERITIES[SEVERITIES.index("error") :])
_SECRET: Final = int.from_bytes(os.urandom(8), "little")  # so that no log can be written to fill the tables badly


def available() -> bool:
    """Whether there is compiled code, and it may be used."""
    return compiled_module() is not None


def compiled_module() -> Any:
    """Return the compiled module; None where it was not built, or is not wanted."""
    if os.environ.get(PURE):
        return None
    try:
        return import_module(_MODULE)
    except ImportError:
        return None


Found = Any  # the hits in one block, as the compiled code keeps them


class Native:
    """Takes the plain lines of one source."""

    def __init__(self, recorder: Recorder, forms: Forms, screen: Screen, read: Callable[[bytes], None], matcher: Matcher) -> None:
        """Begin a source.

        Args:
            recorder: keeps what lines tell.
            forms: those of the source's plain lines.
            screen: tells which events a plain line shows.
            read: takes whole lines one by one.
            matcher: the events to look for.
        """
        self._recorder = recorder
        self._forms = forms
        self._screen = screen
        self._read = read
        self._matcher = matcher
        self._module = compiled_module()
        self._prefixes: list[Prefix] = []
        self._block = b""
        self._offset = 0  # of it in the source
        self._last: tuple[int, Line] | None = None  # the line that was asked about last, by where it begins
        self._forget()

    def _forget(self) -> None:
        """Begin with empty tables; everything is settled."""
        self._plain: Any = self._module.Plain(_SECRET, MESSAGE, FIRST, NEVER, OWN, GLUED, self._matcher.flags)
        self._plain.learn([*map(_told, self._prefixes)])
        self._whos: list[Exemplar] = []  # of an emitter's numbers
        self._labels: list[str] = []  # of speakers
        self._speakers: list[Speaker | None] = []
        self._places: dict[str, int] = {}  # of labels
        self._runs: list[Runs] = []  # of clocks
        self._at: list[int] = []  # in which of its runs each clock was last; -1: it has none
        self._clocks: dict[tuple[int, int], int] = {}  # of speakers and frames
        self._gaps: list[Gap] = []
        self._frames: dict[Frame, int] = {}
        self._kinds: list[tuple[Clock, str, bool]] = []
        self._templates: list[str] = []  # of errors
        self._marks: dict[int, Marked] = {}  # by the number of their line
        self._read_lines: dict[int, Line] = {}  # first lines of emitters, by their offsets in the source
        self._patience = LITTLE
        self._plain.patience(LITTLE)

    @property
    def _state(self) -> State:
        return self._recorder.state

    @property
    def marks(self) -> int:
        """How many more marked lines will be kept of the source."""
        return int(self._plain.kept)

    @property
    def runs(self) -> int:
        """How many more runs its emitters will have."""
        return int(self._plain.fresh)

    # ---- taking

    def skim(self, block: bytes, start: int, end: int, found: Found | None = None) -> None:
        """Take whole lines: those that may tell something one by one, the plain ones between them many at once.

        Args:
            block: bytes of the source.
            start: where the lines begin in it.
            end: where they end.
            found: the hits in the whole block, where it was looked through already.
        """
        self._refresh()
        while start < end and not self._prefixes:  # nothing to look for yet: some lines, then it may be known
            behind = block.find(b"\n", min(start + PIECE, end - 1)) + 1
            self._read(block[start:behind])
            start = behind
            self._renew()
        self._block, self._last, plain, splitter = block, None, self._plain, self._state.splitter
        self._offset = splitter.bytes - start
        plain.begin(block, start, end, splitter.lines + 1, self._offset)
        if found is None:
            self._matcher.tell(memoryview(block)[start:end], plain)
        else:
            plain.adopt(found, end)
        while start < end:
            start = self._next(start)
        plain.hold()
        self._block = b""
        if self._state.open_bytes + plain.open_bytes > OPEN_BYTES:
            self.settle_all()
            self._recorder.bound_open()

    def _next(self, start: int) -> int:
        """Take the lines up to those that must be read in full, and these; return where they end."""
        plain, splitter = self._plain, self._state.splitter
        early = SAMPLE_LINES - splitter.lines  # lines that tell the layout
        plain.tracing(early > 0)
        most = early if early > 0 else sys.maxsize
        plain.quota(self._state.shelf.quota)
        while (stop := plain.run(most)) not in {END, READ}:
            _ANSWERS[stop](self)
            if stop in {MARK, ROWS}:
                plain.quota(self._state.shelf.quota)
        begin: int = plain.start
        end: int = plain.end
        if plain.taken:
            self._state.followers.end()
            splitter.skip(plain.taken, begin - start)
            if early > 0:
                self._state.layouts.update(self._whos[who].line.layout for who in plain.trace())
        if stop == READ:
            self._read(self._block[begin:end])
            begin = end
            self._patience = LITTLE if self._renew() else min(2 * self._patience, MUCH)
            plain.patience(self._patience)
        plain.resume(begin, splitter.lines + 1)
        return begin

    def _renew(self) -> bool:
        """Take into use what was learned; False where there is nothing new."""
        fresh = self._forms.fresh()
        if fresh is not None:
            self._prefixes = fresh
            self._plain.learn([*map(_told, fresh)])
        return fresh is not None

    def _refresh(self) -> None:
        self._renew()
        if self._plain.whos > KNOWN:
            self.settle_all()
            self._forget()
        if self._plain.whens > SECONDS:
            self._plain.forget_whens()
        if self._plain.gaps > SECONDS:
            self.settle_all()
            self._plain.forget_gaps()
            self._gaps = []
        if self._plain.shapes > SHAPES:
            self.settle_all()
            self._plain.forget_shapes()

    @property
    def _raw(self) -> bytes:
        return self._block[self._plain.start : self._plain.end - 1]

    @property
    def _prefix(self) -> Prefix:
        """The prefix of the line that is asked about."""
        return self._prefixes[int(self._plain.form) // TAILS]

    def _line(self) -> Line:
        """Return the line that is asked about; it may be asked about several times."""
        start = self._plain.start
        if self._last is None or self._last[0] != start:
            self._last = start, self._recorder.peel(self._raw)
        return self._last[1]

    # ---- answers

    def _answer_who(self) -> None:
        raw, line = self._raw, self._line()
        if self._plain.announced and len(self._read_lines) < FIRST_LINES and not raw.endswith(b"\r"):
            self._read_lines[self._offset + self._plain.start] = line
        label = self._recorder.label(line)
        body, speaker = body_of(raw, line), _NOBODY
        prefix = self._prefix
        if body and (body != self._plain.body - self._plain.start or line.instant.known != prefix.timed):
            self._plain.read()  # it only looks as if it had this form
            return
        if body and not self._state.crowds(label):
            speaker = self._speaker(label)
        self._plain.answer_who(speaker, self._frame(line.instant), line.severity in _ERRORS)
        self._whos.append(Exemplar(raw, body, line, prefix))

    def _speaker(self, label: str) -> int:
        found = self._places.get(label)
        if found is None:
            found = self._places[label] = self._plain.new_speaker()
            self._labels.append(label)
            self._speakers.append(None)
        return found

    def _frame(self, instant: Instant) -> int:
        return self._frames.setdefault(instant.frame, len(self._frames))

    def _answer_when(self) -> None:
        instant = self._line().instant
        second = whole_seconds(instant)
        self._plain.answer_when(second.lo, second.hi, self._kind(second), self._frame(second), not instant.known)

    def _kind(self, instant: Instant) -> int:
        kind = (instant.clock, instant.domain, instant.year)
        if kind not in self._kinds:
            self._kinds.append(kind)
        return self._kinds.index(kind)

    def _answer_events(self) -> None:
        plain, matcher = self._plain, self._matcher
        numbers = plain.literals()
        places = {place for number in numbers for place in matcher.announcements[number]}
        message = self._block[plain.body : plain.end]
        form = self._prefix.pattern, self._prefix.tails[plain.form % TAILS]
        self._screen.answers = self._forms.answers(matcher)
        answer = self._screen.answer(form, self._raw, message, places)
        plain.answer(answer, self._screen.is_general(self._raw, message, places))

    def _wake(self) -> None:
        """Finish what an emitter said before, so that its plain lines can go on."""
        plain, number = self._plain, self._plain.speaker
        label = self._labels[number]
        if self._state.crowds(label):
            plain.read()
            return
        speaker, timed = self._state.emitter(label), self._prefix.timed
        if label == AGENT:
            self._recorder.hand_over()
        if not timed:
            self._recorder.take_stamp(speaker)
        self._recorder.finish(speaker)
        if speaker.waits and timed:
            speaker.when(self._line().instant)
            if speaker.waits:  # for a stamp of another clock
                plain.read()
                return
        self._speakers[number] = speaker
        for clock in plain.clocks_of(number):
            self._base(clock, len(self._runs[clock]) - 1)
        plain.wake(speaker.waits)

    def _open_gap(self) -> None:
        """Tell what a line without a stamp lies in: it shows something."""
        plain, number = self._plain, self._plain.speaker
        speaker = self._speakers[number]
        assert speaker is not None
        self._take_stamp(speaker, plain.stamped(number))
        gap = speaker.when(UNKNOWN)
        assert isinstance(gap, Gap)  # it is no crowd
        plain.open_gap(len(self._gaps))
        self._gaps.append(gap)

    def _close_gap(self) -> None:
        """Take the stamp that something waits for."""
        plain = self._plain
        speaker = self._speakers[plain.speaker]
        assert speaker is not None
        speaker.when(self._line().instant)
        if speaker.waits:  # for a stamp of another clock
            plain.read()
        elif plain.gap == _NOBODY:
            plain.close_gap(0, 0, _NOBODY, _NOBODY)
        else:
            span = whole_seconds(self._gaps[plain.gap].instant())
            plain.close_gap(span.lo, span.hi, self._kind(span) if span.known else _NOBODY, self._frame(span))

    def _take_stamp(self, speaker: Speaker, raw: bytes | None) -> None:
        if raw is not None:
            speaker.when(self._recorder.peel(raw).instant)

    def _answer_clock(self) -> None:
        plain, number = self._plain, self._plain.speaker
        speaker, instant = self._speakers[number], self._whos[plain.who].line.instant
        assert speaker is not None
        runs = speaker.presence.clock(instant)
        if runs is None:
            plain.set_clock(_NOBODY)
            return
        key = (number, self._frame(instant))
        if key not in self._clocks:
            self._clocks[key] = plain.new_clock()
            self._runs.append(runs)
            self._at.append(-1)
            self._base(self._clocks[key], len(runs) - 1)
        plain.set_clock(self._clocks[key])

    def _base(self, clock: int, at: int) -> None:
        """Tell in which of its runs the last line of a clock was; -1: it has none."""
        runs = self._runs[clock]
        self._at[clock] = at
        if at < 0:
            self._plain.base(clock, False, 0, 0, runs.floor, MAX_NUMBER)
        else:
            bound = runs.los[at + 1] if at + 1 < len(runs) else MAX_NUMBER
            self._plain.base(clock, True, runs.los[at], runs.his[at], runs.floor, bound)

    def _run(self) -> None:
        """Take a time that goes back, or comes after many runs."""
        plain, clock = self._plain, self._plain.clock()
        self._settle_runs(clock)
        lo, hi = plain.when()
        runs = self._runs[clock]
        runs.add(lo, hi, self._recorder.run_limit)
        self._recount(plain.speaker)
        self._base(clock, runs.around(lo))
        plain.timed()

    def _mark(self) -> None:
        """Open the rows of the events that an emitter's last line shows; an event that can't have one is marked here."""
        plain, number, shelf, events = self._plain, self._plain.speaker, self._state.shelf, self._matcher.events
        label, places = self._labels[number], plain.closed()
        rooms = shelf.rooms([events[place].id for place in places], label)
        if rooms:
            plain.open_rows(places[: len(rooms)], rooms)
        else:
            shelf.add(self._marked(plain.last(number)), events[places[0]].id, label)
            plain.marked()

    def _error(self) -> None:
        plain, number = self._plain, self._plain.speaker
        marked = self._marked(plain.last(number))
        template = self._recorder.mark_error(marked, self._labels[number])
        first = self._state.errors.first(template)
        if first is None or len(self._templates) >= TEMPLATES or not digits_alike(shape(marked.raw)):
            plain.told(_NOBODY)
        else:
            known = plain.told(first)
            if known == len(self._templates):
                self._templates.append(template)

    # ---- settling

    def settle(self, label: str) -> None:
        """Hand over what is known of one emitter: another line of it is about to be placed."""
        number = self._places.get(label)
        if number is not None and self._plain.is_awake(number):
            self._settle(number)
        if not label and AGENT in self._places:
            self.settle(AGENT)  # it may be handed this line: the next one of it must look

    def settle_row(self, event: str, label: str) -> None:
        """Hand over the marked lines of one event and emitter, but its last line: another sighting is about to be kept."""
        number = self._places.get(label)
        if number is not None:
            self._settle_rows(number, self._plain.row(number, self._matcher.place[event]))

    def settle_marks(self) -> None:
        """Hand over all marked lines but the last of each emitter."""
        for number in range(len(self._speakers)):
            self._settle_rows(number, self._plain.rows(number))
        for error, count in self._plain.errors():
            self._state.errors.count(self._templates[error], count)
        self._plain.forget_rows()
        self._templates = []

    def settle_all(self) -> None:
        """Hand over everything."""
        for number in range(len(self._speakers)):
            if self._plain.is_awake(number):
                self._settle(number)
        self.settle_marks()

    def finish_all(self) -> None:
        """Finish the last line of each emitter, and hand over everything: no more come."""
        self._plain.finish_all()
        self.settle_all()

    def _settle(self, number: int) -> None:
        speaker = self._speakers[number]
        assert speaker is not None
        lines, last, stamped = self._plain.settle(number)
        for who, count in lines:
            speaker.presence.count(self._whos[who].line, count)
        for clock in self._plain.clocks_of(number):
            self._settle_runs(clock)
        self._recount(number)
        self._take_stamp(speaker, stamped)
        if last is not None:
            speaker.tail = self._marked(last)
            speaker.size = len(speaker.tail.raw)
            self._state.open[speaker.label] = speaker
            self._state.open_bytes += speaker.size

    def _settle_runs(self, clock: int) -> None:
        hi, lines, fresh = self._plain.spoken(clock)
        runs = self._runs[clock]
        runs.lines += lines
        runs.extend(self._at[clock], hi, fresh, self._recorder.run_limit)
        self._base(clock, len(runs) - 1)

    def _recount(self, number: int) -> None:
        speaker = self._speakers[number]
        assert speaker is not None
        self._state.runs += speaker.presence.recount()

    def _settle_rows(self, number: int, rows: list[tuple[Any, ...]]) -> None:
        shelf, events, label, marked = self._state.shelf, self._matcher.events, self._labels[number], self._marked
        for places, dropped, lo, hi, kind, spanned, mixed, gaps, marks in rows:
            span = None
            if spanned:
                span = UNKNOWN if mixed else Instant(lo, hi, *self._kinds[kind])
            more = More([marked(mark) for mark in marks], dropped, span, tuple(self._gaps[gap] for gap in gaps))
            shelf.extend(more, [events[place].id for place in places], label)

    def _marked(self, told: tuple[Any, ...]) -> Marked:
        """Return a line that compiled code tells of; one object for all events of a line, as long as these come in turn."""
        raw, number, start, lo, hi, kind, places, bad, who, gap = told
        if self._marks.get(number) is None:
            if len(self._marks) >= MUCH:
                self._marks.clear()
            line = self._read_lines.pop(start, None)
            instant = UNKNOWN if kind == _NOBODY else Instant(lo, hi, *self._kinds[kind])
            lies = None if gap == _NOBODY else self._gaps[gap]
            self._marks[number] = Marked(raw, number, start, instant, places, bad, line, self._whos[who], lies)
        return self._marks[number]


_ANSWERS: Final[dict[int, Callable[[Native], None]]] = {
    WHO: Native._answer_who,
    WHEN: Native._answer_when,
    ANSWER: Native._answer_events,
    WAKE: Native._wake,
    CLOCK: Native._answer_clock,
    GAP: Native._open_gap,
    CLOSE: Native._close_gap,
    RUN: Native._run,
    MARK: Native._mark,
    ERROR: Native._error,
    ROWS: Native.settle_marks,
}


def _told(prefix: Prefix) -> tuple[Any, ...]:
    """Return a prefix as the compiled code takes it."""
    steps = [(_ROLES[step.role], step.text, step.width) for step in prefix.steps]
    tails = [(tail.end, tail.words, tail.end + tail.words in prefix.settled, tail.claims) for tail in prefix.tails]
    return steps, tails, prefix.clocked
