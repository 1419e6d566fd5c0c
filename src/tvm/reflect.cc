#include "tvm/reflect.h"

namespace tw::tvm_api {

int64_t IntegerOf(const Any& value) {
  if (auto number = value.as<int64_t>()) return *number;
  static const Field kValue("ir.IntImm", "value");
  if (value.GetTypeKey() == "ir.IntImm") return kValue(value).cast<int64_t>();
  TVM_FFI_THROW(TypeError) << "expected an integer, got " << value.GetTypeKey();
}

std::vector<int64_t> IntegersOf(const Any& array) {
  std::vector<int64_t> result;
  for (const Any& item : array.cast<ffi::Array<Any>>()) result.push_back(IntegerOf(item));
  return result;
}

nlohmann::ordered_json JsonOf(const Any& value) {
  if (value == nullptr) return nullptr;
  if (auto flag = value.as<bool>()) return *flag;
  if (auto number = value.as<int64_t>()) return *number;
  if (auto number = value.as<double>()) return *number;
  if (auto text = value.as<ffi::String>()) return std::string(*text);
  if (auto array = value.as<ffi::Array<Any>>()) {
    auto result = nlohmann::ordered_json::array();
    for (const Any& item : *array) result.push_back(JsonOf(item));
    return result;
  }
  if (auto map = value.as<ffi::Map<Any, Any>>()) {
    auto result = nlohmann::ordered_json::object();
    for (const auto& [key, item] : *map)
      result[std::string(key.cast<ffi::String>())] = JsonOf(item);
    return result;
  }
  if (value.GetTypeKey() == "ir.IntImm") return IntegerOf(value);
  if (value.GetTypeKey() == "ir.FloatImm") {
    static const Field kValue("ir.FloatImm", "value");
    return kValue(value).cast<double>();
  }
  return std::string(
      Call("ffi.ToJSONGraphString", value, ffi::Map<ffi::String, Any>()).cast<ffi::String>());
}

}  // namespace tw::tvm_api
