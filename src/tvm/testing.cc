#include "tvm/testing.h"

#include <string>

#include "tvm/ffi.h"

namespace tw::tvm_api::testing {
namespace {

using List = ffi::Array<Any>;
using Dict = ffi::Map<ffi::String, Any>;

constexpr int64_t kSpatial = 0;  // of tirx.IterVar
constexpr int64_t kReduction = 2;

// Nodes of one function whose buffers all have the same element type.
class Builder {
 public:
  explicit Builder(DType dtype) : element_(ToDataType(dtype)), is_float_(IsFloat(dtype)) {}

  Any Int(int64_t value) const { return Call("ir.IntImm", kIndex, value, nullptr); }
  Any Value(double value) const {
    return is_float_ ? Call("ir.FloatImm", element_, value, nullptr)
                     : Call("ir.IntImm", element_, static_cast<int64_t>(value), nullptr);
  }
  Any Variable(const std::string& name) const {
    return Call("ir.Var", ffi::String(name), Call("ir.PrimType", kIndex), nullptr);
  }
  Any Buffer(const std::string& name, const std::vector<int64_t>& shape) const {
    List extents;
    for (int64_t extent : shape) extents.push_back(Int(extent));
    const Any type =
        Call("tirx.BufferType", ffi::String("global"), Call("ir.PrimType", element_), extents,
             List(), Int(0), int64_t{64}, int64_t{1}, nullptr, List(), nullptr);
    return Call("tirx.BufferVar", ffi::String(name), type, nullptr);
  }
  Any Load(const Any& buffer, const List& indices) const {
    return Call("tirx.BufferLoad", buffer, indices, nullptr);
  }
  Any Store(const Any& buffer, const Any& value, const List& indices) const {
    return Call("tirx.BufferStore", buffer, value, indices, nullptr);
  }
  Any Add(const Any& a, const Any& b) const { return Call("prim.Add", a, b, nullptr); }
  Any Mul(const Any& a, const Any& b) const { return Call("prim.Mul", a, b, nullptr); }
  Any Axis(const Any& variable, int64_t extent, int64_t kind) const {
    const Any range = Call("ir.Range_from_min_extent", Int(0), Int(extent), nullptr);
    return Call("tirx.IterVar", range, variable, kind, ffi::String(""), nullptr);
  }
  Any Point(const Any& buffer, const List& indices) const {
    List ranges;
    for (const Any& index : indices) {
      ranges.push_back(Call("ir.Range_from_min_extent", index, Int(1), nullptr));
    }
    return Call("tirx.BufferRegion", buffer, ranges);
  }
  Any Block(const std::string& name, const List& axes, const List& reads, const List& writes,
            const Any& body, const Any& init) const {
    return Call("s_tir.SBlock", axes, reads, writes, ffi::String(name), body, init, List(), List(),
                Dict(), nullptr);
  }
  Any Realize(const List& values, const Any& block) const {
    const Any always = Call("ir.IntImm", DLDataType{kDLBool, 8, 1}, int64_t{1}, nullptr);
    return Call("s_tir.SBlockRealize", values, always, block, nullptr);
  }
  Any Loop(const Any& variable, int64_t extent, const Any& body) const {
    return Call("tirx.For", variable, Int(0), Int(extent), int64_t{0}, body, nullptr, Dict(),
                nullptr, nullptr);
  }
  Module Finish(const List& parameters, const Any& body) const {
    const Any root = Block("root", List(), List(), List(), body, nullptr);
    const Any no_attributes = Call("ffi.MakeObjectFromPackedArgs", ffi::String("ir.DictAttrs"),
                                   ffi::String("__dict__"), Dict());
    Any function = Call("tirx.PrimFunc", parameters, Realize(List(), root), Call("ir.TypeMissing"),
                        no_attributes, nullptr);
    function =
        Call("ir.BaseFuncWithAttrs", function,
             Dict{{"global_symbol", ffi::String("main")}, {"tirx.noalias", true}, {"s_tir", true}});
    ffi::Map<Any, Any> functions;
    functions.Set(Call("ir.GlobalVar", ffi::String("main")), function);
    return Wrap<Module>(Call("ir.IRModule", functions, no_attributes, Dict()));
  }

 private:
  static constexpr DLDataType kIndex{kDLInt, 32, 1};
  DLDataType element_;
  bool is_float_;
};

}  // namespace

Module Matmul(int64_t m, int64_t n, int64_t k, DType dtype) {
  const Builder b(dtype);
  const Any A = b.Buffer("A", {m, k}), B = b.Buffer("B", {k, n}), C = b.Buffer("C", {m, n});
  const Any i = b.Variable("i"), j = b.Variable("j"), r = b.Variable("k");
  const Any vi = b.Variable("v_i"), vj = b.Variable("v_j"), vr = b.Variable("v_k");
  const List a_at{vi, vr}, b_at{vr, vj}, c_at{vi, vj};
  const Any product = b.Mul(b.Load(A, a_at), b.Load(B, b_at));
  const Any block =
      b.Block("C", {b.Axis(vi, m, kSpatial), b.Axis(vj, n, kSpatial), b.Axis(vr, k, kReduction)},
              {b.Point(A, a_at), b.Point(B, b_at)}, {b.Point(C, c_at)},
              b.Store(C, b.Add(b.Load(C, c_at), product), c_at), b.Store(C, b.Value(0), c_at));
  return b.Finish({A, B, C}, b.Loop(i, m, b.Loop(j, n, b.Loop(r, k, b.Realize({i, j, r}, block)))));
}

Module Elementwise(const std::vector<int64_t>& shape, double scale, double offset, DType dtype) {
  const Builder b(dtype);
  const Any A = b.Buffer("A", shape), B = b.Buffer("B", shape);
  List loops, at, axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    loops.push_back(b.Variable("i" + std::to_string(axis)));
    at.push_back(b.Variable("v_i" + std::to_string(axis)));
    axes.push_back(b.Axis(at[axis], shape[axis], kSpatial));
  }
  const Any value = b.Add(b.Mul(b.Load(A, at), b.Value(scale)), b.Value(offset));
  const Any block =
      b.Block("B", axes, {b.Point(A, at)}, {b.Point(B, at)}, b.Store(B, value, at), nullptr);
  Any body = b.Realize(loops, block);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    body = b.Loop(loops[axis], shape[axis], body);
  }
  return b.Finish({A, B}, body);
}

}  // namespace tw::tvm_api::testing
