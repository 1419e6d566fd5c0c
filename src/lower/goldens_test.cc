// Every program of the goldens lowers; the small ones build, run and agree with the interpreter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "leir/parser.h"
#include "lower/lower.h"
#include "tvm/build.h"
#include "tvm/runtime.h"
#include "tvm/target.h"

#include "leir/interpreter.h"

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

// Values between 0.1 and 0.9: inside the domain of every function, away from ties, small sums.
double InputValue(std::size_t argument, int64_t i) {
  uint64_t x = (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15 + argument * 0x94d049bb133111eb;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9;
  return 0.1 + 0.8 * static_cast<double>(x >> 40) / static_cast<double>(1 << 24);
}

struct Memory {
  std::vector<std::vector<double>> storage;  // aligned enough for all types
  std::vector<tvm_api::TensorView> views;
  leir::Inputs inputs;
};

Memory Allocate(const leir::Program& program) {
  Memory m;
  for (const leir::Tensor& t : program.tensors) {
    if (t.role == leir::Role::kTemporary) continue;
    int64_t count = 1;
    for (int64_t extent : t.shape) count *= extent;
    m.storage.emplace_back(static_cast<std::size_t>(count) + 16);
    auto address = reinterpret_cast<uintptr_t>(m.storage.back().data());
    void* data = reinterpret_cast<void*>((address + 63) / 64 * 64);
    for (int64_t i = 0; i < count; ++i) {
      const double value = InputValue(m.storage.size(), i);
      switch (t.dtype) {
        case DType::kF32:
          static_cast<float*>(data)[i] = static_cast<float>(value);
          break;
        case DType::kF64:
          static_cast<double*>(data)[i] = value;
          break;
        case DType::kI64:
          static_cast<int64_t*>(data)[i] = static_cast<int64_t>(value * 10) % 3;
          break;
        case DType::kBool:
          static_cast<uint8_t*>(data)[i] = value > 0.5;
          break;
        default:
          ADD_FAILURE() << "a golden with another type";
      }
    }
    m.views.push_back({data, t.dtype, t.shape});
    if (t.role != leir::Role::kOutput) m.inputs[t.name] = {t.dtype, t.shape, data};
  }
  return m;
}

double Got(const tvm_api::TensorView& view, std::size_t i) {
  switch (view.dtype) {
    case DType::kF32:
      return static_cast<const float*>(view.data)[i];
    case DType::kF64:
      return static_cast<const double*>(view.data)[i];
    case DType::kI64:
      return static_cast<double>(static_cast<const int64_t*>(view.data)[i]);
    default:
      return static_cast<const uint8_t*>(view.data)[i];
  }
}

// "" when the compiled program agrees with the interpreter.
std::string Disagreement(const leir::Program& program, Mode mode) {
  auto module = Lower(program, mode);
  if (!module.ok()) return module.error().message;
  auto target = tvm_api::Target::Parse("llvm", 1);
  if (!target.ok()) return target.error().message;
  auto built = tvm_api::Build(*module, *target);
  if (!built.ok()) return built.error().message;
  Memory memory = Allocate(program);
  auto expected = leir::Evaluate(program, memory.inputs);
  if (!expected.ok()) return expected.error().message;
  if (Status status = built->Run(memory.views); !status.ok()) return status.error().message;
  std::size_t argument = 0;
  for (const leir::Tensor& t : program.tensors) {
    if (t.role == leir::Role::kTemporary) continue;
    const tvm_api::TensorView& view = memory.views[argument++];
    if (t.role != leir::Role::kOutput) continue;
    const leir::TensorValues& want = expected->at(t.name);
    const std::size_t count = std::max(want.real.size(), want.integer.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double a = Got(view, i), b = want.At(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b || std::abs(a - b) <= 1e-9 + 1e-7 * std::abs(b)) continue;
      if (t.dtype == DType::kF32 && std::abs(a - b) <= 1e-4 * (1 + std::abs(b))) continue;
      return fmt::format("{}[{}] is {}, expected {}", t.name, i, a, b);
    }
  }
  return "";
}

class Goldens : public testing::TestWithParam<int> {
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
    EXPECT_EQ(Disagreement(*program, Mode::kForScheduling), "") << g.name;
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
    EXPECT_EQ(Disagreement(*program, Mode::kAsWritten), "") << g.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, Goldens, testing::Range(0, 4));

}  // namespace
}  // namespace tw::lower
