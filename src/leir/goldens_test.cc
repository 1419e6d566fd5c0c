// Every program of the published data set parses, prints, reads back and checks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "leir/checker.h"
#include "leir/interpreter.h"
#include "leir/parser.h"
#include "leir/printer.h"

namespace tw::leir {
namespace {

using nlohmann::json;

std::filesystem::path GoldensPath() {
  if (const char* path = std::getenv("TENSORWRIGHT_GOLDENS")) return path;
  return std::filesystem::path(TW_SOURCE_DIR) / "../shared/leir-goldens.jsonl";
}

// `LINE SIDE` of the records that are not supported.
std::set<std::string> Unsupported() {
  std::ifstream file(std::filesystem::path(TW_SOURCE_DIR) / "src/leir/goldens_unsupported.txt");
  std::set<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') keys.insert(line.substr(0, line.find(':')));
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

// Seeded random inputs: floats, integers 0 or 1 (labels), bools a causal mask.
struct RandomInputs {
  // `low`: of the floats, which are in [low, low + 2).
  explicit RandomInputs(const SideInformation& side, double low = -1) {
    Random random(7);
    for (const Tensor& tensor : side.arguments) {
      if (tensor.role == Role::kOutput) continue;
      int64_t elements = 1;
      for (int64_t extent : tensor.shape) elements *= extent;
      std::vector<char>& bytes = data[tensor.name];
      bytes.resize(elements * SizeOf(tensor.dtype));
      for (int64_t i = 0; i < elements; ++i) {
        const double value = low + 2 * random.Unit();
        const auto integer = static_cast<int64_t>(random.Below(2));
        char* at = bytes.data() + i * SizeOf(tensor.dtype);
        if (tensor.dtype == DType::kF64) std::memcpy(at, &value, 8);
        if (tensor.dtype == DType::kI64) std::memcpy(at, &integer, 8);
        if (tensor.dtype == DType::kBool) {
          const int64_t width = tensor.shape.back();
          const int64_t height =
              tensor.shape.size() > 1 ? tensor.shape[tensor.shape.size() - 2] : 1;
          *at = i % width > i / width % height ? 1 : 0;
        }
      }
      inputs[tensor.name] = {tensor.dtype, tensor.shape, bytes.data()};
    }
  }
  std::map<std::string, std::vector<char>> data;
  Inputs inputs;
};

bool Close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-6 * std::max({1.0, std::abs(a), std::abs(b)});
}

class GoldensTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(GoldensPath());
    if (!file) GTEST_SKIP() << "no goldens at " << GoldensPath() << "; set TENSORWRIGHT_GOLDENS";
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      json record = json::parse(line);
      record["number"] = ++number;
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

  bool IsUnsupported(const json& record, const std::string& side) const {
    return unsupported_.contains(std::to_string(record["number"].get<int>()) + " " + side);
  }

