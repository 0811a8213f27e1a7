// The plain lines of one source: told apart, timed and counted many millions a second. Knows nothing of Python.
//
// `run` goes on until it needs an answer that only Python has: what the numbers of a line stand for, which events its message
// shows, or a record that is open elsewhere. Whoever runs it answers and runs it again; it takes up the same line where it stopped.

#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "forms.hpp"
#include "index.hpp"

namespace denpex {

constexpr int64_t SECOND = 1'000'000'000;
constexpr size_t FRESH = 1024;  // runs of one clock that wait to be handed over
constexpr int FULL = -2;        // the answer for a line that must be read in full
constexpr int UNSET = -2;       // a clock that was not asked for yet

// What `run` needs next.
enum Stop {
    END,         // nothing: the bytes are read, or as many lines as were asked for
    READ,        // [start, end) must be read in full, line by line
    ASK_WHO,     // who the line is from
    ASK_WHEN,    // which second the line is of
    ASK_ANSWER,  // which events the line shows
    WAKE,        // the emitter's record that is open elsewhere must be finished
    CLOCK,       // the emitter's clock
    GAP,         // what the line, which has no time, lies in
    CLOSE,       // the gap of the emitter, or a record that waits for a time, must take this one
    RUN,         // a time that goes back, or too many runs
    MARK,        // an event of the emitter's last line, which is complete
    ERROR,       // the same, of an error
    ROWS,        // too many marks are kept
};

struct Second {
    int64_t lo = 0, hi = 0;
    int kind = NONE;   // clock, domain and year, as the caller numbers them
    int frame = NONE;  // of what compares
};

struct Gap {  // between the times of an emitter
    Second span;
    bool closed = false;
};

struct Speaks {  // the numbers of an emitter
    int speaker = NONE;  // NONE: its lines are read in full
    int frame = NONE;
    int clock = UNSET;
    bool bad = false;
    int64_t lines = 0;  // that were not handed over yet
};

struct alignas(64) Clock {
    int64_t lo = 0, hi = 0;           // the run that the last line was in
    int64_t floor = SECOND, lines = 0;
    int64_t bound = INT64_MAX;        // where the next run begins; none: it is the last
    int64_t based = 0;                // where the run ended that was the last one before the fresh ones
    bool any = false;                 // whether there is such a run
    std::vector<std::pair<int64_t, int64_t>> fresh;  // runs that began here; the last of them is the one above
};

// A line that is kept, with what it shows.
struct Mark {
    int64_t start = 0, number = 0;
    Second when;
    int answer = 0, who = NONE, gap = NONE;
    bool bad = false;
    std::string raw;
};

struct Row {  // the newest marks of one event and emitter
    int speaker = NONE, place = NONE;
    bool open = false;       // whether it may be filled here
    int64_t room = 0;        // marks that will stay, being among the first
    int64_t most = 0;        // newest ones beside these
    int64_t elsewhere = 0;   // of them, kept by the caller
    int64_t displaced = 0;   // of those, how many must go
    std::vector<std::shared_ptr<const Mark>> front;  // those that will stay
    std::deque<std::shared_ptr<const Mark>> marks;
    int64_t dropped = 0, lo = 0, hi = 0;  // of marks that were dropped here
    int kind = NONE, frame = NONE;
    bool spanned = false;    // whether a time of one is known
    bool mixed = false;      // of several clocks
    std::vector<int> gaps;   // open ones that others of them lie in
};

// An emitter. What every line of it touches stands together.
struct alignas(64) Speaker {
    int64_t start = 0, number = 0;  // of its last line
    Second when;
    int length = 0, answer = 0, who = NONE;
    unsigned next = 0;    // of the events of that line, the one to mark next
    bool bad = false;
    bool awake = false;   // whether its last record is that line, or there is none
    bool said = false;    // whether there is one
    bool held = false;    // whether its bytes are in the block still
    bool timed = false;   // whether that line has a time
    bool waits = false;   // whether something lies in a gap that the next time closes
    bool stamps = false;  // whether `stamped` is known here only
    int gap = NONE;       // that gap, where it is known here
    int lies = NONE;      // the gap that the last line lies in
    std::string raw, stamped;  // the last line; the last one with a time, where others came behind it
    std::vector<int> whos;  // with lines that were not handed over, in order
    std::vector<int> clocks;
    std::vector<int> rows;
};

struct Shape {  // of error lines
    int64_t first = 0, count = 0;
};

class Reader {
  public:
    Reader(uint64_t secret, size_t longest)
        : longest_(longest), whos_(secret), whens_(secret), hours_(secret), shapes_(secret), errors_(secret) {
        answers_.emplace_back();
    }

