// The forms of plain lines: which one a line has, which numbers stand in its prefix, and where its message begins.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "index.hpp"

namespace denpex {

constexpr size_t DIGITS = 7;  // of a number that comes as it comes
constexpr size_t SPANS = 64;  // numbers of one prefix that tell something
constexpr int FORM = 64;      // tails of one prefix at most

// What may not begin a message, as bits: a bracket; the name of a program with its pid, the kernel's, a facility's gap; any name.
enum Claim { BRACKET = 1, SURE = 2, NAME = 4 };

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
                bool no = c == '[' ? one.claims & BRACKET : !first[c];
                one.opens[c] = no ? 0 : ask ? ASK : YES;
            }
        prefixes.push_back(std::move(prefix));
    }

    void begin(const char *block, size_t to) {
        block_ = block;
        to_ = to;
    }

    // Say that the time of the line is known: the same one is told as such.
    void know() { known_ = same = true; }

    int form() const { return prefix * FORM + tail; }

    const Tail &ending() const { return prefixes[prefix].tails[tail]; }

    // Look at the line in [start, end), newline included; false where it has no known form.
    bool look(size_t start, size_t end) {
        start_ = start;
        end_ = end;
        if (prefixes.empty()) return false;
        if (matches(prefix)) return true;  // most often it is the form of the line before
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
        count = 0;
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
            if (step.role != FREE) {
                if (count == SPANS) return false;
                spans[count++] = Span{begin, at - begin, step.role, number};
            }
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
        }
        return true;
    }

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
        if ((claims & SURE) && (block_[at] == ':' || stands(std::string("kernel:"), at))) return true;
        for (size_t i = at; i < to_ && i - at <= LONGEST; ++i) {
            char c = block_[i];
            if (c == ':') return (claims & NAME) || (i > at && block_[i - 1] == ']');
            if (c == ' ' || (c >= '\t' && c <= '\r')) return false;
        }
        return false;
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
    int timed_ = NONE;    // the prefix of the time that is known; NONE where it stands in several pieces
    bool known_ = false;
    std::string piece_;   // that time as it stands in the line
};

}  // namespace denpex
