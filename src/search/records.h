// Checks of what a stored run gives back, shared by the searchers.
#pragma once

#include <span>
#include <string_view>

#include "search/searcher.h"

namespace tw::search {

// Ids count from 0, the root is that of the space, each parent is an earlier node, no two keys are
// equal, and observations are of nodes that were handed out. Errors are kRunDirectory.
Status CheckRecords(Space& space, std::span<const NodeRecord> nodes,
                    std::span<const Observation> observations);

// The error of a LoadState.
Error DamagedState(std::string_view whose);

}  // namespace tw::search
