// The forms of plain lines: which one a line has, which numbers stand in its prefix, and where its message begins.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "index.hpp"

namespace denpex {

constexpr size_t DIGITS = 7;  // of a number that comes as it comes
constexpr size_t SPANS = 64;  // numbers of one prefix that tell something
constexpr size_t OUTLINE = 96;  // bytes of a prefix that is known by its outline
constexpr size_t OUTLINES = 4;  // of one prefix, and numbers of one that tell the emitter
constexpr int FORM = 64;      // tails of one prefix at most

// What may not begin a message, as bits: a bracket; the name of a program with its pid, the kernel's, a facility's gap; any name.
// And whether all messages begin with a number.
enum Claim { BRACKET = 1, SURE = 2, NAME = 4, NUMBER = 8 };

constexpr uint8_t YES = 1, ASK = 2;
constexpr size_t LONGEST = 140;  // bytes of the name of a program, with its pid

enum Role { FIXED, WHO, WHEN, FREE };

inline bool digit(char c) { return c >= '0' && c <= '9'; }

// A text that stands in many lines; eight bytes of it are compared at once.
struct Fixed {
    std::string text;
    uint64_t word = 0, mask = 0;

    void settle() {
        size_t size = text.size() < 8 ? text.size() : 8;
        mask = size == 8 ? ~0ull : (1ull << (8 * size)) - 1;
        word = 0;
        std::memcpy(&word, text.data(), size);
    }
};

struct Step {
    int role = FIXED;
    Fixed fixed;    // the text of a fixed one
    int width = 0;  // digits of a number; 0: one to seven
};

struct Tail {
    Fixed end, words;
    bool settled = false;
    int claims = 0;  // what no message of it may begin with, as it could be more of the prefix
    uint8_t opens[256] = {};  // whether a message may begin with a byte: no, YES, or ASK for more than it
};

struct Prefix {
    std::vector<Step> steps;
    std::vector<Tail> tails;
    bool timed = false;    // whether it tells a time
    bool clocked = false;  // its time ends with minute and second, of an hour that the rest tells
    size_t opens = 0, closes = 0, width = 0;  // where its time stands in one piece: the first step of it, the one behind it, bytes

    // Find out where the time stands; called once the steps and tails are known.
    void settle() {
        for (Step &step : steps) step.fixed.settle();
        for (Tail &tail : tails) {
            tail.end.settle();
            tail.words.settle();
        }
        size_t first = steps.size(), last = 0;
        for (size_t i = 0; i < steps.size(); ++i)
            if (steps[i].role == WHEN) {
                if (first == steps.size()) first = i;
                last = i + 1;
            }
        timed = first < steps.size();
        opens = first;
        closes = last;
        width = 0;
        for (size_t i = first; i < last; ++i) {
            bool fixed = steps[i].role == FIXED || (steps[i].role == WHEN && steps[i].width);
            if (!fixed) {  // something else stands in between
                opens = steps.size();
                return;
            }
            width += steps[i].role == FIXED ? steps[i].fixed.text.size() : steps[i].width;
        }
    }
};

// Reads the prefixes of lines.
class Forms {
  public:
    struct Span {  // of a number
        size_t at, size;
        int role, number;
    };

    bool first[256] = {}, suspect[256] = {};  // what a message may begin with, and what words that it must not begin with do
    std::vector<Fixed> never;                 // these words
    std::vector<Prefix> prefixes;

    // ---- of the line that was looked at last

    int prefix = 0, tail = 0;
    size_t body = 0;       // where its message begins
    Span spans[SPANS];     // its numbers that tell something
    size_t count = 0;
    bool same = false;     // its time is that of the line before
    std::string time;      // the numbers of its time, behind the number of the prefix

    void avoid(const std::string &word) {
        never.emplace_back();
        never.back().text = word;
        never.back().settle();
        suspect[static_cast<unsigned char>(word[0])] = true;
    }

