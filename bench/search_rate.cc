// How fast a searcher goes through programs: states applied and scored per second, without
// measuring.
//
//   search_rate WORKLOAD SEARCHER ROUNDS CORES
//
// Prints one line of JSON a round of 16 candidates: {"round", "scored", "seconds", "samples"}.
// Latencies that the searcher and the cost model are told come from a fixed function of the
// program's features.
#include <fmt/format.h>
#include <sched.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "space/cost_model.h"
#include "space/schedule_space.h"
#include "tune/searchers.h"
#include "tune/workload.h"
#include "tvm/runtime.h"

namespace tw {
namespace {

constexpr int kBatch = 16;

struct Arguments {
  std::string workload;
  std::string searcher;
  int rounds = 0;
  int cores = 0;
};

Result<int> ParsePositive(const char* text) {
  int value = 0;
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 1) {
    return Fail(Code::kUsage, "'{}' is not a positive number", text);
  }
  return value;
}

Result<Arguments> Parse(int argc, char** argv) {
  if (argc != 5) return Fail(Code::kUsage, "usage: search_rate WORKLOAD SEARCHER ROUNDS CORES");
  Arguments arguments{argv[1], argv[2], 0, 0};
  TW_TRY(arguments.rounds, ParsePositive(argv[3]));
  TW_TRY(arguments.cores, ParsePositive(argv[4]));
  return arguments;
}

// Leaves this process the first `cores` CPUs of those it may use.
Status UseCores(int cores) {
  cpu_set_t allowed;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < cores) {
    return Fail(Code::kEnvironment, "this process may not use {} CPUs", cores);
  }
  for (int cpu = 0; CPU_COUNT(&chosen) < cores; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &chosen);
  }
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0) {
    return Fail(Code::kEnvironment, "cannot choose {} CPUs: {}", cores, std::strerror(errno));
  }
  return Ok();
}

// Stands for a measurement: seconds, or nothing where the program's features are not known.
std::optional<double> PretendedLatency(const search::State& state) {
  const auto& features = static_cast<const space::ScheduleState&>(state).features();
  if (!features) return std::nullopt;
  return 1e-3 / (0.01 + space::PriorScore(*features));
}

Status Tell(const std::vector<search::Candidate>& candidates, search::Searcher& searcher,
            space::TrainableCostModel& model) {
  std::vector<search::Observation> observations;
  std::vector<search::StatePtr> states;
  std::vector<std::optional<double>> latencies;
  for (const search::Candidate& candidate : candidates) {
    states.push_back(candidate.state);
    latencies.push_back(PretendedLatency(*candidate.state));
    observations.push_back(
        {candidate.node, latencies.back().has_value(), latencies.back().value_or(0)});
  }
  searcher.Observe(observations);
  (void)searcher.TakeChanges();
  return model.Update(states, latencies);
}

Status Run(const Arguments& arguments) {
  TW_CHECK(UseCores(arguments.cores));
  TW_TRY(tvm_api::Versions versions, tvm_api::Load());
  TW_TRY(tune::Workload workload, tune::LoadWorkload(arguments.workload, {}));
  tune::Options options;
  options.workload = arguments.workload;
  options.search = arguments.searcher;
  options.trials = static_cast<int64_t>(kBatch) * arguments.rounds;
  TW_TRY(tvm_api::Target target, tvm_api::Target::Parse(options.target, 1));
  space::ScheduleSpace::Options space_options;
  space_options.threads = arguments.cores;
  TW_TRY(auto space, space::ScheduleSpace::Make(workload.module, target, space_options));
  TW_TRY(auto model, tune::MakeCostModel(options));
  TW_TRY(tune::SearchParts parts, tune::MakeSearcher(options, *space, *model, arguments.cores));

  int64_t samples = 0;
  for (int round = 1; round <= arguments.rounds; ++round) {
    const int64_t before = parts.searcher->Scored();
    const auto start = std::chrono::steady_clock::now();
    const std::vector<search::Candidate> candidates = parts.searcher->Propose(kBatch);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (candidates.empty()) return Fail(Code::kNoCandidate, "the space has no more programs");
    fmt::print("{{\"round\": {}, \"scored\": {}, \"seconds\": {:.6f}, \"samples\": {}}}\n", round,
               parts.searcher->Scored() - before, seconds.count(), samples);
    TW_CHECK(Tell(candidates, *parts.searcher, *model));
    samples += static_cast<int64_t>(candidates.size());
  }
  return Ok();
}

int Main(int argc, char** argv) {
  Result<Arguments> arguments = Parse(argc, argv);
  const Status status = arguments.ok() ? Run(*arguments) : Status(arguments.error());
  if (status.ok()) return 0;
  fmt::print(stderr, "search_rate: {}\n", status.error().message);
  return static_cast<int>(status.error().code);
}

}  // namespace
}  // namespace tw

int main(int argc, char** argv) { return tw::Main(argc, argv); }
