// A TVM IRModule with one schedulable PrimFunc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "tvm/object.h"

namespace tw::tvm_api {

// One argument of the PrimFunc, in order.
struct Argument {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  bool is_output = false;  // some block writes it
};

class Module : public Object {
 public:
  using Object::Object;
  explicit Module(Object o) : Object(std::move(o)) {}

  // TVM's JSON graph, as `tvm.ir.save_json` prints it. Errors are kUsage: not JSON, not an
  // IRModule, no or several PrimFuncs, an argument without a constant shape (named), an element
  // type we do not know.
  static Result<Module> FromJson(const std::string& json);
  std::string ToJson() const;
  // TVMScript. Needs no Python.
  std::string Script() const;
  // Structural hash: equal for modules that differ only in variable names.
  uint64_t StructuralHash() const;
  bool StructuralEqual(const Module& other) const;
  Result<std::vector<Argument>> Arguments() const;
  // The longest chain of accumulations that a result may have behind it, for error bounds: the
  // extents of each block's reduction axes multiplied, and summed over all blocks (which bounds
  // every chain). At least 1.
  Result<int64_t> ReductionLength() const;
  std::string FunctionName() const;  // "main"
};

}  // namespace tw::tvm_api