    void add(Prefix prefix) {
        for (Tail &one : prefix.tails)
            for (int c = 0; c < 256; ++c) {
                bool ask = c == '[' || suspect[c] || (one.claims & (SURE | NAME));
                bool no = c == '[' ? (one.claims & BRACKET) : !first[c];
                no |= (one.claims & NUMBER) && !digit(static_cast<char>(c));
                one.opens[c] = no ? 0 : ask ? ASK : YES;
            }
        prefixes.push_back(std::move(prefix));
        outlines_.emplace_back();
    }

    void forget() {
        prefixes.clear();
        outlines_.clear();
        known_ = false;
    }

    void begin(const char *block, size_t to) {
        block_ = block;
        to_ = to;
    }

    // Say that the time of the line is known: the same one is told as such.
    void know() { known_ = same = true; }

    int form() const { return prefix * FORM + tail; }

    bool timed() const { return prefixes[prefix].timed; }

    const Tail &ending() const { return prefixes[prefix].tails[tail]; }

    // Look at the line in [start, end), newline included; false where it has no known form.
    bool look(size_t start, size_t end) {
        start_ = start;
        end_ = end;
        if (prefixes.empty()) return false;
#ifdef __SSE2__
        if (known_ && timed_ == prefix && looks_like()) return true;  // most often it looks like one of the lines before
#endif
        if (matches(prefix)) return true;
        int before = prefix;
        for (int i = 0; i < static_cast<int>(prefixes.size()); ++i)
            if (i != before && matches(i)) return true;
        return false;
    }

    bool stands(const Fixed &fixed, size_t at) const {
        if (at + 8 > to_) return stands(fixed.text, at);
        uint64_t word;
        std::memcpy(&word, block_ + at, 8);
        if ((word ^ fixed.word) & fixed.mask) return false;
        return fixed.text.size() <= 8 ? at + fixed.text.size() <= end_ : stands(fixed.text, at);
    }

    bool stands(const std::string &text, size_t at) const {
        return at <= end_ && end_ - at >= text.size() && std::memcmp(block_ + at, text.data(), text.size()) == 0;
    }

  private:
    bool matches(int id) {
        if (id >= static_cast<int>(prefixes.size())) return false;
        const Prefix &form = prefixes[id];
        const size_t steps = form.steps.size();
        size_t at = start_, from = start_, behind = start_;  // [from, behind): the time, where it stands in one piece
        bool again = false;
        count = frees_ = 0;
        for (size_t i = 0; i < steps; ++i) {
            if (i == form.opens) {
                from = at;
                behind = at + form.width;
                again = id == timed_ && known_ && stands(piece_, at);
                if (again) {
                    at = behind;
                    i = form.closes - 1;
                    continue;
                }
            }
            const Step &step = form.steps[i];
            if (step.role == FIXED) {
                if (!stands(step.fixed, at)) return false;
                at += step.fixed.text.size();
                continue;
            }
            size_t begin = at, most = step.width ? step.width : DIGITS;
            int number = 0;
            for (; at - begin < most && digit(block_[at]); ++at)  // the newline ends it
                number = at - begin < DIGITS ? number * 10 + (block_[at] - '0') : number;
            if (at == begin || at - begin < static_cast<size_t>(step.width) || digit(block_[at])) return false;
            if (step.role == FREE) {
                if (frees_ < SPANS) free_[frees_++] = Span{begin, at - begin, FREE, 0};
                continue;
            }
            if (count == SPANS) return false;
            spans[count++] = Span{begin, at - begin, step.role, number};
        }
        if (!ended(form, at)) return false;
        prefix = id;
        same = again;
        if (!same) {
            known_ = false;
            time.assign(1, static_cast<char>(id));
            for (size_t i = 0; i < count; ++i)
                if (spans[i].role == WHEN) time.append(block_ + spans[i].at, spans[i].size);
            piece_.assign(block_ + from, behind - from);
            timed_ = form.opens == steps ? NONE : id;
            for (Outline &one : outlines_[id]) one.put(one.time, piece_);
        }
#ifdef __SSE2__
        outline(form, at, from);
#endif
        return true;
    }

