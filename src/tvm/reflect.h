// For files under src/tvm only: fields of TVM's objects by reflection, and conversions of what they
// hold.
#pragma once

#include <tvm/ffi/reflection/accessor.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tvm/ffi.h"

namespace tw::tvm_api {

// Getter of one field of one type, looked up once. Make it a static inside a function: the types
// exist only after Load.
class Field {
 public:
  Field(const char* type_key, const char* field) : getter_(type_key, field) {}
  Any operator()(const Any& object) const { return getter_(object.cast<ffi::ObjectRef>()); }

 private:
  ffi::reflection::FieldGetter getter_;
};

// An int64_t that TVM holds as a number or as an IntImm. Throws ffi::Error for anything else.
int64_t IntegerOf(const Any& value);
std::vector<int64_t> IntegersOf(const Any& array);

// What TVM's traces consist of, as JSON: lists, strings, numbers, maps; IntImm and FloatImm are
// numbers. Objects of other kinds (an index map) become the text of their JSON graph, as in TVM's
// own records.
nlohmann::ordered_json JsonOf(const Any& value);

}  // namespace tw::tvm_api
