// A worker's handling of one matrix product with expected values that this test computes itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tvm/runtime.h"
#include "tvm/schedule.h"
#include "tvm/testing.h"
#include "worker/worker.h"

namespace tw::worker {
namespace {

using ::testing::HasSubstr;
using verify::Reference;

constexpr int64_t kM = 8, kN = 6, kK = 10;

class MatmulTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(tvm_api::Load().ok()); }
  void SetUp() override {
    std::string name = ::testing::TempDir() + "tw_matmul_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(pipe(frames_), 0);
  }
  void TearDown() override {
    close(frames_[0]);
    close(frames_[1]);
    std::filesystem::remove_all(folder_);
  }

  Reference Expected() const {
    Reference reference;
    reference.arguments = *module_.Arguments();
    reference.reduction_length = kK;
    reference.oracle = "test";
    std::vector<float> a(kM * kK), b(kK * kN);
    FillInput(reference.distribution, reference.seed, 0, DType::kF32, kM * kK, a.data());
    FillInput(reference.distribution, reference.seed, 1, DType::kF32, kK * kN, b.data());
    verify::ExpectedOutput c;
    c.argument = 2;
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < kK; ++k) sum += double{a[i * kK + k]} * b[k * kN + j];
        c.value.push_back(sum);
      }
    }
    c.scale = verify::RootMeanSquare(c.value);
    reference.outputs = {c};
    return reference;
  }

  // A worker as it starts with TENSORWRIGHT_INJECT=`inject`, with the matrix product loaded.
  Worker Start(const char* inject = nullptr) {
    if (inject != nullptr) setenv("TENSORWRIGHT_INJECT", inject, 1);
    Worker worker(frames_[1]);
    unsetenv("TENSORWRIGHT_INJECT");
    EXPECT_TRUE(Expected().Save(folder_ / "expected").ok());
    EXPECT_EQ(worker.Handle({{"op", "load"},
                             {"module", module_.ToJson()},
                             {"target", "llvm"},
                             {"references", {folder_ / "expected"}}}),
              Json::object());
    return worker;
  }
  static Json Build(Worker& worker, const std::string& trace = "", int64_t id = 1,
                    const std::string& module = "") {
    return worker.Handle({{"op", "build"}, {"id", id}, {"trace", trace}, {"module", module}});
  }
  static Json Time(Worker& worker, int64_t id = 1) {
    return worker.Handle({{"op", "time"},
                          {"id", id},
                          {"min_repeat_s", 1e-4},
                          {"min_repeats", 3},
                          {"max_repeats", 3},
                          {"max_s", 100},
                          {"uncertainty", 0},
                          {"patience_s", 100},
                          {"cutoff_s", 0}});
  }
  std::vector<std::string> Phases() {
    measure::FrameReader reader(measure::kMaxAnswerBytes);
    char bytes[4096];
    reader.Append({bytes, static_cast<std::size_t>(read(frames_[0], bytes, sizeof bytes))});
    std::vector<std::string> phases;
    while (true) {
      const auto frame = reader.Next();
      EXPECT_TRUE(frame.ok());
      if (!frame.ok() || !frame.value()) return phases;
      phases.push_back((*frame.value()).at("phase"));
    }
  }

  tvm_api::Module module_ = tvm_api::testing::Matmul(kM, kN, kK);
  std::filesystem::path folder_;
  int frames_[2] = {-1, -1};
};

TEST_F(MatmulTest, UnscheduledProgramIsRightAndTimed) {
  Worker worker = Start();
  const Json built = Build(worker);
  ASSERT_FALSE(built.contains("failure")) << built;
  EXPECT_LE(built.at("max_error"), 1);
  EXPECT_EQ(built.at("module_hash"), module_.StructuralHash());
  const Json timed = Time(worker);
  ASSERT_FALSE(timed.contains("failure")) << timed;
  EXPECT_EQ(timed.at("seconds").size(), 3U);
  EXPECT_GT(timed.at("median_s"), 0);
  EXPECT_GE(timed.at("calls"), 3);
  EXPECT_EQ(Phases(), (std::vector<std::string>{"building", "checking", "timing"}));
}

