// FNV-1a, for keys and seeds; not for untrusted input.
#pragma once

#include <cstdint>
#include <string_view>

namespace tw {

inline uint64_t Hash64(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325) {
  uint64_t hash = seed;
  for (char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace tw
