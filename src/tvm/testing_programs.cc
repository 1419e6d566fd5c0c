#include "tvm/testing_programs.h"

#include <functional>
#include <string>
#include <vector>

#include "tvm/ffi.h"

namespace tw::tvm_api::testing {
namespace {

using List = ffi::Array<Any>;

constexpr DLDataType kIndex{kDLInt, 32, 1};
constexpr DLDataType kElement{kDLFloat, 32, 1};
constexpr int64_t kSpatial = 0, kReduction = 2;  // of tirx.IterVar

Any Int(int64_t value) { return Call("ir.IntImm", kIndex, value, nullptr); }

List Shape(const std::vector<int64_t>& extents) {
  List shape;
  for (int64_t extent : extents) shape.push_back(Int(extent));
  return shape;
}

Any Input(const std::string& name, const std::vector<int64_t>& extents) {
  return Call("te.Placeholder", Shape(extents), Call("ir.PrimType", kElement), ffi::String(name));
}

struct Axis {
  Any var;
  Any iter;
};

Axis NewAxis(const std::string& name, int64_t extent, int64_t kind) {
  const Any var = Call("ir.Var", ffi::String(name), Call("ir.PrimType", kIndex), nullptr);
  const Any range = Call("ir.Range_from_min_extent", Int(0), Int(extent), nullptr);
  return {var, Call("tirx.IterVar", range, var, kind, ffi::String(""), nullptr)};
}

Any At(const Any& tensor, const List& indices) { return Call("te.TensorLoad", tensor, indices); }

Any Mul(const Any& a, const Any& b) { return Call("prim.Mul", a, b, nullptr); }

Any Exp(const Any& x) {
  return Call("ir.Call", Call("ir.PrimType", kElement), Call("ir.GetOp", ffi::String("tirx.exp")),
              List{x}, nullptr, List(), nullptr);
}

Any Compute(const std::string& name, const std::vector<int64_t>& shape,
            const std::function<Any(const List&)>& value) {
  List axes, indices;
  const char* const names[] = {"i", "j"};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Axis axis = NewAxis(names[d], shape[d], kSpatial);
    axes.push_back(axis.iter);
    indices.push_back(axis.var);
  }
  const Any op =
      Call("te.ComputeOp", ffi::String(name), ffi::String(""), nullptr, axes, List{value(indices)});
  return Call("te.OpGetOutput", op, int64_t{0});
}

// The sum of `term` over an axis "k".
Any Sum(int64_t extent, const std::function<Any(const Any&)>& term) {
  const Any type = Call("ir.PrimType", kElement);
  const Any x = Call("ir.Var", ffi::String("x"), type, nullptr);
  const Any y = Call("ir.Var", ffi::String("y"), type, nullptr);
  const Any zero = Call("ir.FloatImm", kElement, 0.0, nullptr);
  const Any add = Call("te.CommReducer", List{x}, List{y}, List{Call("prim.Add", x, y, nullptr)},
                       List{zero}, nullptr);
  const Axis k = NewAxis("k", extent, kReduction);
  const Any always = Call("ir.IntImm", DLDataType{kDLBool, 8, 1}, int64_t{1}, nullptr);
  return Call("te.Reduce", add, List{term(k.var)}, List{k.iter}, always, int64_t{0}, List(),
              nullptr);
}

Any MatmulOf(const std::string& name, const Any& a, const Any& b, int64_t m, int64_t n, int64_t k) {
  return Compute(name, {m, n}, [&](const List& at) {
    return Sum(k, [&](const Any& r) { return Mul(At(a, List{at[0], r}), At(b, List{r, at[1]})); });
  });
}

Module Finish(const List& tensors) {
  Any function = Call("te.CreatePrimFunc", tensors, nullptr);
  function = Call("ir.BaseFuncWithAttrs", function,
                  ffi::Map<ffi::String, Any>{{"global_symbol", ffi::String("main")}});
  const Any no_attributes = Call("ffi.MakeObjectFromPackedArgs", ffi::String("ir.DictAttrs"),
                                 ffi::String("__dict__"), ffi::Map<ffi::String, Any>());
  ffi::Map<Any, Any> functions;
  functions.Set(Call("ir.GlobalVar", ffi::String("main")), function);
  return Wrap<Module>(Call("ir.IRModule", functions, no_attributes, ffi::Map<ffi::String, Any>()));
}

Any RowSum(const std::string& name, const Any& a, int64_t m, int64_t k) {
  return Compute(name, {m}, [&](const List& at) {
    return Sum(k, [&](const Any& r) { return At(a, List{at[0], r}); });
  });
}

}  // namespace

Module NormalizedMatmul(int64_t m, int64_t n, int64_t k) {
  const Any a = Input("A", {m, k}), v = Input("V", {k, n});
  const Any s = RowSum("S", a, m, k);
  const Any p = Compute("P", {m, k}, [&](const List& at) {
    return Call("prim.Div", At(a, at), At(s, List{at[0]}), nullptr);
  });
  return Finish({a, v, MatmulOf("O", p, v, m, n, k)});
}

Module GatedMlp(int64_t m, int64_t n, int64_t k) {
  const Any x = Input("X", {m, k}), g = Input("G", {k, n}), u = Input("U", {k, n});
  const Any d = Input("D", {n, k});
  const Any gate = MatmulOf("gate", x, g, m, n, k), up = MatmulOf("up", x, u, m, n, k);
  const Any act =
      Compute("act", {m, n}, [&](const List& at) { return Mul(Exp(At(gate, at)), At(up, at)); });
  return Finish({x, g, u, d, MatmulOf("Y", act, d, m, k, n)});
}

Module TwoOutputs(int64_t m, int64_t n, int64_t k) {
  const Any a = Input("A", {m, k}), b = Input("B", {k, n});
  return Finish({a, b, MatmulOf("C", a, b, m, n, k), RowSum("R", a, m, k)});
}

}  // namespace tw::tvm_api::testing
