#include "tvm/module.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "tvm/ffi.h"
#include "tvm/graph_json.h"
#include "tvm/runtime.h"

namespace tw::tvm_api {
namespace {

using Nodes = ffi::Array<Any>;

struct Function {
  std::string name;
  Any function;  // tirx.PrimFunc
};

// Throws as TVM does when `module` is not an IRModule.
std::vector<Function> PrimFuncs(const Any& module) {
  std::vector<Function> functions;
  for (const auto& [variable, function] :
       GetField(module, "functions").cast<ffi::Map<Any, Any>>()) {
    if (!IsA(function, "tirx.PrimFunc")) continue;
    functions.push_back({GetField(variable, "name_hint").cast<std::string>(), function});
  }
  return functions;
}

Result<Function> OnlyPrimFunc(const Any& module) {
  if (!IsA(module, "ir.IRModule")) {
    return Fail(Code::kUsage, "a {} is given where an ir.IRModule is needed", module.GetTypeKey());
  }
  std::vector<Function> functions = PrimFuncs(module);
  if (functions.size() == 1) return functions[0];
  if (functions.empty()) return Fail(Code::kUsage, "the module has no PrimFunc");
  std::vector<std::string> names;
  for (const Function& function : functions) names.push_back(function.name);
  std::sort(names.begin(), names.end());
  return Fail(Code::kUsage, "the module has {} PrimFuncs ({}); give a module with one of them",
              names.size(), fmt::join(names, ", "));
}

Result<int64_t> ConstantExtent(const Any& extent, std::size_t axis) {
  if (IsA(extent, "ir.IntImm")) return GetField(extent, "value").cast<int64_t>();
  const std::string text = Call("node.TVMScriptPrinterScript", extent,
                                Call("node.PrinterConfig", ffi::Map<ffi::String, Any>()))
                               .cast<std::string>();
  return Fail(Code::kUsage, "dimension {} is symbolic ({}); bind it to a constant before tuning",
              axis, text);
}

// `parameter` is an ir.Var; one of a buffer has a tirx.BufferType.
Result<Argument> ReadArgument(const Any& parameter) {
  Argument argument;
  argument.name = GetField(parameter, "name").cast<std::string>();
  const Any type = GetField(parameter, "ty");
  if (!IsA(type, "tirx.BufferType")) {
    return Fail(Code::kUsage,
                "argument {} is a scalar or a pointer ({}); only buffers can be tuned",
                argument.name, type.GetTypeKey());
  }
  const DLDataType element = GetField(GetField(type, "dtype"), "dtype").cast<DLDataType>();
  const std::string name = ffi::DLDataTypeToString(element);
  const std::optional<DType> dtype = ParseDType(name);
  if (!dtype) {
    return Fail(Code::kUsage, "argument {} has element type {}, which is not supported",
                argument.name, name);
  }
  argument.dtype = *dtype;
  for (const Any& extent : GetField(type, "shape").cast<Nodes>()) {
    Result<int64_t> size = ConstantExtent(extent, argument.shape.size());
    if (!size) {
      return Fail(Code::kUsage, "argument {}: {}", argument.name, size.error().message);
    }
    argument.shape.push_back(*size);
  }
  return argument;
}

// Calls `visit` on every statement and block at and below `node`.
template <typename Visit>
void VisitStatements(const Any& node, const Visit& visit) {
  if (auto list = node.as<Nodes>()) {
    for (const Any& child : *list) VisitStatements(child, visit);
    return;
  }
  if (node == nullptr) return;
  visit(node);
  if (IsA(node, "s_tir.SBlock")) {
    VisitStatements(GetField(node, "body"), visit);
    VisitStatements(GetField(node, "init"), visit);
  } else if (IsA(node, "s_tir.SBlockRealize")) {
    VisitStatements(GetField(node, "block"), visit);
  } else if (IsA(node, "tirx.SeqStmt")) {
    VisitStatements(GetField(node, "seq"), visit);
  } else if (IsA(node, "tirx.IfThenElse")) {
    VisitStatements(GetField(node, "then_case"), visit);
    VisitStatements(GetField(node, "else_case"), visit);
  } else if (IsA(node, "tirx.For") || IsA(node, "tirx.While") || IsA(node, "tirx.AttrStmt")) {
    VisitStatements(GetField(node, "body"), visit);
  }
}

// Calls `visit` on the buffer of every store and every write region below `node`.
template <typename Visit>
void VisitWrites(const Any& node, const Visit& visit) {
  VisitStatements(node, [&](const Any& statement) {
    if (IsA(statement, "tirx.BufferStore")) visit(GetField(statement, "buffer"));
    if (!IsA(statement, "s_tir.SBlock")) return;
    for (const Any& region : GetField(statement, "writes").cast<Nodes>())
      visit(GetField(region, "source"));
  });
}

// Of one block: its reduction axes' extents multiplied; 1 when it has none.
double ReductionExtent(const Any& block) {
  constexpr int64_t kReduction = 2;  // of tirx.IterVar
  double extent = 1;
  for (const Any& axis : GetField(block, "iter_vars").cast<Nodes>()) {
    if (GetField(axis, "iter_type").cast<int64_t>() != kReduction) continue;
    const Any size = GetField(GetField(axis, "dom"), "extent");
    if (IsA(size, "ir.IntImm"))
      extent *= static_cast<double>(GetField(size, "value").cast<int64_t>());
  }
  return extent;
}

Result<std::vector<Argument>> ReadArguments(const Any& module) {
  TW_TRY(const Function function, OnlyPrimFunc(module));
  const auto parameters = GetField(function.function, "params").cast<Nodes>();
  std::vector<Argument> arguments;
  for (const Any& parameter : parameters) {
    Result<Argument> argument = ReadArgument(parameter);
    if (!argument) {
      return Fail(Code::kUsage, "function {}: {}", function.name, argument.error().message);
    }
    arguments.push_back(std::move(*argument));
  }
  VisitWrites(GetField(function.function, "body"), [&](const Any& buffer) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].same_as(buffer)) arguments[i].is_output = true;
    }
  });
  return arguments;
}

}  // namespace

