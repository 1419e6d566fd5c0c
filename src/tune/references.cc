#include "tune/references.h"

#include <cstdlib>

#include "base/random.h"

namespace tw::tune {
namespace {

// Points of each output where computing the whole would take too long, and what "too long" is: at
// some 15 ns a statement, about a second.
constexpr int kPoints = 256;
constexpr int64_t kMaxStatements = 60'000'000;

}  // namespace

Result<verify::Reference> MakeReference(const Workload& workload, uint64_t seed,
                                        std::optional<verify::Distribution> distribution) {
  if (workload.program) {
    return verify::ReferenceFromInterpreter(
        *workload.program, seed,
        distribution.value_or(verify::DefaultDistribution(*workload.program)), kPoints,
        kMaxStatements);
  }
  verify::Reference reference;
  reference.seed = seed;
  reference.distribution = distribution.value_or(verify::Distribution::kUniform);
  TW_TRY(reference.arguments, workload.module.Arguments());
  TW_TRY(reference.reduction_length, workload.module.ReductionLength());
  reference.oracle = "unscheduled program";
  return reference;
}

std::vector<FreshInputs> FinalInputs(const Workload& workload, uint64_t seed) {
  Random random(seed ^ 0x66726573682100);
  std::vector<FreshInputs> inputs{{"positive", random.Next(), verify::Distribution::kPositive}};
  // A program that wants positive inputs is not asked about others.
  const bool positive_only = workload.program && verify::DefaultDistribution(*workload.program) ==
                                                     verify::Distribution::kPositive;
  if (!positive_only) {
    inputs.push_back({"uniform", random.Next(), verify::Distribution::kUniform});
    inputs.push_back({"normal", random.Next(), verify::Distribution::kNormal});
  }
  return inputs;
}

Result<std::filesystem::path> WorkerProgram() {
  if (const char* path = std::getenv("TENSORWRIGHT_WORKER"); path != nullptr && *path != '\0') {
    return std::filesystem::path(path);
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto worker = self.parent_path() / "tensorwright-worker";
  if (error || !std::filesystem::exists(worker)) {
    return Fail(Code::kEnvironment,
                "{}: not found; it belongs beside the program (or name it in TENSORWRIGHT_WORKER)",
                worker.string());
  }
  return worker;
}

}  // namespace tw::tune
