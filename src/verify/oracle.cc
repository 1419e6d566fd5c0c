#include <algorithm>
#include <set>

#include "base/random.h"
#include "leir/counts.h"
#include "leir/interpreter.h"
#include "leir/walk.h"
#include "verify/reference.h"

namespace tw::verify {
namespace {

// Points of a large output lie in a few rows (all indices but the last): points of a row share what
// is behind them, as the scores of one query do in attention.
constexpr int64_t kRows = 16;

int64_t Elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

// `wanted` numbers below `count`: both ends, the rest drawn.
std::set<int64_t> Spread(int64_t wanted, int64_t count, Random& random) {
  std::set<int64_t> chosen{0, count - 1};
  wanted = std::min(wanted, count);
  while (static_cast<int64_t>(chosen.size()) < wanted) {
    chosen.insert(static_cast<int64_t>(random.Below(static_cast<uint64_t>(count))));
  }
  return chosen;
}

std::vector<int64_t> ChoosePoints(const std::vector<int64_t>& shape, int points,
                                  int64_t affordable_rows, Random& random) {
  const int64_t width = shape.empty() ? 1 : shape.back();
  const int64_t rows = Elements(shape) / width;
  // Rows that are short get more company, as far as that is affordable.
  const int64_t wanted_rows = std::max(kRows, points / width);
  const auto chosen_rows = Spread(
      std::clamp(wanted_rows, int64_t{1}, std::max<int64_t>(affordable_rows, 1)), rows, random);
  std::vector<int64_t> flat;
  for (int64_t row : chosen_rows) {
    const int64_t per_row = points / static_cast<int64_t>(chosen_rows.size()) + 1;
    for (int64_t column : Spread(per_row, width, random)) flat.push_back(row * width + column);
    // One row may cost as much as is affordable; both ends of the output are worth at most one
    // more.
    if (affordable_rows <= 1) break;
  }
  return flat;
}

struct Inputs {
  std::vector<std::vector<char>> memory;
  leir::Inputs by_name;
};

Inputs MakeInputs(const Reference& reference) {
  Inputs inputs;
  for (std::size_t i = 0; i < reference.arguments.size(); ++i) {
    const tvm_api::Argument& a = reference.arguments[i];
    if (a.is_output) continue;
    const int64_t count = Elements(a.shape);
    inputs.memory.emplace_back(static_cast<std::size_t>(count) * SizeOf(a.dtype));
    FillInput(reference.distribution, reference.seed, static_cast<int>(i), a.dtype, count,
              inputs.memory.back().data());
    inputs.by_name[a.name] = {a.dtype, a.shape, inputs.memory.back().data()};
  }
  return inputs;
}

DType Precision(const leir::Program& program) {
  DType coarsest = DType::kF64;
  for (const leir::Tensor& t : program.tensors) {
    if (t.role == leir::Role::kTemporary && Epsilon(t.dtype) > Epsilon(coarsest))
      coarsest = t.dtype;
  }
  return coarsest;
}

}  // namespace

std::vector<tvm_api::Argument> ArgumentsOf(const leir::Program& program) {
  std::vector<tvm_api::Argument> arguments;
  for (const leir::Tensor& t : program.tensors) {
    if (t.role == leir::Role::kTemporary) continue;
    arguments.push_back({t.name, t.dtype, t.shape, t.role == leir::Role::kOutput});
  }
  return arguments;
}

Result<Reference> ReferenceFromInterpreter(const leir::Program& program, uint64_t seed,
                                           Distribution distribution, int points,
                                           int64_t max_statements) {
  Reference reference;
  reference.seed = seed;
  reference.distribution = distribution;
  reference.arguments = ArgumentsOf(program);
  reference.precision = Precision(program);
  reference.reduction_length = leir::ReductionLength(program);
  reference.oracle = "interpreter";
  const Inputs inputs = MakeInputs(reference);
  const int64_t statements = leir::CountStatements(program);
  const bool whole = statements <= max_statements;
  Random random(seed);
  std::vector<leir::Request> requests;
  for (std::size_t i = 0; i < reference.arguments.size(); ++i) {
    const tvm_api::Argument& a = reference.arguments[i];
    if (!a.is_output) continue;
    ExpectedOutput expected;
    expected.argument = static_cast<int>(i);
    if (!whole) {
      const int64_t width = a.shape.empty() ? 1 : a.shape.back();
      const int64_t per_row = std::max<int64_t>(statements / (Elements(a.shape) / width), 1);
      expected.index = ChoosePoints(a.shape, points, max_statements / per_row, random);
    }
    requests.push_back({a.name, expected.index});
    reference.outputs.push_back(std::move(expected));
  }
  std::vector<leir::TensorValues> values;
  if (whole) {
    TW_TRY(auto outputs, leir::Evaluate(program, inputs.by_name));
    for (const leir::Request& r : requests) values.push_back(std::move(outputs.at(r.tensor)));
  } else {
    TW_TRY(values, leir::EvaluatePoints(program, inputs.by_name, requests));
  }
  for (std::size_t o = 0; o < values.size(); ++o) {
    const std::size_t count = std::max(values[o].real.size(), values[o].integer.size());
    for (std::size_t i = 0; i < count; ++i) {
      reference.outputs[o].value.push_back(Saturate(values[o].dtype, values[o].At(i)));
    }
    reference.outputs[o].scale = RootMeanSquare(reference.outputs[o].value);
  }
  return reference;
}

}  // namespace tw::verify