    // ---- what stays

    Forms forms;
    std::vector<std::string> own;  // by what an error tells whose it is
    std::string glued;             // asks for care in the midst of a line
    std::vector<uint8_t> flags;  // of literals: 1 asks for care, 2 does so where no prefix settles, 4 announces

    std::vector<Speaks> speaks;
    std::vector<Second> seconds;
    std::vector<Speaker> speakers;
    std::vector<Clock> clocks;
    std::vector<Row> rows;
    std::vector<Shape> errors;
    std::vector<Gap> gaps;
    int64_t kept = 0, quota = 0;  // marks that made rows longer, and how many may
    int64_t fresh = 0;            // runs
    int64_t open_bytes = 0;       // of last lines

    // ---- one block

    std::vector<int> offsets, numbers;  // of hits
    std::vector<int> trace;             // who said each line, where that is asked for
    bool traced = false;
    int64_t patience = 1;               // lines that are read in full at once, at most
    int64_t taken = 0;                  // lines, since `begin`
    size_t start = 0, end = 0;          // of the line, or lines, that `run` stopped at
    size_t hit = 0;                     // the first hit in it
    int who = NONE;

    void begin(const char *block, size_t from, size_t to, int64_t number, int64_t base) {
        block_ = block;
        start = end = from;
        to_ = to;
        forms.begin(block, to);
        number_ = number;
        base_ = base;
        hit = 0;
        taken = 0;
        fresh_line();
        trace.clear();
    }

    // Go on behind lines that were read elsewhere.
    void resume(size_t from, int64_t number) {
        start = from;
        number_ = number;
        taken = 0;
        fresh_line();
        trace.clear();
    }

    Stop run(int64_t most) {
        while (start < to_ && taken < most) {
            Stop stop = line();
            if (stop != END) return stop;
            start = end;
            ++number_;
            ++taken;
            fresh_line();
            if (kept > quota) return ROWS;
        }
        return END;
    }

    // The bytes of last lines are kept beyond the block.
    void hold() {
        for (int id : held_) {
            Speaker &speaker = speakers[id];
            if (speaker.held) speaker.raw.assign(raw(speaker));
            speaker.held = false;
        }
        held_.clear();
    }

    // Keep what the last lines show: no more come. A line that takes an answer is left.
    void finish_all() {
        for (Speaker &speaker : speakers) {
            if (!speaker.said || !is_ready(speaker)) continue;
            finish(speaker);
            speaker.answer = 0;
            speaker.bad = false;
        }
    }

    // ---- answers

    void answer_who(const Speaks &found) {
        int id = whos_.add(who_key_);
        speaks.resize(id + 1);
        speaks[id] = found;
        if (who_number_ == NONE) return;
        std::vector<int> &direct = direct_of(forms.form());
        if (direct.size() <= static_cast<size_t>(who_number_)) direct.resize(who_number_ + 1, NONE);
        direct[who_number_] = id;
    }

    void answer_when(const Second &found, bool odd) {
        if (forms.prefixes[forms.prefix].clocked && !odd && in_hour()) {
            Second begin = found;
            begin.lo -= second() * SECOND;
            begin.hi -= second() * SECOND;
            int id = hours_.add(hour());
            begins_.resize(id + 1);
            begins_[id] = begin;
            return;
        }
        int id = whens_.add(forms.time);
        seconds.resize(id + 1);
        seconds[id] = found;
        if (odd) seconds[id].kind = NONE;
    }

