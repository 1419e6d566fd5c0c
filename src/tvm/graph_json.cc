#include "tvm/graph_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tvm/ffi.h"

namespace tw::tvm_api {
namespace {

using Json = nlohmann::json;

constexpr int kMaxTextNesting = 32;   // of JSON brackets; TVM writes 5
constexpr int kMaxGraphDepth = 4000;  // of references; a frame of TVM's reader takes about 1 KB

constexpr int kThreadIndex = 1;  // of tirx.IterVar's iter_type: the only kind that has no domain

// What a reflected field may hold.
struct FieldRule {
  std::string name;
  bool is_reference = false;          // an index of a node, not a number
  bool is_needed = false;             // TVM dereferences it without looking
  std::vector<bool> elements_needed;  // the same for each element, or for each key and each value
};

struct TypeRule {
  int32_t index = 0;
  bool is_opaque = false;  // read by a function of its own
  std::vector<FieldRule> fields;
};

// TVM may leave these empty although their schema does not say Optional.
bool MayBeEmpty(std::string_view schema_type) {
  constexpr std::string_view kTypes[] = {"Any",     "None",     "Optional", "Union",
                                         "Variant", "ir.Attrs", "ir.Span",  "ir.SourceMap"};
  return std::find(std::begin(kTypes), std::end(kTypes), schema_type) != std::end(kTypes);
}

FieldRule RuleOf(std::string_view type_key, const TVMFFIFieldInfo& field) {
  FieldRule rule;
  rule.name.assign(field.name.data, field.name.size);
  switch (field.field_static_type_index) {
    case ffi::TypeIndex::kTVMFFINone:
    case ffi::TypeIndex::kTVMFFIBool:
    case ffi::TypeIndex::kTVMFFIInt:
    case ffi::TypeIndex::kTVMFFIFloat:
    case ffi::TypeIndex::kTVMFFIDataType:
      return rule;
    default:
      rule.is_reference = true;
  }
  const Json metadata =
      Json::parse(std::string_view(field.metadata.data, field.metadata.size), nullptr, false);
  if (!metadata.is_object() || !metadata.contains("type_schema")) return rule;
  const Json schema = Json::parse(metadata["type_schema"].get<std::string>(), nullptr, false);
  // Relax types ride along in a PrimFunc's type and leave out what they do not know.
  if (!schema.is_object() || type_key.starts_with("relax.")) return rule;
  const std::string type = schema.value("type", "Any");
  rule.is_needed = !MayBeEmpty(type);
  if ((type == "ffi.Array" || type == "ffi.Map") && schema.contains("args")) {
    for (const Json& element : schema["args"]) {
      rule.elements_needed.push_back(!MayBeEmpty(element.value("type", "Any")));
    }
  }
  return rule;
}

// Throws tvm::ffi::Error when the type is not registered.
TypeRule RuleOf(const std::string& type_key) {
  TypeRule rule;
  const TVMFFIByteArray key{type_key.data(), type_key.size()};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&key, &rule.index));
  static const ffi::reflection::TypeAttrColumn from_json(ffi::reflection::type_attr::kDataFromJson);
  rule.is_opaque = from_json[rule.index] != nullptr;
  if (rule.index >= ffi::TypeIndex::kTVMFFIStaticObjectBegin) {
    ffi::reflection::ForEachFieldInfo(
        TVMFFIGetTypeInfo(rule.index),
        [&](const TVMFFIFieldInfo* field) { rule.fields.push_back(RuleOf(type_key, *field)); });
  }
  return rule;
}

class Checker {
 public:
  explicit Checker(const Json& nodes) : nodes_(nodes), depth_(nodes.size(), 1) {}

