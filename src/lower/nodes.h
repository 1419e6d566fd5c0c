// TIR nodes by TVM's own constructors. Everything here throws what TVM throws; callers wrap it in
// Catch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "tvm/ffi.h"

namespace tw::lower {

using tvm_api::Any;
using List = tvm_api::ffi::Array<Any>;

// Values of tirx.IterVar's and tirx.For's kinds, as TVM numbers them.
enum class Axis : int64_t { kSpatial = 0, kReduction = 2, kOrdered = 3 };
enum class ForKind : int64_t { kSerial = 0, kParallel = 1, kVectorized = 2, kUnrolled = 3 };

Any Integer(DType type, int64_t value);
Any Real(DType type, double value);
Any Variable(const std::string& name, DType type);
Any Cast(DType to, const Any& value);
// A binary constructor by its name ("prim.Add", "prim._OpMax", ...).
Any Binary(const char* constructor, const Any& a, const Any& b);
// A pure intrinsic of one operand ("tirx.exp", ...).
Any Intrinsic(const char* op, DType type, const Any& value);
// Evaluates only the branch that is taken.
Any IfThenElse(const Any& condition, const Any& then, const Any& otherwise);

Any Buffer(const std::string& name, DType type, const std::vector<int64_t>& shape, DType index);
Any Load(const Any& buffer, const List& indices);
Any Store(const Any& buffer, const Any& value, const List& indices);
Any PointRange(const Any& at, DType index);
Any WholeRange(int64_t extent, DType index);
Any Region(const Any& buffer, const List& ranges);
Any BlockAxis(const Any& variable, int64_t extent, Axis kind, DType index);
// `init` may be null.
Any Block(const std::string& name, const List& axes, const List& reads, const List& writes,
          const Any& body, const Any& init, const List& allocated);
Any Realize(const List& values, const Any& block);
Any Loop(const Any& variable, int64_t extent, ForKind kind, DType index, const Any& body);
Any Sequence(const List& statements);
// An IRModule with the one PrimFunc "main".
Any MainModule(const List& parameters, const Any& body);

}  // namespace tw::lower
