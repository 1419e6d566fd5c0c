#include "tvm/build.h"

#include <tvm/ffi/extra/module.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "tvm/alignment.h"
#include "tvm/ffi.h"
#include "tvm/link.h"

namespace tw::tvm_api {

namespace fs = std::filesystem;

struct Executable::Impl {
  ffi::Module library;  // owns the machine code
  ffi::Function function;
};

namespace {

// The passes of TVM's `s_tir` pipeline and of its host finalisation, in order (s_tir/pipeline.py in
// the wheel, default configuration), after the one that MetaSchedule's builder puts first.
std::vector<Any> Passes(const Any& target) {
  return {
      Call("s_tir.transform.RemoveWeightLayoutRewriteBlock", /*skip_tensor_rewrite=*/true),
      Call("tirx.transform.BindTarget", Call("target.WithHost", target, target)),
      Call("s_tir.transform.CanonicalizeLoop"),
      Call("s_tir.transform.LowerCrossThreadReduction"),
      Call("s_tir.transform.LowerInitBlock"),
      Call("s_tir.transform.PlanAndUpdateBufferAllocationLocation"),
      Call("s_tir.transform.ConvertBlocksToOpaque"),
      Call("s_tir.transform.LiftThreadBinding"),
      Call("s_tir.transform.ManifestSharedMemoryLocalStage"),
      Call("s_tir.transform.CompactBufferAllocation", /*is_strict=*/true),
      Call("s_tir.transform.LowerAutoCopy"),
      Call("s_tir.transform.UnifyThreadBinding"),
      Call("s_tir.transform.LowerMatchBuffer"),
      Call("s_tir.transform.StmtSimplify"),
      Call("s_tir.transform.InjectPermutedLayout"),
      Call("s_tir.transform.AnnotateIrregularLoop"),
      Call("s_tir.transform.InjectSoftwarePipeline"),
      Call("s_tir.transform.TransformMmaBufferLayout"),
      Call("s_tir.transform.LowerOpaqueBlock"),
      Call("tirx.transform.FlattenBuffer"),
      Call("tirx.transform.BF16ComputeLegalize"),
      Call("tirx.transform.NarrowDataType", /*target_bits=*/int64_t{32}),
      Call("s_tir.transform.LoopPartition"),
      Call("tirx.transform.VectorizeLoop", /*enable=*/true),
      Call("s_tir.transform.InjectVirtualThread"),
      Call("s_tir.transform.InjectDoubleBuffer"),
      Call("tirx.transform.StorageRewrite"),
      Call("s_tir.transform.HoistIfThenElse"),
      Call("tirx.transform.UnrollLoop"),
      Call("s_tir.transform.RenormalizeSplitPattern"),
      Call("tirx.transform.StmtSimplify"),
      Call("tirx.transform.RemoveNoOp"),
      Call("s_tir.transform.RewriteUnsafeSelect"),
      Call("tirx.transform.CommonSubexprElim"),
      Call("tirx.transform.FP8ComputeLegalize", ffi::String("float32")),
      Call("s_tir.transform.VerifyVTCMLimit", nullptr),
      Call("s_tir.transform.LowerVtcmAlloc"),
      Call("tirx.transform.VerifyMemory"),
      Call("tirx.transform.AnnotateEntryFunc"),
      Call("s_tir.transform.ThreadSync", ffi::String("shared")),
      Call("s_tir.transform.ThreadSync", ffi::String("shared.dyn")),
      Call("s_tir.transform.ThreadSync", ffi::String("warp")),
      Call("s_tir.transform.InferFragment"),
      Call("s_tir.transform.LowerThreadAllreduce"),
      Call("s_tir.transform.MergeSharedMemoryAllocations"),
      Call("tirx.transform.SplitHostDevice"),
      Call("tirx.transform.MakePackedAPI"),
      Call("tirx.transform.FP8StorageLegalize"),
      Call("tirx.transform.BF16StorageLegalize"),
      Call("tirx.transform.LowerTVMBuiltin"),
      Call("tirx.transform.LowerIntrin"),
  };
}

// A module whose one PrimFunc is exported under `symbol`.
Any WithSymbol(const Any& module, const std::string& symbol) {
  ffi::Map<Any, Any> functions;
  for (const auto& [variable, function] :
       GetField(module, "functions").cast<ffi::Map<Any, Any>>()) {
    if (!IsA(function, "tirx.PrimFunc")) continue;
    functions.Set(
        Call("ir.GlobalVar", ffi::String(symbol)),
        Call("ir.BaseFuncWithAttr", function, ffi::String("global_symbol"), ffi::String(symbol)));
  }
  return Call("ir.IRModule", functions, GetField(module, "attrs"),
              GetField(module, "global_infos"));
}

// Throws what TVM throws.
ffi::Module Compile(const Module& module, const Target& target, const std::string& symbol) {
  Any lowered = WithSymbol(Get(module), symbol);
  for (const Any& pass : Passes(Get(target))) lowered = Call("transform.RunPass", pass, lowered);
  return Call("target.build.llvm", lowered, Get(target)).cast<ffi::Module>();
}

Status CheckTarget(const Target& target) {
  if (target.Kind() == "llvm") return Ok();
  return Fail(Code::kUsage, "cannot build for target kind {}; only llvm is supported",
              target.Kind());
}

Result<Executable> Find(ffi::Module library, const std::string& name) {
  ffi::Optional<ffi::Function> function = library->GetFunction(ffi::String(name));
  if (!function) return Fail(Code::kUsage, "there is no function \"{}\" in it", name);
  return Executable(std::make_shared<Executable::Impl>(
      Executable::Impl{std::move(library), *std::move(function)}));
}

bool IsIdentifier(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

// A folder beside the target file, so that the finished library can be renamed into place; removed
// with what is in it at the end of the scope.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Beside(const fs::path& file) {
    const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
    std::string pattern = (parent / ".export-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      return Fail(Code::kUsage, "cannot write in {}: {}", parent.string(),
                  std::generic_category().message(errno));
    }
    return ScratchFolder(pattern);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, fs::path())) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

}  // namespace

