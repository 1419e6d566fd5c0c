// The numeric oracle: what a program computes, in double precision.
//
// Floating-point tensors are held as doubles and never rounded to their declared type; inputs of
// f16, bf16 and f32 are converted exactly. Integer and bool tensors are exact in 64 bits and wrap
// to their declared type when stored. An operation is done in integers when all its operands are
// integers, indices or integer literals and it is not `/`; else in double. The branch of a select
// that is not taken is not evaluated. Integer // and % round towards minus infinity.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "leir/ast.h"

namespace tw::leir {

// One input: row-major elements of `dtype`, which stay the caller's.
struct TensorData {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};
using Inputs = std::map<std::string, TensorData>;

// Results: `real` for floating-point tensors, `integer` for the others, row-major.
struct TensorValues {
  DType dtype = DType::kF64;
  std::vector<int64_t> shape;
  std::vector<double> real;
  std::vector<int64_t> integer;
  double At(std::size_t i) const {
    return real.empty() ? static_cast<double>(integer[i]) : real[i];
  }
};

// The outputs, whole. Errors are kUsage: what Check says, an input that is missing or of another
// type or shape, a gathered index outside its tensor, not enough memory.
Result<std::map<std::string, TensorValues>> Evaluate(const Program& program, const Inputs& inputs);

// Some elements of one output or temporary, by flat row-major index.
struct Request {
  std::string tensor;
  std::vector<int64_t> elements;
};

// The requested elements, one TensorValues of shape {count} a request. Computes only the elements
// that these depend on, found backwards through the program; memory and time grow with their number
// and with the iterations behind them, not with the tensors. A temporary has its last value.
Result<std::vector<TensorValues>> EvaluatePoints(const Program& program, const Inputs& inputs,
                                                 const std::vector<Request>& requests);

}  // namespace tw::leir
