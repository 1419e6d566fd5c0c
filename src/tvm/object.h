// An opaque reference to a TVM object, so that only files under src/tvm and src/lower see TVM's
// headers.
#pragma once

#include <memory>
#include <utility>

namespace tw::tvm_api {

struct ObjectData;  // holds a tvm::ffi::Any; defined in tvm/ffi.h

// Base of the typed handles (Module, Target, Trace, Schedule): shared, immutable, thread-safe to
// copy.
class Object {
 public:
  Object() = default;
  explicit Object(std::shared_ptr<const ObjectData> data) : data_(std::move(data)) {}
  bool defined() const { return data_ != nullptr; }
  const ObjectData& data() const { return *data_; }

 private:
  std::shared_ptr<const ObjectData> data_;
};

}  // namespace tw::tvm_api
