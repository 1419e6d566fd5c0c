#include "measure/fingerprint.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace tw::measure {
namespace {

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void ReadCpu(Machine& machine) {
  static const std::set<std::string> kVector{"sse4_2", "avx", "avx2",     "fma",  "avx512f",
                                             "asimd",  "sve", "amx_tile", "neon", "avx512_vnni"};
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      if (line.empty() && !machine.isa.empty()) return;  // the other processors are alike
      continue;
    }
    const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (name == "model name" || (name == "CPU part" && machine.cpu.empty())) machine.cpu = value;
    if (name == "flags" || name == "Features") {
      std::istringstream words(value);
      std::string word;
      while (words >> word) {
        if (kVector.contains(word)) machine.isa += (machine.isa.empty() ? "" : " ") + word;
      }
    }
  }
}

int64_t ParseSize(const std::string& text) {  // "512K"
  int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    value = value * 10 + (text[i] - '0');
  if (i < text.size() && text[i] == 'K') return value << 10;
  if (i < text.size() && text[i] == 'M') return value << 20;
  return value;
}

void ReadCaches(Machine& machine) {
  for (int i = 0; i < 8; ++i) {
    const std::filesystem::path folder =
        fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", i);
    const std::string type = FirstLine(folder / "type");
    if (type != "Data" && type != "Unified") continue;
    machine.caches.push_back(
        {static_cast<int>(ParseSize(FirstLine(folder / "level"))),
         ParseSize(FirstLine(folder / "size")),
         static_cast<int>(ParseSize(FirstLine(folder / "coherency_line_size")))});
  }
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  ReadCpu(machine);
  ReadCaches(machine);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  machine.cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                      ? CPU_COUNT(&allowed)
                      : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.page_bytes = sysconf(_SC_PAGESIZE);
  machine.memory_bytes = sysconf(_SC_PHYS_PAGES) * machine.page_bytes;
  utsname names{};
  if (uname(&names) == 0) machine.kernel = names.release;
  machine.governor = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return machine;
}

std::string Identity(const Machine& machine) {
  return fmt::format("{}; {}; {} cores", machine.cpu.empty() ? "unknown CPU" : machine.cpu,
                     machine.isa, machine.cores);
}

}  // namespace tw::measure
