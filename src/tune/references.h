// The inputs and expected outputs of a session, and where its worker program is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tune/workload.h"
#include "verify/reference.h"

namespace tw::tune {

inline constexpr uint64_t kTuningSeed = 1;

// Expected values by the interpreter for a workload that came as LEIR; inputs alone for one that
// came as TIR. The distribution is chosen by the program when it is not given.
Result<verify::Reference> MakeReference(const Workload& workload, uint64_t seed,
                                        std::optional<verify::Distribution> distribution);

// What the final check of the best runs on.
struct FreshInputs {
  std::string name;  // "normal"
  uint64_t seed = 0;
  verify::Distribution distribution = verify::Distribution::kUniform;
};
std::vector<FreshInputs> FinalInputs(const Workload& workload, uint64_t seed);

// An unscheduled program may be a thousand times slower than a candidate.
inline double BaselineTimeout(double timeout_s) { return timeout_s < 12 ? 120 : timeout_s * 10; }

// tensorwright-worker, beside this program or named by TENSORWRIGHT_WORKER. kEnvironment when it is
// missing.
Result<std::filesystem::path> WorkerProgram();

}  // namespace tw::tune
