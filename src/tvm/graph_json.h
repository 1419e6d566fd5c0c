// Checks TVM's JSON object graphs before TVM reads them.
#pragma once

#include <string>

#include "base/result.h"

namespace tw::tvm_api {

// TVM's reader recurses along the references between nodes without a limit and trusts that a field
// holds an object, so a cyclic, very deep or incomplete graph would crash this process. Checks that
// `json` is
// {"root_index", "nodes"} where each node is of a registered type and refers only to nodes before
// it (as TVM writes them), at most 4,000 deep, and that no field that must hold an object is empty.
// kUsage.
Status CheckGraphJson(const std::string& json);

}  // namespace tw::tvm_api
