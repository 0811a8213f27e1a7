# cython: language_level=3, boundscheck=True, wraparound=False, embedsignature=True
# distutils: language = c++
"""The compiled half of `native`: hands plain.hpp what it asks for. See there for what each method is for."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.deque cimport deque
from libcpp.memory cimport shared_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector


cdef extern from "plain.hpp" namespace "denpex" nogil:
    cdef cppclass Fixed:
        string text

    cdef cppclass Step:
        Step()
        int role
        Fixed fixed
        int width

    cdef cppclass Tail:
        Tail()
        Fixed end
        Fixed words
        cbool settled
        int claims

    cdef cppclass Prefix:
        Prefix()
        vector[Step] steps
        vector[Tail] tails
        cbool clocked
        void settle()

    cdef cppclass Second:
        Second()
        int64_t lo, hi
        int kind, frame

    cdef cppclass Gap:
        Gap()

    cdef cppclass Speaks:
        Speaks()
        int speaker, frame, clock
        cbool bad
        int64_t lines

    cdef cppclass Clock:
        Clock()
        int64_t lo, hi, floor, lines, bound, based
        cbool any
        vector[pair[int64_t, int64_t]] fresh

    cdef cppclass Mark:
        int64_t start, number
        Second when
        int answer, who, gap
        cbool bad
        string raw

    cdef cppclass Row:
        Row()
        int speaker, place
        cbool open
        int64_t room, most, elsewhere, displaced
        vector[shared_ptr[const Mark]] front
        deque[shared_ptr[const Mark]] marks
        int64_t dropped, lo, hi
        int kind, frame
        cbool spanned, mixed
        vector[int] gaps

    cdef cppclass Speaker:
        Speaker()
        int64_t start, number
        Second when
        int length, answer, who
        unsigned next
        cbool bad, awake, said, held, timed, waits, stamps
        int gap, lies
        string stamped
        vector[int] whos, clocks, rows

    cdef cppclass Shape:
        int64_t first, count

    cdef cppclass Forms:
        cbool first[256]
        void avoid(string) except +
        vector[Prefix] prefixes
        size_t body
        int form()
        void add(Prefix) except +
        void forget()

    cdef int NO "denpex::NONE"
    cdef int READ_IN_FULL "denpex::FULL"

    cdef cppclass Reader:
        Reader(uint64_t, size_t) except +
        Forms forms
        vector[string] own
        string glued
        vector[uint8_t] flags
        vector[Speaks] speaks
        vector[Speaker] speakers
        vector[Clock] clocks
        vector[Row] rows
        vector[Shape] errors
        vector[Gap] gaps
        int64_t kept, quota, fresh, open_bytes, taken
        vector[int] offsets, numbers, trace
        cbool traced
        int64_t patience
        size_t start, end, hit
        int who
        void begin(const char *, size_t, size_t, int64_t, int64_t)
        void resume(size_t, int64_t)
        int run(int64_t) except +
        void hold() except +
        cbool announced()
        void finish_all() except +
        void answer_who(const Speaks &) except +
        void answer_when(const Second &, cbool) except +
        int new_answer(const vector[int] &) except +
        void answer(int, cbool) except +
        void open_gap(int, const Second &) except +
        void close_gap(const Second &) except +
        void read()
        void timed()
        void marked()
        void told()
        int remember(int64_t) except +
        void forget_rows()
        void forget_whens()
        void forget_shapes()
        size_t known_whens()
        size_t known_shapes()
        void sleep(int)
        string_view raw(const Speaker &)
        Second when()


cdef bytes to_bytes(string_view text):
    return text.data()[:text.size()]


cdef class Found:
    """The hits in one block, taken in any thread."""

    cdef vector[int] offsets, numbers

    def __len__(self):
        return self.offsets.size()

    def hits(self, list hits not None):
        cdef int offset, literal
        for offset, literal in hits:
            self.offsets.push_back(offset)
            self.numbers.push_back(literal)

    def hit(self, int number, start, int end, flags, context):
        self.offsets.push_back(end - 1)
        self.numbers.push_back(number)


cdef class Plain:
    cdef Reader *reader
    cdef bytes block
    cdef dict places
    cdef list answers

    def __cinit__(self, uint64_t secret, size_t longest, bytes first, tuple never, tuple own, bytes glued, bytes flags):
        self.reader = new Reader(secret, longest)
        for byte in first:
            self.reader.forms.first[<uint8_t>byte] = True
        for word in never:
            self.reader.forms.avoid(<bytes>word)
        for word in own:
            self.reader.own.push_back(<bytes>word)
        self.reader.glued = glued
        for flag in flags:
            self.reader.flags.push_back(<uint8_t>flag)
        self.places = {(): 0}
        self.answers = [()]

    def __dealloc__(self):
        del self.reader

    def learn(self, list prefixes):
        cdef Prefix prefix
        cdef Step step
        cdef Tail tail
        self.reader.forms.forget()
        for steps, tails, clocked in prefixes:
            prefix = Prefix()
            prefix.clocked = clocked
            for role, text, width in steps:
                step.role, step.fixed.text, step.width = role, text, width
                prefix.steps.push_back(step)
            for end, words, settled, claims in tails:
                tail.end.text, tail.words.text, tail.settled, tail.claims = end, words, settled, claims
                prefix.tails.push_back(tail)
            prefix.settle()
            self.reader.forms.add(prefix)

    # ---- one block

    def begin(self, bytes block not None, size_t start, size_t end, int64_t number, int64_t base):
        if not start <= end <= <size_t>len(block) or (end > start and block[end - 1] != 10):
            raise ValueError("whole lines of a block are wanted")
        self.block = block
        self.reader.offsets.clear()
        self.reader.numbers.clear()
        self.reader.begin(<const char *>block, start, end, number, base)

    def hits(self, list hits not None):
        cdef int offset, literal
        for offset, literal in hits:
            self.take(offset, literal)

    def hit(self, int number, start, int end, flags, context):
        self.take(end - 1, number)

    def adopt(self, Found found not None, size_t end):
        """Take the hits that were found in the whole of the block, from where it is begun up to `end`."""
        cdef int start = <int>self.reader.start
        cdef size_t i
        for i in range(found.offsets.size()):
            if start <= found.offsets[i] < <int>end:
                self.take(found.offsets[i] - start, found.numbers[i])

    cdef int take(self, int offset, int literal) except -1:
        if offset < 0 or literal < 0 or <size_t>literal >= self.reader.flags.size():
            raise ValueError("a hit of an unknown literal")
        self.reader.offsets.push_back(<int>self.reader.start + offset)
        self.reader.numbers.push_back(literal)
        return 0

    def resume(self, size_t start, int64_t number):
        self.reader.resume(start, number)

    def run(self, int64_t most):
        cdef int stop
        with nogil:  # what looks for literals in the next block may go on
            stop = self.reader.run(most)
        return stop

    def hold(self):
        """Keep what is left of the block, which is given back."""
        self.reader.hold()
        self.block = b""

    @property
    def start(self):
        return self.reader.start

    @property
    def end(self):
        return self.reader.end

    @property
    def body(self):
        return self.reader.forms.body

    @property
    def form(self):
        return self.reader.forms.form()

    @property
    def announced(self):
        """Whether a text in the line announces an event."""
        return self.reader.announced()

    @property
    def who(self):
        return self.reader.who

    @property
    def speaker(self):
        return self.reader.speaks.at(self.reader.who).speaker

    @property
    def taken(self):
        return self.reader.taken

    @property
    def kept(self):
        return self.reader.kept

    @property
    def fresh(self):
        return self.reader.fresh

    @property
    def open_bytes(self):
        return self.reader.open_bytes

    def patience(self, int64_t lines):
        self.reader.patience = lines

    def quota(self, int64_t marks):
        self.reader.quota = marks

    def tracing(self, cbool on):
        self.reader.traced = on

    def trace(self):
        return list(self.reader.trace)

    def literals(self):
        cdef size_t i = self.reader.hit
        cdef list found = []
        while i < self.reader.offsets.size() and <size_t>self.reader.offsets[i] < self.reader.end:
            found.append(self.reader.numbers[i])
            i += 1
        return found

    # ---- answers

    def new_speaker(self):
        self.reader.speakers.push_back(Speaker())
        return <int>self.reader.speakers.size() - 1

    def answer_who(self, int speaker, int frame, cbool bad):
        cdef Speaks found = Speaks()
        if speaker != NO and not 0 <= speaker < <int>self.reader.speakers.size():
            raise ValueError("no such speaker")
        found.speaker, found.frame, found.bad = speaker, frame, bad
        self.reader.answer_who(found)

    def answer_when(self, int64_t lo, int64_t hi, int kind, int frame, cbool odd):
        cdef Second found
        found.lo, found.hi, found.kind, found.frame = lo, hi, kind, frame
        self.reader.answer_when(found, odd)

    def answer(self, tuple places, cbool for_all):
        cdef vector[int] several
        if places is None:
            self.reader.answer(READ_IN_FULL, for_all)
            return
        known = self.places.get(places)
        if known is None:
            several = places
            known = self.places[places] = self.reader.new_answer(several)
            self.answers.append(places)
        self.reader.answer(known, for_all)

    def read(self):
        self.reader.read()

    def wake(self, cbool waits):
        """Say that the emitter's lines can be taken; `waits`: the next one with a time must be asked about."""
        cdef Speaker *speaker = &self.reader.speakers.at(self.speaker)
        speaker.awake, speaker.waits = True, waits

    def stamped(self, int speaker):
        """Return the last line of an emitter that had a time, where others came behind it; None where that is known elsewhere."""
        cdef Speaker *found = &self.reader.speakers.at(speaker)
        return <bytes>found.stamped if found.stamps else None

    def open_gap(self, int gap):
        """Number the gap that the emitter's lines without a time lie in; the numbers are those after the ones before."""
        if gap != <int>self.reader.gaps.size():
            raise ValueError("no such gap")
        self.reader.open_gap(gap, Second())

    def close_gap(self, int64_t lo, int64_t hi, int kind, int frame):
        """Say in which seconds what waits lies; kind -1: that is not known."""
        cdef Second span
        span.lo, span.hi, span.kind, span.frame = lo, hi, kind, frame
        self.reader.close_gap(span)

    @property
    def gap(self):
        """The number of the emitter's open gap; -1: it has none here."""
        return self.reader.speakers.at(self.speaker).gap

    @property
    def gaps(self):
        return self.reader.gaps.size()

    def forget_gaps(self):
        """Nothing refers to a gap any more."""
        self.reader.gaps.clear()

    def set_clock(self, int clock):
        """Say which clock the line's emitter has; -1: none that counts."""
        if clock != NO and not 0 <= clock < <int>self.reader.clocks.size():
            raise ValueError("no such clock")
        self.reader.speaks.at(self.reader.who).clock = clock

    def clock(self):
        return self.reader.speaks.at(self.reader.who).clock

    def new_clock(self):
        self.reader.clocks.push_back(Clock())
        cdef int number = <int>self.reader.clocks.size() - 1
        self.reader.speakers.at(self.speaker).clocks.push_back(number)
        return number

    def clocks_of(self, int speaker):
        return list(self.reader.speakers.at(speaker).clocks)

    def base(self, int clock, cbool based, int64_t lo, int64_t hi, int64_t floor, int64_t bound):
        """Say which run the last line of a clock was in, if any, and where the next one begins."""
        cdef Clock *found = &self.reader.clocks.at(clock)
        self.reader.fresh -= <int64_t>found.fresh.size()
        found.fresh.clear()
        found.any, found.lo, found.hi, found.floor, found.bound, found.based = based, lo, hi, floor, bound, hi

    def when(self):
        cdef Second when = self.reader.when()
        return when.lo, when.hi

    def timed(self):
        self.reader.timed()

    # ---- what was taken

    cdef tuple shown(self, const Mark &mark, bytes raw):
        return (raw, mark.number, mark.start, mark.when.lo, mark.when.hi, mark.when.kind, self.answers[mark.answer], mark.bad, mark.who, mark.gap)

    def last(self, int speaker):
        cdef Speaker *found = &self.reader.speakers.at(speaker)
        if not found.said:
            return None
        raw = to_bytes(self.reader.raw(found[0]))
        places = self.answers[found.answer]
        return (raw, found.number, found.start, found.when.lo, found.when.hi, found.when.kind, places, found.bad, found.who, found.lies)

    def closed(self):
        """Return the events of the emitter's last line that have no open row, from the one to mark next on."""
        cdef Speaker *speaker = &self.reader.speakers.at(self.speaker)
        places = self.answers[speaker.answer][speaker.next:]
        cdef Row *row
        cdef set opened = set()
        for number in speaker.rows:
            row = &self.reader.rows.at(number)
            if row.open:
                opened.add(row.place)
        return [place for place in places if place not in opened]

    def marked(self):
        """Say that the event was marked elsewhere."""
        self.reader.marked()

    def open_rows(self, list places, list rooms):
        """Say what the rows of events of the emitter can take: further first ones, newest ones, and how many of these each has."""
        cdef int speaker = self.speaker
        cdef int place
        cdef Row *row
        for place, (room, most, elsewhere) in zip(places, rooms, strict=True):
            if most < 1:
                raise ValueError("a row has room")
            row = self.row_of(speaker, place)
            row.open, row.room, row.most, row.elsewhere = True, room, most, elsewhere

    cdef Row *row_of(self, int speaker, int place) except NULL:
        cdef Row *row
        for number in self.reader.speakers.at(speaker).rows:
            row = &self.reader.rows.at(number)
            if row.place == place:
                return row
        self.reader.speakers.at(speaker).rows.push_back(<int>self.reader.rows.size())
        self.reader.rows.push_back(Row())
        row = &self.reader.rows.back()
        row.speaker, row.place = speaker, place
        return row

    def told(self, int64_t first):
        """Say that the error was counted elsewhere, and the line of the first of its kind; -1: ask again."""
        number = self.reader.remember(first) if first >= 0 else NO
        self.reader.told()
        return number

    def finish_all(self):
        self.reader.finish_all()

    def settle(self, int speaker):
        cdef Speaker *found = &self.reader.speakers.at(speaker)
        cdef Speaks *speaks
        cdef list lines = []
        for who in found.whos:
            speaks = &self.reader.speaks.at(who)
            lines.append((who, speaks.lines))
            speaks.lines = 0
        found.whos.clear()
        last, stamped = self.last(speaker), self.stamped(speaker)
        self.reader.sleep(speaker)
        return lines, last, stamped

    def spoken(self, int clock):
        """Return where the run that was the last one ended, how many lines there were, and the runs behind that one."""
        cdef Clock *found = &self.reader.clocks.at(clock)
        cdef list fresh = list(found.fresh)
        if fresh:
            fresh[len(fresh) - 1] = (found.lo, found.hi)
        told = (found.based if fresh else found.hi, found.lines, fresh)
        found.lines = 0
        return told

    def rows(self, int speaker):
        """Return (places, dropped, lo, hi, kind, spanned, mixed, gaps, marks) of the rows that grew, alike ones together; forget them."""
        cdef list told = []
        cdef dict same = {}
        cdef Row *row
        cdef Row *before = NULL
        for number in self.reader.speakers.at(speaker).rows:
            row = &self.reader.rows.at(number)
            if not self.is_grown(row):
                continue
            if before != NULL and self.alike(before, row):
                told[len(told) - 1][0].append(row.place)
            else:
                told.append(self.row_told(row, same))
                before = row
        for number in self.reader.speakers.at(speaker).rows:
            self.close_row(&self.reader.rows.at(number))
        return told

    def row(self, int speaker, int place):
        """Return the same of one row, if it grew."""
        cdef list told = []
        cdef Row *row
        for number in self.reader.speakers.at(speaker).rows:
            row = &self.reader.rows.at(number)
            if row.place == place:
                if self.is_grown(row):
                    told.append(self.row_told(row, {}))
                self.close_row(row)
        return told

    cdef bint is_grown(self, Row *row):
        return row.open and (row.front.size() or row.marks.size() or row.dropped)

    cdef bint alike(self, Row *one, Row *other):
        cdef size_t i
        if one.dropped != other.dropped or one.front.size() != other.front.size() or one.marks.size() != other.marks.size():
            return False
        if one.spanned != other.spanned or one.gaps != other.gaps:
            return False
        if one.spanned and (one.lo != other.lo or one.hi != other.hi or one.kind != other.kind or one.mixed != other.mixed):
            return False
        for i in range(one.front.size()):
            if one.front[i].get() != other.front[i].get():
                return False
        for i in range(one.marks.size()):
            if one.marks[i].get() != other.marks[i].get():
                return False
        return True

    cdef tuple row_told(self, Row *row, dict same):
        cdef size_t i
        cdef list marks = []
        for i in range(row.front.size()):
            marks.append(self.shared(row.front[i].get(), same))
        for i in range(row.marks.size()):
            marks.append(self.shared(row.marks[i].get(), same))
        return ([row.place], row.dropped, row.lo, row.hi, row.kind, row.spanned, row.mixed, list(row.gaps), marks)

    cdef tuple shared(self, const Mark *mark, dict same):
        found = same.get(mark.number)
        if found is None:
            found = same[mark.number] = self.shown(mark[0], mark.raw)
        return found

    cdef close_row(self, Row *row):
        self.reader.kept -= self.grown(row)
        row.open = row.spanned = row.mixed = False
        row.gaps.clear()
        row.front.clear()
        row.marks.clear()
        row.elsewhere = row.displaced = row.dropped = 0

    cdef int64_t grown(self, Row *row):
        return <int64_t>(row.front.size() + row.marks.size()) - row.displaced if row.open else 0

    @property
    def speakers(self):
        return <int>self.reader.speakers.size()

    def is_awake(self, int speaker):
        return self.reader.speakers.at(speaker).awake

    def errors(self):
        cdef list told = []
        for number in range(self.reader.errors.size()):
            if self.reader.errors[number].count:
                told.append((number, self.reader.errors[number].count))
                self.reader.errors[number].count = 0
        return told

    def forget_rows(self):
        self.reader.forget_rows()

    def forget_whens(self):
        self.reader.forget_whens()

    def forget_shapes(self):
        self.reader.forget_shapes()
        self.places = {(): 0}
        self.answers = [()]

    @property
    def whos(self):
        return self.reader.speaks.size()

    @property
    def whens(self):
        return self.reader.known_whens()

    @property
    def shapes(self):
        return self.reader.known_shapes()
