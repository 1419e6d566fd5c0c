// For the files of ScheduleSpace only: choices on their way to a program.
#pragma once

#include <cstdint>
#include <vector>

#include "space/schedule_space.h"

namespace tw::space {

struct ScheduleSpace::Draft {
  Choices choices;
  int64_t seed = 1;         // draws the decisions that are open
  std::vector<int> pinned;  // slots whose compute location was asked for
  const ScheduleState* exact =
      nullptr;  // the state these choices still are; null after the first edit
};

// The seed of a draw for TVM's linear congruential generator, whose first numbers for small seeds
// are all small.
inline int64_t SeedOf(uint64_t sample) {
  constexpr uint64_t kModulus = 2147483647;
  return static_cast<int64_t>(1 + Random(sample).Below(kModulus - 2));
}

}  // namespace tw::space
