#include "tvm/alignment.h"

#include "tvm/ffi.h"

namespace tw::tvm_api {

Result<Module> WithElementAlignment(const Module& module) {
  return Catch(Code::kInternal, "relaxing the alignment of arguments", [&]() -> Result<Module> {
    // TVM exports no rewriter of expressions, and a buffer's type may be shared with other
    // modules: a private copy through JSON, whose types are then changed in place.
    const Any copy = Call("ffi.FromJSONGraphString",
                          Call("ffi.ToJSONGraphString", Get(module), ffi::Map<ffi::String, Any>()));
    const ffi::reflection::FieldSetter set("tirx.BufferType", "data_alignment");
    for (const auto& [variable, function] :
         GetField(copy, "functions").cast<ffi::Map<Any, Any>>()) {
      if (!IsA(function, "tirx.PrimFunc")) continue;
      for (const Any& parameter : GetField(function, "params").cast<ffi::Array<Any>>()) {
        const Any type = GetField(parameter, "ty");
        // 1: of one element at least, which TVM takes into account by itself.
        if (IsA(type, "tirx.BufferType")) set(type.cast<ffi::ObjectRef>(), int64_t{1});
      }
    }
    return Wrap<Module>(copy);
  });
}

}  // namespace tw::tvm_api
