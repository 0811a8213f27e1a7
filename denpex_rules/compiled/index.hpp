// Texts to small numbers.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace denpex {

using Text = std::string_view;

constexpr int NONE = -1;

// Keyed by a secret, so that no log can be written to make it slow.
class Index {
  public:
    explicit Index(uint64_t secret) : secret_(secret), slots_(64, NONE) {}

    int find(Text key) const {
        for (size_t at = hash(key) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            int id = slots_[at];
            if (id == NONE || Text(keys_[id]) == key) return id;
        }
    }

    int add(Text key) {
        int id = static_cast<int>(keys_.size());
        keys_.emplace_back(key);
        if (keys_.size() * 2 > slots_.size()) {
            slots_.assign(slots_.size() * 2, NONE);
            for (int i = 0; i <= id; ++i) place(i);
        } else {
            place(id);
        }
        return id;
    }

    size_t size() const { return keys_.size(); }

    void clear() {
        keys_.clear();
        slots_.assign(64, NONE);
    }

  private:
    uint64_t hash(Text key) const {
        uint64_t h = secret_ ^ (key.size() * 0x9e3779b97f4a7c15ull), word;
        const char *p = key.data();
        size_t left = key.size();
        for (; left >= 8; p += 8, left -= 8) {
            std::memcpy(&word, p, 8);
            h = mixed(h, word);
        }
        if (left) {
            word = 0;
            std::memcpy(&word, p, left);
            h = mixed(h, word);
        }
        return h;
    }

    uint64_t mixed(uint64_t h, uint64_t word) const {
        unsigned __int128 product = static_cast<unsigned __int128>(h ^ word) * (secret_ | 1);
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ 0x9e3779b97f4a7c15ull;
    }

    void place(int id) {
        size_t at = hash(keys_[id]) & (slots_.size() - 1);
        while (slots_[at] != NONE) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = id;
    }

    uint64_t secret_;
    std::vector<int> slots_;
    std::vector<std::string> keys_;
};

}  // namespace denpex
