// What a program must compute: seeded inputs and the expected outputs with their tolerances.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "leir/ast.h"
#include "tvm/module.h"

namespace tw::verify {

// How inputs are drawn. Every value depends only on (seed, argument index, element index), and is
// the same on every machine.
enum class Distribution {
  kUniform,   // floats in [-1, 1), signed integers -4 to 3, unsigned ones 0 to 7
  kNormal,    // floats of mean 0 and variance 1, bell-shaped, within +-3.47; integers as kUniform
  kPositive,  // floats in [0.5, 1.5), integers 0 to 3
};

// Fills `data` with `count` elements of `dtype` for argument `argument`.
void FillInput(Distribution distribution, uint64_t seed, int argument, DType dtype, int64_t count,
               void* data);

// Expected values of one output: at `index` (flat, row-major), or everywhere when `index` is empty.
struct ExpectedOutput {
  int argument = 0;
  std::vector<int64_t> index;
  std::vector<double> value;
  double scale = 1;  // root mean square of the expected values: what an absolute error is measured
                     // against
};

struct Reference {
  uint64_t seed = 1;
  Distribution distribution = Distribution::kUniform;
  std::vector<tvm_api::Argument> arguments;
  std::vector<ExpectedOutput> outputs;
  DType precision =
      DType::kF64;  // of the temporaries: the float type with the fewest bits among them
  int64_t reduction_length = 1;  // longest chain of accumulations behind one output
  std::string oracle;            // "interpreter" or "unscheduled"

  Status Save(const std::filesystem::path& path) const;
  static Result<Reference> Load(const std::filesystem::path& path);
};

// The arguments of the program's PrimFunc: its tensors but the temporaries, in order.
std::vector<tvm_api::Argument> ArgumentsOf(const leir::Program& program);

// kUniform where the signs of the program's values show that no logarithm, root, quotient or power
// can be undefined or huge for inputs of any sign; else, and for inputs that are indices,
// kPositive.
Distribution DefaultDistribution(const leir::Program& program);

// Expected outputs by the LEIR interpreter in double precision: all of them where that takes at
// most `max_statements` statement executions, else at some `points` points of each output that lie
// in a few rows (all indices but the last): the first and the last one where the bound allows two,
// the rest drawn with `seed`. At least one row is computed, so `max_statements` bounds the work up
// to the cost of one row.
Result<Reference> ReferenceFromInterpreter(const leir::Program& program, uint64_t seed,
                                           Distribution distribution, int points,
                                           int64_t max_statements);

// Expected outputs are those that `outputs` holds (one buffer per output argument, from the
// unscheduled compiled program).
Reference ReferenceFromOutputs(const std::vector<tvm_api::Argument>& arguments, uint64_t seed,
                               Distribution distribution, const std::vector<const void*>& outputs);

// Largest error allowed at one element, for an expected value and its output's scale: 0 for
// integers, else
//   min(eps * (16 + 4 sqrt(reduction_length)), 1/8) * max(|expected|, scale)
// with the eps of `precision`, but at least the smallest normal number. Reasons:
// docs/verification.md.
double Tolerance(DType precision, int64_t reduction_length, double expected, double scale);

// What a float type makes of a number too large for it: an infinity. Other numbers stay as they
// are.
double Saturate(DType dtype, double value);

// Of the finite values; 0 when there is none.
double RootMeanSquare(const std::vector<double>& values);

// Compares one output buffer. Returns the largest error over its tolerance (<= 1 is right; infinity
// where one side is NaN and the other is not, NaN equals NaN) and where it is.
struct Comparison {
  double worst = 0;
  int64_t index = 0;
  double got = 0;
  double expected = 0;
};
Comparison Compare(const Reference& reference, const ExpectedOutput& output, const void* data);

}  // namespace tw::verify