    // A prefix as it stood in a line: others that differ only in the digits of its numbers are told by a few comparisons.
    struct Outline {
        uint8_t low[OUTLINE] = {}, above[OUTLINE];  // the least that each byte may be, and by how much it may be more
        size_t size = 0, time = 0;                  // bytes; where the time begins
        int tail = 0;
        size_t count = 0;
        Span spans[OUTLINES] = {};  // of the numbers that tell the emitter, from the begin of the line

        Outline() { std::memset(above, 0xFF, OUTLINE); }

        // From `at` on it is this text, but for what may be any digit.
        void put(size_t at, Text text) {
            for (size_t i = 0; i < text.size(); ++i)
                if (above[at + i] != ANY) low[at + i] = static_cast<uint8_t>(text[i]);
        }

        void vary(size_t at, size_t digits) {
            std::memset(low + at, '0', digits);
            std::memset(above + at, ANY, digits);
        }

        static constexpr uint8_t ANY = 9;
    };

#ifdef __SSE2__
    // Keep the outline of the line that was looked at. Its tails begin at `at`, its time at `from`.
    void outline(const Prefix &form, size_t at, size_t from) {
        std::vector<Outline> &known = outlines_[prefix];
        const size_t size = body - start_;
        if (known.size() == OUTLINES || form.opens == form.steps.size() || size > OUTLINE || frees_ == SPANS) return;
        if (start_ + OUTLINE > to_ || !is_first(form, at)) return;
        for (const Outline &one : known)
            if (one.size == size && fits(one)) return;
        Outline one;
        one.size = size;
        one.time = from - start_;
        one.tail = tail;
        std::memset(one.above, 0, size);
        one.put(0, Text(block_ + start_, size));
        for (size_t i = 0; i < count; ++i) {
            if (spans[i].role != WHO) continue;
            if (one.count == OUTLINES) return;
            one.spans[one.count++] = Span{spans[i].at - start_, spans[i].size, WHO, 0};
            one.vary(spans[i].at - start_, spans[i].size);
        }
        for (size_t i = 0; i < frees_; ++i) one.vary(free_[i].at - start_, free_[i].size);
        if (form.clocked)  // minute and second: the hour is known
            for (size_t back : {5, 2}) one.vary(one.time + form.width - back, 2);
        known.push_back(one);
    }

    // Whether no tail before the one that was found fits a line that looks the same up to the message.
    bool is_first(const Prefix &form, size_t at) const {
        for (int i = 0; i < tail; ++i) {
            const std::string text = form.tails[i].end.text + form.tails[i].words.text;
            size_t same = 0;
            while (same < text.size() && block_[at + same] == text[same]) ++same;
            if (same == text.size() || at + same >= body) return false;
        }
        return true;
    }

    // Whether the line looks like one before it, of the same second, or of the same hour where that tells the rest.
    bool looks_like() {
        if (start_ + OUTLINE > to_) return false;
        for (const Outline &one : outlines_[prefix]) {
            if (!fits(one)) continue;
            const Tail &end = prefixes[prefix].tails[one.tail];
            const size_t behind = start_ + one.size;
            uint8_t opens = end.opens[static_cast<unsigned char>(block_[behind])];
            if (!opens || (opens == ASK && (!begins(behind) || names(end.claims, behind)))) return false;
            body = behind;
            tail = one.tail;
            same = !prefixes[prefix].clocked || is_same_second(block_ + start_ + one.time);
            count = one.count;
            for (size_t k = 0; k < count; ++k) {
                Span span = one.spans[k];
                span.at += start_;
                for (size_t d = 0; d < span.size; ++d) span.number = span.number * 10 + (block_[span.at + d] - '0');
                spans[k] = span;
            }
            return true;
        }
        return false;
    }