  std::set<std::string> unsupported_ = Unsupported();
  std::vector<json> programs_, pairs_;
  std::map<std::string, SideInformation> sides_;
};

std::string Key(const json& record, const std::string& side = "") {
  return record["model"].get<std::string>() + "|" + record["variant"].get<std::string>() + "|" +
         (record.contains("strategy") ? record["strategy"].get<std::string>() + "|" + side : "");
}

TEST_F(GoldensTest, ProgramsRoundTripAndCheck) {
  int count = 0;
  for (const json& record : programs_) {
    const std::string text = record["leir"];
    RoundTrip(Key(record), text, Side(record));
    EXPECT_EQ(PrintPublished(*ParsePublished(text, Side(record))), text);
    ++count;
  }
  EXPECT_EQ(count, 404);
}

TEST_F(GoldensTest, RewrittenProgramsRoundTripAndCheck) {
  for (const json& record : pairs_) {
    const SideInformation& side = sides_.at(record["model"]);
    const bool lenient = record["numeric_check"] == "unparse";
    if (!IsUnsupported(record, "before")) RoundTrip(Key(record, "before"), record["before"], side);
    if (!IsUnsupported(record, "after")) {
      RoundTrip(Key(record, "after"), record["after"], side, lenient);
    }
  }
}

// The list is exact: what it names is refused by the checker.
TEST_F(GoldensTest, UnsupportedProgramsAreRefused) {
  std::size_t refused = 0;
  for (const json& record : pairs_) {
    for (const std::string side : {"before", "after"}) {
      if (!IsUnsupported(record, side)) continue;
      const auto program = ParsePublished(record[side].get<std::string>(),
                                          sides_.at(record["model"]), Key(record, side), true);
      ASSERT_TRUE(program.ok()) << program.error().message;
      EXPECT_FALSE(Check(*program).ok()) << Key(record, side);
      ++refused;
    }
  }
  EXPECT_EQ(refused, unsupported_.size());
}

// The rewritten program computes what the original does, or not, as recorded.
TEST_F(GoldensTest, PairsEvaluateAsRecorded) {
  std::map<std::string, int> verdicts;
  for (const json& record : pairs_) {
    SCOPED_TRACE(Key(record));
    if (IsUnsupported(record, "before") || IsUnsupported(record, "after")) continue;
    const SideInformation& side = sides_.at(record["model"]);
    // log a + log c = log(a c) is meant for positive numbers.
    const bool positive = record["model"].get<std::string>().starts_with("log");
    const RandomInputs random(side, positive ? 0.5 : -1);
    const auto before = ParsePublished(record["before"].get<std::string>(), side, "before");
    const auto after = ParsePublished(record["after"].get<std::string>(), side, "after", true);
    ASSERT_TRUE(before.ok() && after.ok());
    const auto expected = Evaluate(*before, random.inputs);
    const auto got = Evaluate(*after, random.inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    ASSERT_TRUE(got.ok()) << got.error().message;
    bool same = true;
    for (const auto& [name, values] : *expected) {
      const TensorValues& other = got->at(name);
      const std::size_t count = std::max(values.real.size(), values.integer.size());
      ASSERT_EQ(count, std::max(other.real.size(), other.integer.size()));
      for (std::size_t i = 0; i < count; ++i) {
        same = same && Close(values.At(i), other.At(i));
      }
    }
    EXPECT_EQ(same, record["numeric_check"] != "wrong");
    ++verdicts[record["numeric_check"]];
  }
  EXPECT_EQ(verdicts["wrong"], 8);
  EXPECT_GE(verdicts["ok"], 618);
}

TEST_F(GoldensTest, PointsEqualTheWhole) {
  Random random(11);
  const auto compare = [&](const std::string& key, const std::string& text,
                           const SideInformation& side) {
    SCOPED_TRACE(key);
    const RandomInputs data(side);
    const auto program = ParsePublished(text, side, key, true);
    ASSERT_TRUE(program.ok());
    const auto whole = Evaluate(*program, data.inputs);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    std::vector<Request> requests;
    for (const auto& [name, values] : *whole) {
      Request request{name, {}};
      const std::size_t count = std::max(values.real.size(), values.integer.size());
      for (int i = 0; i < 5; ++i) request.elements.push_back(random.Below(count));
      requests.push_back(std::move(request));
    }
    const auto points = EvaluatePoints(*program, data.inputs, requests);
    ASSERT_TRUE(points.ok()) << points.error().message;
    for (std::size_t r = 0; r < requests.size(); ++r) {
      for (std::size_t i = 0; i < requests[r].elements.size(); ++i) {
        const double a = (*points)[r].At(i);
        const double b = whole->at(requests[r].tensor).At(requests[r].elements[i]);
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " and " << b;
      }
    }
  };
  for (const json& record : programs_) {
    if (record["variant"] == "small_f64") compare(Key(record), record["leir"], Side(record));
  }
  for (const json& record : pairs_) {
    if (IsUnsupported(record, "after")) continue;
    compare(Key(record, "after"), record["after"], sides_.at(record["model"]));
  }
}

}  // namespace
}  // namespace tw::leir
