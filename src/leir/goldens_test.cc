// Every program of the published data set parses, prints, reads back and checks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "leir/checker.h"
#include "leir/parser.h"
#include "leir/printer.h"

namespace tw::leir {
namespace {

using nlohmann::json;

std::filesystem::path GoldensPath() {
  if (const char* path = std::getenv("TENSORWRIGHT_GOLDENS")) return path;
  return std::filesystem::path(TW_SOURCE_DIR) / "../shared/leir-goldens.jsonl";
}

// `model|variant|strategy` of the records that are not supported.
std::set<std::string> Unsupported() {
  std::ifstream file(std::filesystem::path(TW_SOURCE_DIR) / "src/leir/goldens_unsupported.txt");
  std::set<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') keys.insert(line.substr(0, line.find("  ")));
  }
  return keys;
}

SideInformation Side(const json& record) {
  SideInformation side;
  std::set<std::string> outputs;
  for (const auto& name : record["output_names"]) outputs.insert(name);
  for (std::size_t i = 0; i < record["known_names"].size(); ++i) {
    Tensor tensor;
    tensor.name = record["known_names"][i];
    tensor.role = outputs.contains(tensor.name) ? Role::kOutput : Role::kInput;
    tensor.shape = record["known_shapes"][i].get<std::vector<int64_t>>();
    const std::string type = record["known_dtypes"][i];
    tensor.dtype = *ParseDType(type.substr(type.find('.') + 1));
    side.arguments.push_back(std::move(tensor));
  }
  return side;
}

class GoldensTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(GoldensPath());
    if (!file) GTEST_SKIP() << "no goldens at " << GoldensPath() << "; set TENSORWRIGHT_GOLDENS";
    for (std::string line; std::getline(file, line);) {
      json record = json::parse(line);
      if (record.contains("leir")) programs_.push_back(record);
      if (record.contains("before")) pairs_.push_back(std::move(record));
    }
    for (const json& record : programs_) {
      if (record["variant"] == "small_f64") sides_[record["model"]] = Side(record);
    }
  }

  void RoundTrip(const std::string& key, const std::string& text, const SideInformation& side,
                 bool lenient = false) {
    SCOPED_TRACE(key);
    const auto program = ParsePublished(text, side, key, lenient);
    if (!program.ok()) {
      ADD_FAILURE() << program.error().message;
      return;
    }
    if (!lenient) {
      EXPECT_EQ(PrintPublished(*program), text);
    }
    const auto published = ParsePublished(PrintPublished(*program), side, key);
    ASSERT_TRUE(published.ok()) << published.error().message;
    EXPECT_TRUE(Equal(*published, *program));
    const std::string file = PrintFile(*program);
    const auto read = ParseFile(file, key);
    ASSERT_TRUE(read.ok()) << read.error().message << "\n" << file;
    EXPECT_TRUE(Equal(*read, *program));
    EXPECT_EQ(PrintFile(*read), file);
    const auto checked = Check(*program);
    EXPECT_TRUE(checked.ok()) << checked.error().message << "\n" << file;
  }

  std::vector<json> programs_, pairs_;
  std::map<std::string, SideInformation> sides_;
};

TEST_F(GoldensTest, ProgramsRoundTripAndCheck) {
  const std::set<std::string> unsupported = Unsupported();
  int count = 0;
  for (const json& record : programs_) {
    const std::string key = record["model"].get<std::string>() + "|" +
                            record["variant"].get<std::string>() + "|";
    if (unsupported.contains(key)) continue;
    RoundTrip(key, record["leir"], Side(record));
    ++count;
  }
  EXPECT_EQ(count + unsupported.size(), 404u);
}

TEST_F(GoldensTest, RewrittenProgramsRoundTripAndCheck) {
  for (const json& record : pairs_) {
    const std::string key = record["model"].get<std::string>() + "|" +
                            record["strategy"].get<std::string>() + "|";
    const SideInformation& side = sides_.at(record["model"]);
    const bool lenient = record["numeric_check"] == "unparse";
    RoundTrip(key + "before", record["before"], side);
    RoundTrip(key + "after", record["after"], side, lenient);
  }
}

}  // namespace
}  // namespace tw::leir