    int new_answer(const std::vector<int> &places) {
        answers_.push_back(places);
        return static_cast<int>(answers_.size()) - 1;
    }

    void answer(int id, bool for_all) {
        answer_ = id;
        answered_ = true;
        if (for_all) {
            int shape = shapes_.add(shape_);
            shown_.resize(shape + 1);
            shown_[shape] = id;
        }
    }

    Second when() const { return when_; }
    bool announced() const { return announced_; }

    void open_gap(int id, const Second &span) {
        Speaker &speaker = speakers[speaks[who].speaker];
        gaps.resize(id + 1);
        gaps[id].span = span;
        speaker.gap = id;
        speaker.waits = true;
        speaker.stamps = false;
    }

    void close_gap(const Second &span) {
        Speaker &speaker = speakers[speaks[who].speaker];
        if (speaker.gap != NONE) gaps[speaker.gap] = Gap{span, true};
        speaker.gap = NONE;
        speaker.waits = false;
    }

    void read() { full_ = true; }  // the line must be read in full after all

    void timed() { timed_ = true; }

    void marked() { ++speakers[speaks[who].speaker].next; }

    void told() { speakers[speaks[who].speaker].bad = false; }  // that it was an error

    int remember(int64_t first_line) {
        shape(raw(speakers[speaks[who].speaker]), 0, error_);
        int id = errors_.find(error_);
        if (id == NONE) {
            id = errors_.add(error_);
            errors.resize(id + 1);
        }
        errors[id].first = first_line;
        return id;
    }

    void forget_rows() {
        for (Row &row : rows) row.open = false;
        errors_.clear();
        errors.clear();
        kept = 0;
    }

    void forget_whens() {
        whens_.clear();
        hours_.clear();
        seconds.clear();
        begins_.clear();
    }

    void forget_shapes() {
        shapes_.clear();
        shown_.clear();
        answers_.resize(1);
    }

    size_t known_whens() const { return whens_.size() + hours_.size(); }
    size_t known_shapes() const { return shapes_.size(); }

    // The speaker's last line is taken over by the caller.
    void sleep(int id) {
        Speaker &speaker = speakers[id];
        if (speaker.said) open_bytes -= speaker.length;
        speaker.awake = speaker.said = speaker.held = speaker.waits = speaker.stamps = false;
        speaker.gap = speaker.lies = NONE;
        speaker.next = 0;
    }

    Text raw(const Speaker &speaker) const {
        if (!speaker.held) return speaker.raw;
        return Text(block_ + (speaker.start - base_), static_cast<size_t>(speaker.length));
    }

  private:
    void fresh_line() {
        seen_ = answered_ = full_ = timed_ = false;
    }

    Stop line() {
        if (!seen_) {
            look();
            if (full_) return unread();
            seen_ = true;
        }
        if (full_) return one();
        if (!find_who()) return ASK_WHO;
        const Speaks &from = speaks[who];
        if (from.speaker == NONE) return one();
        if (!forms.timed()) {
            when_ = Second();
        } else {
            if (!forms.same && !find_when()) return ASK_WHEN;
            if (when_.kind == NONE || when_.frame != from.frame) return one();
        }
        if (from.bad && is_own()) return one();
        if (announced_ && !answered_) {
            int known = shapes_.find(shape_);
            if (known == NONE) return ASK_ANSWER;
            answer_ = shown_[known];
            answered_ = true;
        }
        if (announced_ && answer_ == FULL) return one();
        return take();
    }

