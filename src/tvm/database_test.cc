#include "tvm/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tvm/runtime.h"
#include "tvm/testing.h"

namespace tw::tvm_api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// Splits the first loop of Matmul's block in two.
constexpr const char* kTrace =
    R"([[["GetSBlock",[],["C","main"],["b0"]],["GetLoops",["b0"],[],["l1","l2","l3"]],)"
    R"(["SamplePerfectTile",["l1"],[2,64],["v4","v5"]],)"
    R"(["Split",["l1","v4","v5"],[1,0],["l6","l7"]]],[[2,[4,2]]]])";

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Versions> versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
    folder_ = fs::path(::testing::TempDir()) / ("database_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    workload_ = testing::Matmul(8, 8, 8);
    target_ = *Target::Parse("llvm -num-cores=2", 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& file, const std::string& text) {
    std::ofstream(folder_ / file) << text;
  }
  std::string Read(const std::string& file) {
    std::ifstream in(folder_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
  Module workload_;
  Target target_;
};

TEST_F(DatabaseTest, ReadsWhatItWrites) {
  const std::vector<NewRecord> records = {{kTrace, {0.25, 1.0}}, {kTrace, {}}, {kTrace, {1e-7}}};
  const Status status = WriteDatabase(folder_, workload_, target_, records);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const Result<Database> database = ReadDatabase(folder_);
  ASSERT_TRUE(database.ok()) << database.error().message;
  ASSERT_EQ(database->workloads.size(), 1u);
  EXPECT_TRUE(database->workloads[0].StructuralEqual(workload_));
  ASSERT_EQ(database->records.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Record& record = database->records[i];
    EXPECT_EQ(record.error, "");
    EXPECT_EQ(record.line, i + 1);
    EXPECT_EQ(record.workload, 0);
    EXPECT_EQ(record.trace_json, kTrace);
    EXPECT_EQ(record.run_seconds, records[i].run_seconds);
    const Result<Target> target = Target::Parse(record.target_json, 1);
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_EQ(target->ToJson(), target_.ToJson());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2)
      << "temporary files are left over";
}

TEST_F(DatabaseTest, WritesNoRecords) {
  ASSERT_TRUE(WriteDatabase(folder_, workload_, target_, {{kTrace, {1}}}).ok());
  ASSERT_TRUE(WriteDatabase(folder_, workload_, target_, {}).ok());
  const Result<Database> database = ReadDatabase(folder_);
  ASSERT_TRUE(database.ok()) << database.error().message;
  EXPECT_THAT(database->records, IsEmpty());
  EXPECT_EQ(database->workloads.size(), 1u);
}

TEST_F(DatabaseTest, TheFormatIsMetaSchedules) {
  ASSERT_TRUE(WriteDatabase(folder_, workload_, target_, {{kTrace, {0.5}}}).ok());
  const auto record = nlohmann::json::parse(Read(kRecordFile));
  EXPECT_EQ(record[0], 0);
  EXPECT_EQ(record[1][0], nlohmann::json::parse(kTrace));
  EXPECT_EQ(record[1][1], nlohmann::json({0.5}));
  EXPECT_EQ(record[1][2], nlohmann::json::parse(target_.ToJson()));
  const auto tensor = nlohmann::json::parse(R"(["TENSOR","float32",[8,8]])");
  EXPECT_EQ(record[1][3], nlohmann::json({tensor, tensor, tensor}));
  const auto workload = nlohmann::json::parse(Read(kWorkloadFile));
  EXPECT_TRUE(workload[0].is_string());
}

TEST_F(DatabaseTest, PythonReadsIt) {
  const fs::path python = fs::path(TW_SOURCE_DIR) / ".venv/bin/python";
  if (!fs::exists(python)) GTEST_SKIP() << "no " << python;
  ASSERT_TRUE(
      WriteDatabase(folder_, workload_, target_, {{kTrace, {0.5, 0.7}}, {kTrace, {0.1}}}).ok());
  Write("module.json", workload_.ToJson());
  Write("check.py",
        "import sys, types\n"
        // Not needed here, and its import takes half a minute.
        "name = 'tvm.s_tir.tensor_intrin'\n"
        "sys.modules[name] = types.ModuleType(name)\n"
        "import tvm\n"
        "from tvm.s_tir import meta_schedule as ms\n"
        "d = sys.argv[1]\n"
        "db = ms.database.JSONDatabase(d + '/database_workload.json',\n"
        "                              d + '/database_tuning_record.json', allow_missing=False)\n"
        "assert len(db) == 2, len(db)\n"
        "mod = tvm.ir.load_json(open(d + '/module.json').read())\n"
        "assert db.has_workload(mod)\n"
        "target = tvm.target.Target({'kind': 'llvm', 'num-cores': 2})\n"
        "best = db.query_tuning_record(mod, target, 'main')\n"
        "assert [float(x) for x in best.run_secs] == [0.1], best.run_secs\n"
        "assert best.target.attrs['num-cores'] == 2\n"
        "tuned = db.query_ir_module(mod, target, 'main')\n"
        "assert tuned is not None\n"
        "assert 'T.grid(4, 2, 8, 8)' in tuned.script(), tuned.script()\n");
  const std::string command = python.string() + " " + (folder_ / "check.py").string() + " " +
                              folder_.string() + " > " + (folder_ / "log").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << Read("log");
}

TEST_F(DatabaseTest, BrokenLinesBecomeErrors) {
  ASSERT_TRUE(WriteDatabase(folder_, workload_, target_, {{kTrace, {1}}}).ok());
  const std::string good = Read(kRecordFile);
  Write(kWorkloadFile, Read(kWorkloadFile) + "[\"1\",\"not base64!\"]\n{}\n[\"1\",\"AAAA\"]\n");
  const std::vector<std::string> broken = {"",
                                           "{",
                                           "[]",
                                           "[0]",
                                           "[0,[]]",
                                           good.substr(0, good.size() / 2),
                                           "[9,[[[],[]],[1],null,null]]",
                                           "[-1,[[[],[]],[1],null,null]]",
                                           "[\"0\",[[[],[]],[1],null,null]]",
                                           "[1,[[[],[]],[1],null,null]]",
                                           "[2,[[[],[]],[1],null,null]]",
                                           "[3,[[[],[]],[1],null,null]]",
                                           "[0,[[],[1],null,null]]",
                                           "[0,[[[],[]],1,null,null]]",
                                           "[0,[[[],[]],[\"1\"],null,null]]",
                                           "[0,[[[],[]],[1],\"llvm\",null]]"};
  std::string text;
  for (const std::string& line : broken) text += line + "\n";
  Write(kRecordFile, text + good);
  const Result<Database> database = ReadDatabase(folder_);
  ASSERT_TRUE(database.ok()) << database.error().message;
  EXPECT_EQ(database->workloads.size(), 4u);
  EXPECT_TRUE(database->workloads[0].defined());
  EXPECT_FALSE(database->workloads[1].defined());
  ASSERT_EQ(database->records.size(), broken.size() + 1);
  for (std::size_t i = 0; i < broken.size(); ++i) {
    EXPECT_NE(database->records[i].error, "") << broken[i];
    EXPECT_EQ(database->records[i].trace_json, "") << broken[i];
    EXPECT_EQ(database->records[i].line, static_cast<int>(i) + 1);
  }
  EXPECT_EQ(database->records.back().error, "");
  EXPECT_THAT(database->records.back().run_seconds, ElementsAre(1));
}

TEST_F(DatabaseTest, MissingFilesAndFolders) {
  Result<Database> database = ReadDatabase(folder_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, Code::kUsage);
  EXPECT_THAT(database.error().message, HasSubstr(kWorkloadFile));
  ASSERT_TRUE(WriteDatabase(folder_, workload_, target_, {}).ok());
  fs::remove(folder_ / kRecordFile);
  database = ReadDatabase(folder_);
  ASSERT_FALSE(database.ok());
  EXPECT_THAT(database.error().message, HasSubstr(kRecordFile));
  const Status status = WriteDatabase(folder_ / "missing", workload_, target_, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUsage);
}

TEST_F(DatabaseTest, RefusesABrokenTrace) {
  const Status status = WriteDatabase(folder_, workload_, target_, {{"[[", {1}}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(fs::directory_iterator(folder_), fs::directory_iterator());
}

}  // namespace
}  // namespace tw::tvm_api