Result<Module> Module::FromJson(const std::string& json) {
  TW_CHECK(CheckGraphJson(json));
  return Catch(Code::kUsage, "TVM cannot read the module", [&]() -> Result<Module> {
    const Any module = Call("ffi.FromJSONGraphString", ffi::String(json));
    TW_CHECK(ReadArguments(module));
    return Wrap<Module>(module);
  });
}

std::string Module::ToJson() const {
  // The metadata is what tvm.ir.save_json writes; TVM crashes when it is null.
  const ffi::Map<ffi::String, Any> metadata{{"tvm_version", ffi::String(kTvmVersion)}};
  return Call("ffi.ToJSONGraphString", Get(*this), metadata).cast<std::string>();
}

std::string Module::Script() const {
  return Call("node.TVMScriptPrinterScript", Get(*this),
              Call("node.PrinterConfig", ffi::Map<ffi::String, Any>()))
      .cast<std::string>();
}

uint64_t Module::StructuralHash() const {
  return static_cast<uint64_t>(
      Call("ffi.StructuralHash", Get(*this), /*map_free_vars=*/false, /*skip_tensor_content=*/false)
          .cast<int64_t>());
}

bool Module::StructuralEqual(const Module& other) const {
  return Call("ffi.StructuralEqual", Get(*this), Get(other), /*map_free_vars=*/false,
              /*skip_tensor_content=*/false)
      .cast<bool>();
}

Result<std::vector<Argument>> Module::Arguments() const {
  return Catch(Code::kUsage, "reading the module's arguments",
               [&] { return ReadArguments(Get(*this)); });
}

Result<int64_t> Module::ReductionLength() const {
  return Catch(Code::kUsage, "reading the module's blocks", [&]() -> Result<int64_t> {
    TW_TRY(const Function function, OnlyPrimFunc(Get(*this)));
    double length = 0;
    VisitStatements(GetField(function.function, "body"), [&](const Any& statement) {
      if (!IsA(statement, "s_tir.SBlock")) return;
      const double extent = ReductionExtent(statement);
      if (extent > 1) length += extent;
    });
    return static_cast<int64_t>(std::clamp(length, 1.0, 1e15));
  });
}

std::string Module::FunctionName() const {
  const std::vector<Function> functions = PrimFuncs(Get(*this));
  return functions.empty() ? "" : functions[0].name;
}

}  // namespace tw::tvm_api
