#include "tvm/reduction_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "tvm/build.h"
#include "tvm/database.h"
#include "tvm/runtime.h"
#include "tvm/schedule.h"
#include "tvm/testing_programs.h"

namespace tw::tvm_api {
namespace {

using ::testing::HasSubstr;

class ReductionCheckTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(Load().ok()); }
};

constexpr int64_t kM = 16, kN = 32, kK = 64;

// A schedule of NormalizedMatmul with the row sum S at compute location `wanted` ("root" or the
// variable of a loop of O), where k of O is split in two; none when the sketches do not offer that.
std::optional<Schedule> PlaceRowSum(const Module& module, const DesignSpace& space,
                                    const std::string& wanted) {
  for (const Trace& sketch : space.Sketches()) {
    Trace trace = sketch;
    for (const Sampling& sampling : sketch.Samplings()) {
      if (sampling.kind != Sampling::Kind::kPerfectTile) continue;
      const int64_t size = sampling.decision.empty()
                               ? 0
                               : std::accumulate(sampling.decision.begin(), sampling.decision.end(),
                                                 int64_t{1}, std::multiplies<>());
      trace = trace.WithDecision(sampling.instruction,
                                 sampling.parts == 2 ? std::vector<int64_t>{2, size / 2}
                                                     : std::vector<int64_t>{2, 1, 2, size / 4});
    }
    auto sites = FindSites(module, trace);
    if (!sites.ok()) continue;
    for (const Site& site : *sites) {
      if (site.block != "S") continue;
      for (const Site::Location& location : site.locations) {
        if (location.name != wanted) continue;
        auto schedule = space.Apply(trace.WithDecision(site.instruction, {location.index}), 1);
        if (schedule.ok()) return std::move(schedule).value();
      }
    }
  }
  return std::nullopt;
}

// Compiled code needs its tensors aligned to 64 bytes.
struct alignas(64) Line {
  std::array<float, 16> lane{};
};

class Tensor {
 public:
  Tensor(int64_t rows, int64_t columns) : shape_{rows, columns}, lines_(rows * columns / 16) {}
  float& operator[](std::size_t i) { return lines_[i / 16].lane[i % 16]; }
  std::size_t size() const { return lines_.size() * 16; }
  TensorView View() { return {lines_.data(), DType::kF32, shape_}; }

 private:
  std::vector<int64_t> shape_;
  std::vector<Line> lines_;
};

Tensor Run(const Module& module) {
  Tensor lhs(kM, kK), rhs(kK, kN), out(kM, kN);
  for (std::size_t i = 0; i < lhs.size(); ++i) lhs[i] = 1.0f + static_cast<float>(i % 7);
  for (std::size_t i = 0; i < rhs.size(); ++i) rhs[i] = static_cast<float>(i % 5) - 2.0f;
  auto executable = Build(module, Target::Parse("llvm", 1).value());
  EXPECT_TRUE(executable.ok()) << executable.error().message;
  const TensorView views[] = {lhs.View(), rhs.View(), out.View()};
  const auto status = executable->Run(views);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return out;
}

// Largest difference of the outputs of two programs, relative to the largest output.
double Difference(const Module& a, const Module& b) {
  Tensor x = Run(a), y = Run(b);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max<double>(error, std::abs(x[i] - y[i]));
    size = std::max<double>(size, std::abs(x[i]));
  }
  return error / size;
}

TEST_F(ReductionCheckTest, FindsARowSumUnderAReductionLoopOfItsReader) {
  const Module module = testing::NormalizedMatmul(kM, kN, kK);
  const auto space = DesignSpace::Generate(module, Target::Parse("llvm", 1).value());
  ASSERT_TRUE(space.ok());
  const auto wrong = PlaceRowSum(module, *space, "k_0");
  ASSERT_TRUE(wrong.has_value());
  const auto found = FindRepeatedReduction(wrong->GetModule());
  ASSERT_TRUE(found.has_value()) << wrong->GetModule().Script();
  EXPECT_THAT(*found, HasSubstr("block S_update is summed again in every turn of loop k_0"));
  EXPECT_GT(Difference(module, wrong->GetModule()), 0.1) << "the check refuses a right program";
}

TEST_F(ReductionCheckTest, AcceptsTheSameProgramWithTheRowSumAtTheRoot) {
  const Module module = testing::NormalizedMatmul(kM, kN, kK);
  const auto space = DesignSpace::Generate(module, Target::Parse("llvm", 1).value());
  ASSERT_TRUE(space.ok());
  const auto right = PlaceRowSum(module, *space, "root");
  ASSERT_TRUE(right.has_value());
  EXPECT_EQ(FindRepeatedReduction(right->GetModule()), std::nullopt);
  EXPECT_LT(Difference(module, right->GetModule()), 1e-5);
}

TEST_F(ReductionCheckTest, AcceptsTheUnscheduledProgram) {
  EXPECT_EQ(FindRepeatedReduction(testing::NormalizedMatmul(kM, kN, kK)), std::nullopt);
}

// Every random schedule is judged as running it does.
TEST_F(ReductionCheckTest, AgreesWithRunningRandomSchedules) {
  const Module module = testing::NormalizedMatmul(kM, kN, kK);
  const auto space = DesignSpace::Generate(module, Target::Parse("llvm", 1).value());
  ASSERT_TRUE(space.ok());
  const auto& sketches = space->Sketches();
  for (int64_t seed = 1; seed <= 8; ++seed) {
    auto schedule = space->Apply(sketches[seed % sketches.size()].WithoutDecisions(), seed);
    if (!schedule.ok()) continue;
    const Module scheduled = schedule->GetModule();
    const bool refused = FindRepeatedReduction(scheduled).has_value();
    EXPECT_EQ(refused, Difference(module, scheduled) > 1e-3) << scheduled.Script();
  }
}

// Records that stock MetaSchedule measured and ranked first, where the machine has them.
TEST_F(ReductionCheckTest, JudgesStockRecordsOfAttention) {
  const auto folder = std::filesystem::path(TW_SOURCE_DIR) / "../shared/wrong-schedule";
  if (!std::filesystem::exists(folder / kRecordFile)) GTEST_SKIP() << "no " << folder;
  const auto database = ReadDatabase(folder);
  ASSERT_TRUE(database.ok()) << database.error().message;
  std::vector<bool> refused;
  for (const Record& record : database->records) {
    ASSERT_EQ(record.error, "");
    auto schedule = Schedule::ReplayJson(database->workloads[record.workload], record.trace_json);
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    refused.push_back(FindRepeatedReduction(schedule->GetModule()).has_value());
  }
  EXPECT_THAT(refused, ::testing::ElementsAre(false, true, true));
}

}  // namespace
}  // namespace tw::tvm_api
