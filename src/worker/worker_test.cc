#include "worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "tvm/runtime.h"
#include "tvm/testing_programs.h"

namespace tw::worker {
namespace {

using ::testing::HasSubstr;
using verify::Reference;

class WorkerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(tvm_api::Load().ok()); }
  void SetUp() override {
    std::string name = ::testing::TempDir() + "tw_worker_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    close(frames_[0]);
    close(frames_[1]);
    std::filesystem::remove_all(folder_);
  }

  // Loads `module` with a reference that expects nothing, as for a program that is its own oracle.
  void LoadUnchecked(const tvm_api::Module& module) {
    Reference reference;
    reference.arguments = *module.Arguments();
    ASSERT_TRUE(reference.Save(folder_ / "inputs").ok());
    Load(module, {folder_ / "inputs"});
  }
  void Load(const tvm_api::Module& module, const std::vector<std::string>& references) {
    const Json answer = worker_.Handle({{"op", "load"},
                                        {"module", module.ToJson()},
                                        {"target", "llvm"},
                                        {"references", references}});
    ASSERT_EQ(answer, Json::object());
  }
  Json Build(const std::string& trace = "") {
    return worker_.Handle({{"op", "build"}, {"id", 1}, {"trace", trace}, {"module", ""}});
  }
  Json Time() {
    return worker_.Handle({{"op", "time"},
                           {"id", 1},
                           {"min_repeat_s", 1e-4},
                           {"min_repeats", 3},
                           {"max_repeats", 3},
                           {"max_s", 1},
                           {"uncertainty", 0.01},
                           {"patience_s", 10},
                           {"cutoff_s", 0}});
  }

  std::filesystem::path folder_;
  int frames_[2] = {-1, -1};
  int opened_ = pipe(frames_);
  Worker worker_{frames_[1]};
};

TEST_F(WorkerTest, MeasuresAndSavesAProgramThatIsItsOwnOracle) {
  const tvm_api::Module module = tvm_api::testing::TwoOutputs(8, 6, 10);
  LoadUnchecked(module);
  const Json built = Build();
  EXPECT_FALSE(built.contains("failure")) << built;
  EXPECT_EQ(built.at("module_hash"), module.StructuralHash());
  const Json timed = Time();
  EXPECT_FALSE(timed.contains("failure")) << timed;
  EXPECT_GT(timed.at("median_s"), 0);
  EXPECT_EQ(worker_.Handle({{"op", "save"}, {"path", folder_ / "full"}}), Json::object());

  Load(module, {folder_ / "inputs", folder_ / "full"});
  const Json again = Build();
  EXPECT_FALSE(again.contains("failure")) << again;
  EXPECT_EQ(again.at("max_error"), 0);
}

TEST_F(WorkerTest, OtherNumbersAreWrong) {
  const tvm_api::Module module = tvm_api::testing::TwoOutputs(8, 6, 10);
  LoadUnchecked(module);
  ASSERT_FALSE(Build().contains("failure"));
  ASSERT_EQ(worker_.Handle({{"op", "save"}, {"path", folder_ / "full"}}), Json::object());
  Result<Reference> full = Reference::Load(folder_ / "full");
  ASSERT_TRUE(full.ok());
  full->outputs.at(1).value.back() += 1;
  ASSERT_TRUE(full->Save(folder_ / "full").ok());
  Load(module, {folder_ / "full"});
  const Json built = Build();
  EXPECT_EQ(built.value("failure", ""), "wrong-numbers") << built;
  EXPECT_EQ(Time().value("failure", ""), "garbage") << "what is wrong is not timed";
}

// The file is x[i] = -1 * x[i] for 64 floats. Filled with a sentinel it computes another NaN, as
// every candidate would: it must not become its own oracle.
TEST_F(WorkerTest, InPlaceProgramIsRefused) {
  const Result<std::string> json =
      ReadFile(TW_SOURCE_DIR "/src/worker/testing/in_place.json", Code::kUsage);
  ASSERT_TRUE(json.ok());
  const Result<tvm_api::Module> module = tvm_api::Module::FromJson(*json);
  ASSERT_TRUE(module.ok()) << module.error().message;
  LoadUnchecked(*module);
  const Json built = Build();
  EXPECT_EQ(built.value("failure", ""), "wrong-numbers") << built;
  EXPECT_THAT(built.value("message", ""), HasSubstr("X depends on what was in it before"));
}

TEST_F(WorkerTest, BadRequestsAreAnswered) {
  EXPECT_EQ(Build().value("failure", ""), "garbage") << "nothing is loaded";
  LoadUnchecked(tvm_api::testing::TwoOutputs(4, 4, 4));
  EXPECT_EQ(worker_.Handle({{"op", "dance"}}).value("failure", ""), "garbage");
  EXPECT_EQ(worker_.Handle({{"op", 3}}).value("failure", ""), "garbage");
  EXPECT_EQ(Time().value("failure", ""), "garbage");
  const Json broken = Build("[[], []");
  EXPECT_EQ(broken.value("failure", ""), "schedule-error") << broken;
  const Json refused = worker_.Handle(
      {{"op", "load"}, {"module", "{}"}, {"target", "llvm"}, {"references", {folder_ / "none"}}});
  EXPECT_EQ(refused.value("failure", ""), "build-error");
  EXPECT_EQ(Build().value("failure", ""), "garbage") << "the old workload is gone";
}

}  // namespace
}  // namespace tw::worker
