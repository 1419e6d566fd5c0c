// One LEIR statement as one block.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "leir/checker.h"
#include "leir/walk.h"
#include "lower/nodes.h"

namespace tw::lower {

// What all blocks of a program share.
struct ProgramContext {
  const leir::Program* program = nullptr;
  std::map<std::string, Any> buffers;
  DType index = DType::kI32;
};

// A block with the loops it runs over.
struct StatementBlock {
  Any block;
  std::vector<const leir::Loop*>
      loops;  // outermost first; loops that only repeat the statement are gone
};

// Axes are named v_INDEX and come in the order of the loops: spatial where the target uses the
// index, reduction for the others of an update. Where iterations must follow one another (prefix
// forms, updates that do not commute) all axes of the block are ordered, also those that would be
// spatial: MetaSchedule leaves loops of ordered axes alone, but tries to make a spatial one beside
// them parallel, is refused by TVM's own check, and then refuses every schedule of the program.
StatementBlock MakeBlock(const leir::Statement& statement, const leir::StatementInfo& info,
                         const leir::Loops& loops, const std::string& name,
                         const ProgramContext& context);

}  // namespace tw::lower
