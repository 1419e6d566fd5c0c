#include "lower/nodes.h"

namespace tw::lower {

using tvm_api::Call;
namespace ffi = tvm_api::ffi;

namespace {

using Dict = ffi::Map<ffi::String, Any>;
constexpr DLDataType kBool{kDLBool, 8, 1};

Any Type(DType type) { return Call("ir.PrimType", tvm_api::ToDataType(type)); }

}  // namespace

Any Integer(DType type, int64_t value) {
  return Call("ir.IntImm", type == DType::kBool ? kBool : tvm_api::ToDataType(type), value,
              nullptr);
}
Any Real(DType type, double value) {
  return Call("ir.FloatImm", tvm_api::ToDataType(type), value, nullptr);
}
Any Variable(const std::string& name, DType type) {
  return Call("ir.Var", ffi::String(name), Type(type), nullptr);
}
Any Cast(DType to, const Any& value) { return Call("prim._cast", Type(to), value, nullptr); }
Any Binary(const char* constructor, const Any& a, const Any& b) {
  return Call(constructor, a, b, nullptr);
}
Any Intrinsic(const char* op, DType type, const Any& value) {
  return Call("ir.Call", Type(type), Call("ir.GetOp", ffi::String(op)), List{value}, nullptr,
              List(), nullptr);
}
Any IfThenElse(const Any& condition, const Any& then, const Any& otherwise) {
  return Call("prim._OpIfThenElse", condition, then, otherwise, nullptr);
}

Any Buffer(const std::string& name, DType type, const std::vector<int64_t>& shape, DType index) {
  List extents;
  for (int64_t extent : shape) extents.push_back(Integer(index, extent));
  const Any buffer_type =
      Call("tirx.BufferType", ffi::String("global"), Type(type), extents, List(), Integer(index, 0),
           int64_t{64}, int64_t{1}, nullptr, List(), nullptr);
  return Call("tirx.BufferVar", ffi::String(name), buffer_type, nullptr);
}
Any Load(const Any& buffer, const List& indices) {
  return Call("tirx.BufferLoad", buffer, indices, nullptr);
}
Any Store(const Any& buffer, const Any& value, const List& indices) {
  return Call("tirx.BufferStore", buffer, value, indices, nullptr);
}
Any PointRange(const Any& at, DType index) {
  return Call("ir.Range_from_min_extent", at, Integer(index, 1), nullptr);
}
Any WholeRange(int64_t extent, DType index) {
  return Call("ir.Range_from_min_extent", Integer(index, 0), Integer(index, extent), nullptr);
}
Any Region(const Any& buffer, const List& ranges) {
  return Call("tirx.BufferRegion", buffer, ranges);
}
Any BlockAxis(const Any& variable, int64_t extent, Axis kind, DType index) {
  return Call("tirx.IterVar", WholeRange(extent, index), variable, static_cast<int64_t>(kind),
              ffi::String(""), nullptr);
}
Any Block(const std::string& name, const List& axes, const List& reads, const List& writes,
          const Any& body, const Any& init, const List& allocated) {
  return Call("s_tir.SBlock", axes, reads, writes, ffi::String(name), body, init, allocated, List(),
              Dict(), nullptr);
}
Any Realize(const List& values, const Any& block) {
  return Call("s_tir.SBlockRealize", values, Integer(DType::kBool, 1), block, nullptr);
}
Any Loop(const Any& variable, int64_t extent, ForKind kind, DType index, const Any& body) {
  return Call("tirx.For", variable, Integer(index, 0), Integer(index, extent),
              static_cast<int64_t>(kind), body, nullptr, Dict(), nullptr, nullptr);
}
Any Sequence(const List& statements) {
  return statements.size() == 1 ? statements[0] : Call("tirx.SeqStmt", statements, nullptr);
}

Any MainModule(const List& parameters, const Any& body) {
  const Any no_attributes = Call("ffi.MakeObjectFromPackedArgs", ffi::String("ir.DictAttrs"),
                                 ffi::String("__dict__"), Dict());
  Any function =
      Call("tirx.PrimFunc", parameters, body, Call("ir.TypeMissing"), no_attributes, nullptr);
  function =
      Call("ir.BaseFuncWithAttrs", function,
           Dict{{"global_symbol", ffi::String("main")}, {"tirx.noalias", true}, {"s_tir", true}});
  ffi::Map<Any, Any> functions;
  functions.Set(Call("ir.GlobalVar", ffi::String("main")), function);
  return Call("ir.IRModule", functions, no_attributes, Dict());
}

}  // namespace tw::lower
