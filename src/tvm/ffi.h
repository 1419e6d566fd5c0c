// For files under src/tvm and src/lower only: calls of TVM's global functions, with errors as
// values.
#pragma once

#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/tvm_ffi.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/result.h"
#include "tvm/object.h"

namespace tw::tvm_api {

namespace ffi = ::tvm::ffi;
using Any = ffi::Any;

struct ObjectData {
  Any any;
};

inline const Any& Get(const Object& object) { return object.data().any; }

template <typename Handle>
Handle Wrap(Any any) {
  return Handle(Object(std::make_shared<ObjectData>(ObjectData{std::move(any)})));
}

// Calls the global function `name`. Throws tvm::ffi::Error as TVM does; wrap calls in Catch.
template <typename... Args>
Any Call(const char* name, Args&&... args) {
  return ffi::Function::GetGlobalRequired(name)(std::forward<Args>(args)...);
}

// The reflected field `name` of `object` or of its base types. Throws tvm::ffi::Error when there is
// none.
inline Any GetField(const Any& object, std::string_view name) {
  if (object == nullptr) TVM_FFI_THROW(AttributeError) << "None has no field " << std::string(name);
  const auto reference = object.cast<ffi::ObjectRef>();
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(reference->type_index());
  Any value;
  const bool found =
      ffi::reflection::ForEachFieldInfoWithEarlyStop(type, [&](const TVMFFIFieldInfo* field) {
        if (std::string_view(field->name.data, field->name.size) != name) return false;
        value = ffi::reflection::FieldGetter(field)(reference);
        return true;
      });
  if (!found) {
    TVM_FFI_THROW(AttributeError) << object.GetTypeKey() << " has no field " << std::string(name);
  }
  return value;
}

inline DLDataType ToDataType(DType type) {
  return ffi::StringToDLDataType(ffi::String(std::string(LongName(type))));
}

// True when `object` is of the type registered under `type_key` exactly.
inline bool IsA(const Any& object, std::string_view type_key) {
  return std::string_view(object.GetTypeKey()) == type_key;
}

// Runs `body`, turning what TVM throws into an Error that begins with `what`. `body` returns a T or
// Result<T>.
template <typename Body>
auto Catch(Code code, const std::string& what, Body&& body) {
  using R = decltype(body());
  if constexpr (requires(R r) { r.error(); }) {
    try {
      return body();
    } catch (const ffi::Error& e) {
      return R(Error{code, what + ": " + e.message()});
    } catch (const std::exception& e) {
      return R(Error{code, what + ": " + e.what()});
    }
  } else {
    try {
      return Result<R>(body());
    } catch (const ffi::Error& e) {
      return Result<R>(Error{code, what + ": " + e.message()});
    } catch (const std::exception& e) {
      return Result<R>(Error{code, what + ": " + e.what()});
    }
  }
}

}  // namespace tw::tvm_api