    // The line is plain: finish the emitter's line before it, and count it.
    Stop take() {
        Speaks &from = speaks[who];
        Speaker &speaker = speakers[from.speaker];
        const bool timed = forms.timed();
        if (!speaker.awake) return WAKE;
        if (speaker.said) {
            if (speaker.answer || speaker.bad) {
                Stop stop = finish(speaker);
                if (stop != END) return stop;
            }
            if (speaker.timed && !timed) {
                speaker.stamped.assign(raw(speaker));
                speaker.stamps = true;
            }
            open_bytes -= speaker.length;
            speaker.said = false;
        }
        if (timed) {
            if (speaker.waits) return CLOSE;
            speaker.stamps = false;
            if (from.clock == UNSET) return CLOCK;
            if (!timed_ && from.clock != NONE && !spoke(clocks[from.clock])) return RUN;
            if (from.clock != NONE) ++clocks[from.clock].lines;
        } else if (speaker.gap == NONE && (from.bad || (announced_ && answer_))) {
            return GAP;
        }
        if (!from.lines++) speaker.whos.push_back(who);
        if (traced) trace.push_back(who);
        speaker.start = base_ + static_cast<int64_t>(start);
        speaker.length = static_cast<int>(end - 1 - start);
        speaker.number = number_;
        speaker.when = when_;
        speaker.who = who;
        speaker.answer = announced_ ? answer_ : 0;
        speaker.bad = from.bad;
        speaker.timed = timed;
        speaker.lies = timed ? NONE : speaker.gap;
        speaker.next = 0;
        speaker.said = true;
        if (!speaker.held) held_.push_back(from.speaker);
        speaker.held = true;
        open_bytes += speaker.length;
        return END;
    }

    // Keep what an emitter's last line shows: it is complete.
    [[gnu::noinline]] Stop finish(Speaker &speaker) {
        const std::vector<int> &places = answers_[speaker.answer];
        std::shared_ptr<const Mark> mark;
        for (; speaker.next < places.size(); ++speaker.next) {
            Row *row = row_of(speaker, places[speaker.next]);
            if (!row || !row->open) return MARK;
            if (!mark) mark = kept_copy(speaker);
            add(*row, mark);
        }
        if (speaker.bad) {
            int known = known_error(speaker);
            if (known == NONE) return ERROR;
            ++errors[known].count;
        }
        return END;
    }

    // Whether `finish` would stop for nothing.
    bool is_ready(const Speaker &speaker) {
        const std::vector<int> &places = answers_[speaker.answer];
        for (unsigned i = speaker.next; i < places.size(); ++i) {
            const Row *row = row_of(speaker, places[i]);
            if (!row || !row->open) return false;
        }
        return !speaker.bad || known_error(speaker) != NONE;
    }

    // The kind of error that an emitter's last line is; NONE where that is not known, or the line is the first of it.
    int known_error(const Speaker &speaker) {
        shape(raw(speaker), 0, error_);
        int id = errors_.find(error_);
        return id == NONE || errors[id].first >= speaker.number ? NONE : id;
    }

    std::shared_ptr<const Mark> kept_copy(const Speaker &speaker) const {
        Text text = raw(speaker);
        return std::make_shared<const Mark>(
            Mark{speaker.start, speaker.number, speaker.when, speaker.answer, speaker.who, speaker.lies, speaker.bad, std::string(text)});
    }

    Row *row_of(const Speaker &speaker, int place) {
        for (int id : speaker.rows)
            if (rows[id].place == place) return &rows[id];
        return nullptr;
    }

    void add(Row &row, const std::shared_ptr<const Mark> &mark) {
        if (row.room > 0) {
            --row.room;
            ++kept;
            row.front.push_back(mark);
            return;
        }
        int64_t stay = row.elsewhere - row.displaced;
        if (stay + static_cast<int64_t>(row.marks.size()) < row.most) {
            ++kept;
        } else if (stay > 0) {
            ++row.displaced;
        } else {
            drop(row, *row.marks.front());
            row.marks.pop_front();
        }
        row.marks.push_back(mark);
    }