  Status Check() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) TW_CHECK(CheckNode(i));
    return Ok();
  }

 private:
  Status CheckNode(std::size_t index) {
    const Json& node = nodes_[index];
    if (!node.is_object() || !node.contains("type") || !node["type"].is_string()) {
      return Fail(Code::kUsage, "node {} has no \"type\"", index);
    }
    const std::string type = node["type"];
    auto rule = rules_.find(type);
    if (rule == rules_.end()) rule = rules_.emplace(type, RuleOf(type)).first;
    if (rule->second.index == ffi::TypeIndex::kTVMFFINone) return Ok();
    if (!node.contains("data")) {
      return Fail(Code::kUsage, "node {} ({}) has no \"data\"", index, type);
    }
    const Json& data = node["data"];
    switch (rule->second.index) {
      case ffi::TypeIndex::kTVMFFIArray:
      case ffi::TypeIndex::kTVMFFIList:
      case ffi::TypeIndex::kTVMFFIMap:
      case ffi::TypeIndex::kTVMFFIDict:
        if (!data.is_array()) {
          return Fail(Code::kUsage, "node {} ({}) does not hold a list", index, type);
        }
        for (const Json& element : data) TW_CHECK(CheckReference(index, element));
        return Ok();
      default:
        return CheckFields(index, rule->second);
    }
  }

  Status CheckFields(std::size_t index, const TypeRule& rule) {
    const Json& data = nodes_[index]["data"];
    if (rule.is_opaque || !data.is_object()) return Ok();  // TVM checks scalars itself
    for (const FieldRule& field : rule.fields) {
      if (!field.is_reference || !data.contains(field.name)) continue;
      const Json& reference = data[field.name];
      TW_CHECK(CheckReference(index, reference));
      const Json& target = nodes_[reference.get<std::size_t>()];
      const bool is_needed = field.is_needed && !(field.name == "dom" && IsThreadIndex(data));
      bool is_empty = is_needed && target["type"] == "None";
      if (target["type"] == "ffi.Array" || target["type"] == "ffi.Map") {
        is_empty |= HasEmptyElement(target["data"], field.elements_needed);
      }
      if (is_empty) {
        return Fail(Code::kUsage, "node {} ({}): field {} is empty", index,
                    nodes_[index]["type"].get<std::string>(), field.name);
      }
    }
    return Ok();
  }

  bool HasEmptyElement(const Json& elements, const std::vector<bool>& needed) const {
    for (std::size_t i = 0; !needed.empty() && i < elements.size(); ++i) {
      if (needed[i % needed.size()] && nodes_[elements[i].get<std::size_t>()]["type"] == "None") {
        return true;
      }
    }
    return false;
  }

  static bool IsThreadIndex(const Json& data) {
    return data.contains("iter_type") && data["iter_type"] == kThreadIndex;
  }

  Status CheckReference(std::size_t index, const Json& reference) {
    if (!reference.is_number_integer() || reference < 0 || reference >= index) {
      return Fail(Code::kUsage, "node {} ({}) refers to {}, which is not an earlier node", index,
                  nodes_[index]["type"].get<std::string>(), reference.dump());
    }
    depth_[index] = std::max(depth_[index], depth_[reference.get<std::size_t>()] + 1);
    if (depth_[index] > kMaxGraphDepth) {
      return Fail(Code::kUsage, "the module nests more than {} deep", kMaxGraphDepth);
    }
    return Ok();
  }

  const Json& nodes_;
  std::vector<int> depth_;
  std::unordered_map<std::string, TypeRule> rules_;
};

// The deepest nesting of brackets in valid JSON.
int Nesting(std::string_view json) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// TVM writes and reads Infinity, -Infinity and NaN as numbers, which JSON does not have: here a
// copy with 0 in their place, since only the structure is looked at.
std::string WithoutInfinities(const std::string& json) {
  std::string copy = json;
  bool in_string = false;
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const char c = copy[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == 'I' || c == 'N')) {
      for (const std::string_view word : {"Infinity", "NaN"}) {
        if (std::string_view(copy).substr(i, word.size()) != word) continue;
        copy.replace(i, word.size(), std::string(word.size() - 1, ' ').insert(0, "0"));
        break;
      }
    }
  }
  return copy;
}

}  // namespace

Status CheckGraphJson(const std::string& json) {
  try {
    const Json graph = Json::parse(WithoutInfinities(json));
    if (Nesting(json) > kMaxTextNesting || !graph.is_object() || !graph.contains("root_index") ||
        !graph.contains("nodes") || !graph["nodes"].is_array()) {
      return Fail(Code::kUsage,
                  "not a TVM JSON graph ({{\"root_index\", \"nodes\"}}); write one with "
                  "tvm.ir.save_json(module)");
    }
    const Json& root = graph["root_index"];
    if (!root.is_number_integer() || root < 0 || root >= graph["nodes"].size()) {
      return Fail(Code::kUsage, "TVM JSON graph: root_index {} is not a node", root.dump());
    }
    return Catch(Code::kUsage, "TVM JSON graph", [&]() -> Status {
      Status status = Checker(graph["nodes"]).Check();
      if (status) return status;
      return Fail(Code::kUsage, "TVM JSON graph: {}", status.error().message);
    });
  } catch (const Json::exception& e) {
    return Fail(Code::kUsage, "not valid JSON: {}", e.what());
  }
}

}  // namespace tw::tvm_api
