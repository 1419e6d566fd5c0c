#include "measure/fingerprint.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace tw::measure {
namespace {

TEST(Fingerprint, ThisMachineIsDescribed) {
  const Machine machine = ThisMachine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GT(machine.memory_bytes, int64_t{64} << 20);
  EXPECT_GE(machine.page_bytes, 4096);
  EXPECT_FALSE(machine.kernel.empty());
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(machine.cores, CPU_COUNT(&allowed));
  for (std::size_t i = 1; i < machine.caches.size(); ++i) {
    EXPECT_GT(machine.caches[i].level, machine.caches[i - 1].level);
    EXPECT_GE(machine.caches[i].bytes, machine.caches[i - 1].bytes / 4);
  }
}

TEST(Fingerprint, IdentityIsTheSameEveryTime) {
  EXPECT_EQ(Identity(ThisMachine()), Identity(ThisMachine()));
}

TEST(Fingerprint, IdentityDependsOnWhatLatenciesDependOn) {
  const Machine machine{"A CPU", "avx2 fma", 8,     {{1, 32768, 64}},
                        1 << 30, 4096,       "6.1", "powersave"};
  EXPECT_EQ(Identity(machine), "A CPU; avx2 fma; 8 cores");
  Machine other = machine;
  other.cpu = "B CPU";
  EXPECT_NE(Identity(other), Identity(machine));
  other = machine;
  other.isa = "avx2";
  EXPECT_NE(Identity(other), Identity(machine));
  other = machine;
  other.cores = 4;
  EXPECT_NE(Identity(other), Identity(machine));
  // An update of the kernel or another governor does not make a run another machine's.
  other = machine;
  other.kernel = "6.2";
  other.governor = "performance";
  EXPECT_EQ(Identity(other), Identity(machine));
}

}  // namespace
}  // namespace tw::measure