    // Whether the time at `at` is that of the line before; another second of its hour is taken down.
    bool is_same_second(const char *at) {
        const size_t seconds = piece_.size() - 5;
        if (std::memcmp(at + seconds, piece_.data() + seconds, 5) == 0) return true;
        piece_.assign(at, piece_.size());
        char *digits = &time[time.size() - 4];
        digits[0] = at[seconds];
        digits[1] = at[seconds + 1];
        digits[2] = at[seconds + 3];
        digits[3] = at[seconds + 4];
        known_ = false;
        return false;
    }

    bool fits(const Outline &one) const {
        for (size_t i = 0; i < one.size; i += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(block_ + start_ + i));
            const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i *>(one.low + i));
            const __m128i above = _mm_loadu_si128(reinterpret_cast<const __m128i *>(one.above + i));
            const __m128i more = _mm_subs_epu8(_mm_sub_epi8(bytes, low), above);
            if (_mm_movemask_epi8(_mm_cmpeq_epi8(more, _mm_setzero_si128())) != 0xFFFF) return false;
        }
        return true;
    }
#endif

    // Find which tail the prefix has, and where the message begins.
    bool ended(const Prefix &form, size_t at) {
        for (size_t i = 0; i < form.tails.size(); ++i) {
            const Tail &one = form.tails[i];
            size_t behind = at;
            if (!stands(one.end, behind)) continue;
            behind += one.end.text.size();
            if (!one.words.text.empty()) {
                if (!begins(behind) || !stands(one.words, behind)) continue;
                behind += one.words.text.size();
            }
            uint8_t opens = one.opens[static_cast<unsigned char>(block_[behind])];
            if (!opens || (opens == ASK && (!begins(behind) || names(one.claims, behind)))) continue;
            body = behind;
            tail = static_cast<int>(i);
            return true;
        }
        return false;
    }

    // Whether the name of a program stands here, and may be more of the prefix.
    bool names(int claims, size_t at) const {
        if (!(claims & (SURE | NAME))) return false;
        const size_t end = first_of_colon_and_space(at);
        if (end == to_ || block_[end] != ':') return false;
        if (claims & NAME) return true;
        return end == at || block_[end - 1] == ']' || Text(block_ + at, end - at) == "kernel";
    }

    // Where the first colon or space stands from `at` on; the end of the block where there is none near.
    size_t first_of_colon_and_space(size_t at) const {
        size_t i = at;
#ifdef __SSE2__
        const __m128i colon = _mm_set1_epi8(':'), space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), four = _mm_set1_epi8(4);
        for (; i + 16 <= to_ && i - at <= LONGEST; i += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(block_ + i));
            const __m128i control = _mm_cmpeq_epi8(_mm_subs_epu8(_mm_sub_epi8(bytes, tab), four), _mm_setzero_si128());
            const __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, colon), _mm_cmpeq_epi8(bytes, space)), control);
            if (const int mask = _mm_movemask_epi8(found)) {
                i += __builtin_ctz(mask);
                return i - at <= LONGEST ? i : to_;
            }
        }
#endif
        for (; i < to_ && i - at <= LONGEST; ++i) {
            const char c = block_[i];
            if (c == ':' || c == ' ' || (c >= '\t' && c <= '\r')) return i;
        }
        return to_;
    }

    // Whether a message may begin here.
    bool begins(size_t at) const {
        char c = block_[at];
        if (!first[static_cast<unsigned char>(c)] && !(c == '[' && !digit(block_[at + 1]))) return false;
        if (!suspect[static_cast<unsigned char>(c)]) return true;
        for (const Fixed &word : never)
            if (stands(word, at)) return false;
        return true;
    }

    const char *block_ = nullptr;
    size_t to_ = 0, start_ = 0, end_ = 0;
    std::vector<std::vector<Outline>> outlines_;  // by prefix
    Span free_[SPANS];    // numbers of the line that tell nothing
    size_t frees_ = 0;
    int timed_ = NONE;    // the prefix of the time that is known; NONE where it stands in several pieces
    bool known_ = false;
    std::string piece_;   // that time as it stands in the line
};

}  // namespace denpex
