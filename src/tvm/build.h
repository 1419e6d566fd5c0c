// Lowering, code generation, running in this process, and export as a shared library.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tvm/module.h"
#include "tvm/target.h"

namespace tw::tvm_api {

// A tensor in memory for one call. `data` is aligned to 64 bytes and stays the caller's.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
};

// Machine code of one module, made by LLVM's JIT; no temporary file, no linker.
class Executable {
 public:
  struct Impl;
  explicit Executable(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  // Calls the function once. Errors are kInternal: what the compiled code or TVM reported (wrong
  // shape, ...).
  Status Run(std::span<const TensorView> arguments) const;

 private:
  std::shared_ptr<Impl> impl_;
};

// The passes of TVM's s_tir pipeline in order, then LLVM, then the JIT. Arguments must be aligned
// to 64 bytes.
Result<Executable> Build(const Module& module, const Target& target);

// The assembly of the module's functions, for explanations and features.
Result<std::string> Assembly(const Module& module, const Target& target);

// Writes a shared library (linked with the system's C compiler) that tvm_ffi loads and that exports
// the function under `function_name`. Its arguments need the alignment of their elements only,
// unlike those of Build, which must be aligned to 64 bytes. Errors: kEnvironment when there is no
// linker.
Status ExportLibrary(const Module& module, const Target& target, const std::string& function_name,
                     const std::filesystem::path& path);
// Loads what ExportLibrary wrote.
Result<Executable> LoadLibrary(const std::filesystem::path& path, const std::string& function_name);

}  // namespace tw::tvm_api