TEST_F(MatmulTest, ScheduledProgramIsRightToo) {
  const auto target = tvm_api::Target::Parse("llvm", 1);
  ASSERT_TRUE(target.ok());
  const auto space = tvm_api::DesignSpace::Generate(module_, *target);
  ASSERT_TRUE(space.ok()) << space.error().message;
  Worker worker = Start();
  for (const tvm_api::Trace& sketch : space->Sketches()) {
    const auto schedule = space->Apply(sketch.WithoutDecisions(), 7);
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    const Json by_trace = Build(worker, schedule->GetTrace().ToJson());
    ASSERT_FALSE(by_trace.contains("failure")) << by_trace;
    EXPECT_NE(by_trace.at("module_hash"), module_.StructuralHash());
    const Json by_module = Build(worker, "", 2, schedule->GetModule().ToJson());
    ASSERT_FALSE(by_module.contains("failure")) << by_module;
    EXPECT_EQ(by_module.at("module_hash"), by_trace.at("module_hash"));
  }
}

TEST_F(MatmulTest, TraceOfAnotherProgramIsAScheduleError) {
  const auto other = tvm_api::testing::Elementwise({16, 16});
  const auto space =
      tvm_api::DesignSpace::Generate(other, tvm_api::Target::Parse("llvm", 1).value());
  ASSERT_TRUE(space.ok()) << space.error().message;
  const auto schedule = space->Apply(space->Sketches().front(), 1);
  ASSERT_TRUE(schedule.ok()) << schedule.error().message;
  Worker worker = Start();
  const std::string traces[] = {schedule->GetTrace().ToJson(), "{}", "[[],[]", "7",
                                "[[[\"NoSuchInstruction\",[],[],[]]],[]]"};
  for (const std::string& trace : traces) {
    const Json built = Build(worker, trace);
    EXPECT_EQ(built.value("failure", ""), "schedule-error") << trace << " " << built;
    EXPECT_NE(built.value("message", ""), "");
    EXPECT_EQ(Time(worker).value("failure", ""), "garbage") << "nothing is built";
  }
  EXPECT_FALSE(Build(worker).contains("failure")) << "the workload is still there";
}

TEST_F(MatmulTest, ModuleWithOtherArgumentsIsAFailureAndNoCrash) {
  Worker worker = Start();
  for (const auto& other :
       {tvm_api::testing::Elementwise({kM, kN}), tvm_api::testing::Matmul(kM, kN, kK + 1),
        tvm_api::testing::Matmul(kM, kN, kK, DType::kF64)}) {
    const Json built = Build(worker, "", 1, other.ToJson());
    EXPECT_EQ(built.value("failure", ""), "run-error") << built;
  }
  EXPECT_EQ(Build(worker, "", 1, "{}").value("failure", ""), "schedule-error");
  EXPECT_FALSE(Build(worker).contains("failure"));
}

TEST_F(MatmulTest, RequestsOfWrongTypesAreAnswered) {
  Worker worker = Start();
  for (const Json& request :
       {Json::object(), Json{{"op", nullptr}}, Json{{"op", "build"}},
        Json{{"op", "build"}, {"id", "one"}}, Json{{"op", "build"}, {"id", 1}, {"trace", 3}},
        Json{{"op", "load"}, {"module", 5}}, Json{{"op", "save"}, {"path", 1}}}) {
    EXPECT_EQ(worker.Handle(request).value("failure", ""), "garbage") << request;
  }
  EXPECT_FALSE(Build(worker).contains("failure")) << "none of them cost the workload";
}

TEST_F(MatmulTest, InjectedWrongNumbersAreFound) {
  Worker worker = Start("wrong@check:2");
  EXPECT_FALSE(Build(worker, "", 1).contains("failure"));
  const Json wrong = Build(worker, "", 2);
  EXPECT_EQ(wrong.value("failure", ""), "wrong-numbers") << wrong;
  EXPECT_THAT(wrong.value("message", ""), HasSubstr("C[0,0] is "));
  EXPECT_GT(wrong.at("max_error"), 1);
  EXPECT_EQ(Time(worker, 2).value("failure", ""), "garbage") << "what is wrong is not timed";
  EXPECT_FALSE(Build(worker, "", 3).contains("failure"));
  for (const int64_t id : {3, 1}) {
    EXPECT_FALSE(Time(worker, id).contains("failure")) << id << " was built and is held";
  }
  EXPECT_EQ(Time(worker, 3).value("failure", ""), "garbage") << "what was timed is gone";
  EXPECT_FALSE(Build(worker, "", 0).contains("failure")) << "the baseline is spared";
}

}  // namespace
}  // namespace tw::worker
