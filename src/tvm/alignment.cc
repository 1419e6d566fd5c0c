#include "tvm/alignment.h"

#include <nlohmann/json.hpp>
#include <string>

namespace tw::tvm_api {

using Json = nlohmann::json;

Result<Module> WithElementAlignment(const Module& module) {
  // A buffer's type cannot be changed in place, and this TVM exports no rewriter of expressions;
  // in the JSON graph it is one field.
  Json graph = Json::parse(module.ToJson(), nullptr, false);
  if (!graph.is_object()) return Fail(Code::kInternal, "TVM's JSON of a module is no JSON");
  Json& nodes = graph["nodes"];
  bool found = false;
  for (const Json& node : nodes) {
    if (node["type"] != "tirx.PrimFunc") continue;
    const std::size_t parameters = node["data"]["params"];
    for (const std::size_t parameter : nodes[parameters]["data"]) {
      const std::size_t type = nodes[parameter]["data"]["ty"];
      if (nodes[type]["type"] != "tirx.BufferType") continue;
      nodes[type]["data"]["data_alignment"] = 1;  // TVM raises it to the size of an element
      found = true;
    }
  }
  if (!found) return Fail(Code::kInternal, "the program has no tensor among its arguments");
  return Module::FromJson(graph.dump());
}

}  // namespace tw::tvm_api