Status Executable::Run(std::span<const TensorView> arguments) const {
  return Catch(Code::kInternal, "running the compiled function", [&]() -> Status {
    std::vector<DLTensor> tensors(arguments.size());
    std::vector<ffi::AnyView> packed(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const TensorView& argument = arguments[i];
      DLTensor& tensor = tensors[i];
      tensor.data = argument.data;
      tensor.device = DLDevice{kDLCPU, 0};
      tensor.ndim = static_cast<int32_t>(argument.shape.size());
      tensor.dtype = ToDataType(argument.dtype);
      tensor.shape = const_cast<int64_t*>(argument.shape.data());
      tensor.strides = nullptr;  // contiguous
      tensor.byte_offset = 0;
      packed[i] = &tensor;
    }
    Any result;
    impl_->function.CallPacked(packed.data(), static_cast<int32_t>(packed.size()), &result);
    return Ok();
  });
}

Result<Executable> Build(const Module& module, const Target& target) {
  TW_CHECK(CheckTarget(target));
  return Catch(Code::kInternal, "compiling the module",
               [&] { return Find(Compile(module, target, "main"), "main"); });
}

Result<std::string> Assembly(const Module& module, const Target& target) {
  TW_CHECK(CheckTarget(target));
  return Catch(Code::kInternal, "compiling the module", [&]() -> Result<std::string> {
    return std::string(Compile(module, target, "main")->InspectSource("asm"));
  });
}

Status ExportLibrary(const Module& module, const Target& target, const std::string& function_name,
                     const fs::path& path) {
  TW_CHECK(CheckTarget(target));
  if (!IsIdentifier(function_name)) {
    return Fail(Code::kUsage, "\"{}\" is not a C identifier, so it cannot name a function",
                function_name);
  }
  TW_TRY(const Module relaxed, WithElementAlignment(module));
  TW_TRY(const ScratchFolder scratch, ScratchFolder::Beside(path));
  const fs::path object = scratch.path() / "code.o";
  const fs::path library = scratch.path() / "code.so";
  TW_CHECK(Catch(Code::kInternal, "compiling the module", [&]() -> Status {
    Compile(relaxed, target, function_name)->WriteToFile(object.string(), "o");
    return Ok();
  }));
  TW_CHECK(LinkSharedLibrary(object, library));
  std::error_code error;
  fs::rename(library, path, error);
  if (error) return Fail(Code::kUsage, "cannot write {}: {}", path.string(), error.message());
  return Ok();
}

Result<Executable> LoadLibrary(const fs::path& path, const std::string& function_name) {
  std::error_code error;
  // dlopen would look up a bare name in the system's folders.
  const fs::path absolute = fs::absolute(path, error);
  if (error || !fs::is_regular_file(absolute, error)) {
    return Fail(Code::kUsage, "there is no library {}", path.string());
  }
  return Catch(Code::kUsage, "loading " + path.string(), [&]() -> Result<Executable> {
    Result<Executable> found = Find(ffi::Module::LoadFromFile(absolute.string()), function_name);
    if (found) return found;
    return Fail(Code::kUsage, "{}: {}", path.string(), found.error().message);
  });
}

}  // namespace tw::tvm_api