    void drop(Row &row, const Mark &mark) {
        ++row.dropped;
        if (mark.gap != NONE && !gaps[mark.gap].closed) {
            if (row.gaps.empty() || row.gaps.back() != mark.gap) row.gaps.push_back(mark.gap);
            return;
        }
        const Second &when = mark.gap == NONE ? mark.when : gaps[mark.gap].span;
        if (!row.spanned) {
            row.lo = when.lo;
            row.hi = when.hi;
            row.kind = when.kind;
            row.frame = when.frame;
            row.spanned = true;
            row.mixed = when.kind == NONE;
            return;
        }
        row.mixed |= row.frame != when.frame || when.kind == NONE;
        if (when.lo < row.lo) row.lo = when.lo;
        if (when.hi > row.hi) row.hi = when.hi;
    }

    // Take the time of the line; false where that changes other runs than the one of the line before.
    bool spoke(Clock &clock) {
        if (clock.any && clock.lo <= when_.lo && when_.lo <= clock.hi + clock.floor) {
            if (when_.hi <= clock.hi) return true;
            if (clock.bound != INT64_MAX && when_.hi + clock.floor >= clock.bound) return false;  // it joins two runs
            clock.hi = when_.hi;
            return true;
        }
        if ((clock.any && when_.lo < clock.lo) || clock.bound != INT64_MAX || clock.fresh.size() >= FRESH) return false;
        if (!clock.fresh.empty()) clock.fresh.back().second = clock.hi;
        else if (clock.any) clock.based = clock.hi;
        clock.fresh.emplace_back(when_.lo, when_.hi);
        clock.lo = when_.lo;
        clock.hi = when_.hi;
        clock.any = true;
        ++fresh;
        return true;
    }

    // ---- the form of a line

    // Tell the form of the line at `start`, what its numbers are, and what hits say about it.
    void look() {
        while (hit < offsets.size() && static_cast<size_t>(offsets[hit]) < start) ++hit;
        if (!forms.look(start, to_)) {  // no text of a form holds a newline
            end = static_cast<const char *>(std::memchr(block_ + start, '\n', to_ - start)) - block_ + 1;
            full_ = true;
            return;
        }
        measure(forms.body > start + glued.size() ? forms.body - glued.size() + 1 : start + 1);
        full_ = end - 1 - forms.body > longest_ || !screened();
    }

    // Find the emitter: by its one number, where that is small, else by all its numbers.
    bool find_who() {
        who_number_ = small();
        std::vector<int> &direct = direct_of(forms.form());
        if (who_number_ != NONE && static_cast<size_t>(who_number_) < direct.size() && direct[who_number_] != NONE) {
            who = direct[who_number_];
            return true;
        }
        int form = forms.form();
        who_key_.assign(reinterpret_cast<const char *>(&form), sizeof form);
        for (size_t i = 0; i < forms.count; ++i)
            if (forms.spans[i].role == WHO) {
                who_key_.append(block_ + forms.spans[i].at, forms.spans[i].size);
                who_key_.push_back(' ');
            }
        who = whos_.find(who_key_);
        return who != NONE;
    }

    // The emitter's only number; NONE where it has several, or one that is large or written with zeros in front.
    int small() const {
        int number = 0, count = 0;
        for (size_t i = 0; i < forms.count; ++i) {
            const Forms::Span &span = forms.spans[i];
            if (span.role != WHO) continue;
            if (++count > 1 || span.size > 4 || (span.size > 1 && block_[span.at] == '0')) return NONE;
            number = span.number;
        }
        return number;
    }

    std::vector<int> &direct_of(int form) {
        if (direct_.size() <= static_cast<size_t>(form)) direct_.resize(form + 1);
        return direct_[form];
    }

    // Look at the hits in the line; false when they ask for reading it in full.
    bool screened() {
        const Tail &tail = forms.ending();
        const size_t body = forms.body;
        announced_ = false;
        if (bracket_ < end && is_glued()) return false;
        for (size_t i = hit; i < offsets.size() && static_cast<size_t>(offsets[i]) < end; ++i) {
            uint8_t flag = flags[numbers[i]];
            size_t at = offsets[i];
            bool care = (flag & 1) || ((flag & 2) && !tail.settled);
            if (care && at >= body && !(block_[at] == '\r' && at + 2 == end)) return false;
            announced_ |= (flag & 4) != 0;
        }
        if (announced_) shape(Text(block_ + body, end - body), forms.form(), shape_);
        return true;
    }

