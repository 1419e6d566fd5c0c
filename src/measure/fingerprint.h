// Which machine a latency belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tw::measure {

struct Cache {
  int level = 0;
  int64_t bytes = 0;
  int line = 0;
};

struct Machine {
  std::string cpu;            // "AMD EPYC 7R13"
  std::string isa;            // the vector extensions, "avx2 fma"
  int cores = 0;              // that this process may use
  std::vector<Cache> caches;  // data and unified, of one core, by level
  int64_t memory_bytes = 0;
  int64_t page_bytes = 0;
  std::string kernel;
  std::string governor;  // "" when it cannot be read
};

Machine ThisMachine();
// What must be equal for latencies to be comparable: CPU, vector extensions, cores.
std::string Identity(const Machine& machine);

}  // namespace tw::measure
