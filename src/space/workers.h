// Runs a loop's iterations on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tw::space {

// Calls body(i) once for every i in [0, count), on up to `threads` threads, the caller's among
// them. `body` must be safe to call from several threads and must not throw.
template <typename Body>
void ForEach(std::size_t count, int threads, Body&& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  const std::size_t others =
      std::min<std::size_t>(count, static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<std::jthread> pool;
  for (std::size_t i = 1; i < others; ++i) pool.emplace_back(work);
  work();
}

}  // namespace tw::space
