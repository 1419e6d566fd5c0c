// Every program of the goldens lowers; the small ones build, run and agree with the interpreter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "leir/parser.h"
#include "lower/lower.h"
#include "lower/testing/agreement.h"
#include "tvm/runtime.h"

namespace tw::lower {
namespace {

struct Golden {
  std::string name;
  bool small = false;
  std::string text;
  leir::SideInformation side;
};

std::string GoldensPath() {
  const char* path = std::getenv("TENSORWRIGHT_GOLDENS");
  return path != nullptr ? path : TW_SOURCE_DIR "/../shared/leir-goldens.jsonl";
}

std::vector<Golden> ReadGoldens() {
  std::vector<Golden> goldens;
  std::ifstream file(GoldensPath());
  std::string line;
  while (std::getline(file, line)) {
    const nlohmann::json row = nlohmann::json::parse(line);
    if (!row.contains("leir") || !row.contains("known_names")) continue;
    Golden g;
    g.small = row.contains("shape_args");
    g.name = row["model"].get<std::string>() + (g.small ? " small" : "");
    g.text = row["leir"];
    const std::set<std::string> outputs = row["output_names"].get<std::set<std::string>>();
    for (std::size_t i = 0; i < row["known_names"].size(); ++i) {
      leir::Tensor t;
      t.name = row["known_names"][i];
      const std::string dtype = row["known_dtypes"][i];
      t.dtype = *ParseDType(dtype.substr(dtype.find('.') + 1));
      t.shape = row["known_shapes"][i].get<std::vector<int64_t>>();
      t.role = outputs.contains(t.name) ? leir::Role::kOutput : leir::Role::kInput;
      g.side.arguments.push_back(t);
    }
    goldens.push_back(std::move(g));
  }
  return goldens;
}

// Programs that cannot be lowered or compared, each with its reason: "model: reason" a line.
std::map<std::string, std::string> Unsupported() {
  std::map<std::string, std::string> reasons;
  std::ifstream file(TW_SOURCE_DIR "/src/lower/goldens_unsupported.txt");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && line[0] != '#')
      reasons[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return reasons;
}

class Goldens : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kShards = 4;
  void SetUp() override {
    if (!std::ifstream(GoldensPath())) GTEST_SKIP() << "no goldens at " << GoldensPath();
    auto loaded = tvm_api::Load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }
};

TEST_F(Goldens, AllLowerInBothModes) {
  const auto unsupported = Unsupported();
  for (const Golden& g : ReadGoldens()) {
    if (unsupported.contains(g.name)) continue;
    auto program = leir::ParsePublished(g.text, g.side, g.name);
    ASSERT_TRUE(program.ok()) << program.error().message;
    for (Mode mode : {Mode::kForScheduling, Mode::kAsWritten}) {
      auto module = Lower(*program, mode);
      EXPECT_TRUE(module.ok()) << g.name << ": " << module.error().message;
    }
  }
}

TEST_P(Goldens, SmallOnesAgreeWithTheInterpreter) {
  const auto unsupported = Unsupported();
  int number = 0;
  for (const Golden& g : ReadGoldens()) {
    if (!g.small || unsupported.contains(g.name)) continue;
    if (number++ % kShards != GetParam()) continue;
    auto program = leir::ParsePublished(g.text, g.side, g.name);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(testing::Disagreement(*program, Mode::kForScheduling), "") << g.name;
  }
  EXPECT_GT(number, 150);
}

TEST_P(Goldens, SmallOnesAsWrittenAgreeToo) {
  const auto unsupported = Unsupported();
  int number = 0;
  for (const Golden& g : ReadGoldens()) {
    if (!g.small || unsupported.contains(g.name)) continue;
    // Every eighth is enough here: the statements are the same, only loop kinds differ.
    if (number++ % (8 * kShards) != GetParam()) continue;
    auto program = leir::ParsePublished(g.text, g.side, g.name);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(testing::Disagreement(*program, Mode::kAsWritten), "") << g.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, Goldens, ::testing::Range(0, 4));

}  // namespace
}  // namespace tw::lower