    // Find in one go where the line ends and where the first byte of `glued` stands in it; there is no newline before `at`.
    void measure(size_t at) {
        bracket_ = to_;
#ifdef __SSE2__
        const __m128i newlines = _mm_set1_epi8('\n'), brackets = _mm_set1_epi8(glued[0]);
        for (; at + 16 <= to_; at += 16) {
            __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(block_ + at));
            unsigned ends = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newlines));
            unsigned opens = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, brackets));
            if (ends) opens &= (ends & -ends) - 1;  // those before the newline
            if (opens && bracket_ == to_) bracket_ = at + __builtin_ctz(opens);
            if (ends) {
                end = at + __builtin_ctz(ends) + 1;
                return;
            }
        }
#endif
        for (; block_[at] != '\n'; ++at)  // a block ends with one
            if (block_[at] == glued[0] && bracket_ == to_) bracket_ = at;
        end = at + 1;
    }

    bool is_glued() const {
        for (size_t at = bracket_; at < end; ++at)
            if (forms.stands(glued, at)) return true;
        return false;
    }

    // A text with all its digits alike, and the number of a form behind it.
    [[gnu::noinline]] static void shape(Text text, int form, std::string &into) {
        into.assign(text);
        for (char &c : into) c = digit(c) ? '0' : c;  // without a branch: many bytes at once
        into.append(reinterpret_cast<const char *>(&form), sizeof form);
    }

    bool is_own() const {
        Text line(block_ + start, end - start);
        for (const std::string &text : own)
            if (line.find(text) != Text::npos) return true;
        return false;
    }

    // ---- its time

    // What stands in front of minute and second, which are told by the last four digits.
    Text hour() const { return Text(forms.time).substr(0, forms.time.size() - 4); }

    int64_t second() const {  // of the hour
        const char *p = forms.time.data() + forms.time.size() - 4;
        return ((p[0] - '0') * 10 + (p[1] - '0')) * 60 + (p[2] - '0') * 10 + (p[3] - '0');
    }

    bool in_hour() const {
        const char *p = forms.time.data() + forms.time.size() - 4;
        return p[0] < '6' && p[2] < '6';
    }

    bool find_when() {
        if (forms.prefixes[forms.prefix].clocked && in_hour()) {
            int id = hours_.find(hour());
            if (id != NONE) {
                when_ = begins_[id];
                when_.lo += second() * SECOND;
                when_.hi += second() * SECOND;
                forms.know();
                return true;
            }
        }
        int id = whens_.find(forms.time);
        if (id == NONE) return false;
        when_ = seconds[id];
        forms.know();
        return true;
    }

    // ---- lines to be read in full

    Stop one() const { return READ; }

    // As many lines as need reading in any case.
    Stop unread() {
        size_t from = start;
        for (int64_t lines = 1; end < to_ && lines < patience; ++lines) {
            start = end;
            look();
            if (!full_) {
                end = start;
                break;
            }
        }
        start = from;
        return READ;
    }

    const char *block_ = nullptr;
    size_t to_ = 0, longest_;
    int64_t number_ = 0, base_ = 0;
    size_t bracket_ = 0;
    int answer_ = 0, who_number_ = NONE;
    bool seen_ = false, answered_ = false, full_ = false, timed_ = false;
    bool announced_ = false;
    std::vector<std::vector<int>> direct_;  // emitters by form and number
    std::string who_key_, shape_, error_;
    Second when_;
    Index whos_, whens_, hours_, shapes_, errors_;
    std::vector<int> shown_;
    std::vector<Second> begins_;
    std::vector<std::vector<int>> answers_;
    std::vector<int> held_;
};

}  // namespace denpex
