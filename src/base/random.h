// Random numbers that are the same on every platform and standard library for the same seed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tw {

// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit word of state, passes BigCrush; enough for
// search.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // Index drawn with probability proportional to its weight; weights are >= 0 and not all 0.
  std::size_t Weighted(std::span<const double> weights) {
    double total = 0;
    for (double w : weights) total += w;
    double left = Unit() * total;
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
      if (left < weights[i]) return i;
      left -= weights[i];
    }
    return weights.size() - 1;
  }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }
  uint64_t state() const { return state_; }  // to save and resume a stream

 private:
  uint64_t state_;
};

}  // namespace tw
