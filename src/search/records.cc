#include "search/records.h"

#include <set>

namespace tw::search {

Status CheckRecords(Space& space, std::span<const NodeRecord> nodes,
                    std::span<const Observation> observations) {
  if (!nodes.empty() && nodes[0].key != space.Key(*space.Root())) {
    return Fail(Code::kRunDirectory,
                "the stored search began with another program; choose another --run-dir");
  }
  std::set<std::string_view> keys;
  int64_t id = 0;
  for (const NodeRecord& node : nodes) {
    const bool parent = id == 0 ? node.parent == -1 : node.parent >= 0 && node.parent < id;
    if (node.id != id || !parent || !keys.insert(node.key).second) {
      return Fail(
          Code::kRunDirectory,
          "the stored search is damaged at node {}; restore a copy or choose another --run-dir",
          node.id);
    }
    ++id;
  }
  for (const Observation& o : observations) {
    if (o.node >= 0 && o.node < id && nodes[static_cast<std::size_t>(o.node)].proposed) continue;
    return Fail(
        Code::kRunDirectory,
        "a stored measurement is of node {}, which the stored search does not have; restore a "
        "copy or choose another --run-dir",
        o.node);
  }
  return Ok();
}

Error DamagedState(std::string_view whose) {
  return Fail(Code::kRunDirectory,
              "the saved state of '{}' is damaged; restore a copy or choose another --run-dir",
              whose);
}

}  // namespace tw::search
